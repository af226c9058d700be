/** The part of plotly.js that the pages use; its own script stands beside ours in the page. */

/** A value of a figure; NaN and null are gaps. */
export type Value = number | string | null;

/** What a figure says of one of its traces: see the functions in tcprof that write `meta`. */
export interface TraceMeta {
  /** A click on a point selects what its customdata names, see selection.ts. */
  selects?: boolean;
  /** A click on a bar shows the rows of the table of this id that are of the groups in its customdata. */
  chooses?: string;
  /** Of each point the row of its kernel, which a lasso shows alone in the tables of kernels. */
  items?: number[];
}

export interface Trace {
  meta?: TraceMeta;
  customdata?: ArrayLike<string | string[]>;
}

export interface Layout {
  height: number;
  /** The table that is saved of the figure. */
  meta: { csv: { columns: string[]; rows: Value[][] } };
}

export interface Figure {
  data: Trace[];
  layout: Layout;
}

/** An element in which plotly has drawn. */
export interface PlotElement extends HTMLElement {
  on(event: "plotly_click", call: (event: { points: [{ data: Trace; customdata: string | string[] }] }) => void): void;
  on(event: "plotly_selected", call: (event?: { points: { data: Trace; pointNumber: number }[] }) => void): void;
  on(event: "plotly_deselect", call: () => void): void;
  /** A click on a text, of those that take clicks: its name is the number of the bar that it belongs to. */
  on(event: "plotly_clickannotation", call: (event: { annotation: { name?: string } }) => void): void;
  /** What is drawn; none before that. */
  readonly data?: Trace[];
}

interface Library {
  newPlot(plot: HTMLElement, data: readonly object[], layout: object, config: object): Promise<void>;
  restyle(plot: HTMLElement, change: object, traces?: number[]): Promise<void>;
  relayout(plot: HTMLElement, change: object): Promise<void>;
}

declare global {
  const Plotly: Library;
}
