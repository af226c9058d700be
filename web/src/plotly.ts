/** The part of plotly.js that the pages use; its own script stands beside ours in the page. */

/** An array of a figure as plotly for Python packs it: its type, and its bytes as base64. */
export interface PackedArray {
  dtype: keyof typeof ARRAY_TYPES;
  bdata: string;
}

export const ARRAY_TYPES = {
  f8: Float64Array, f4: Float32Array, i4: Int32Array, u4: Uint32Array,
  i2: Int16Array, u2: Uint16Array, i1: Int8Array, u1: Uint8Array,
};

/** A value of a figure; NaN and null are gaps. */
export type Value = number | string | null;
export type Values = ArrayLike<Value> | PackedArray;

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
  name?: string;
  orientation?: "h" | "v";
  x?: Values;
  y?: Values;
  hovertext?: ArrayLike<string>;
  meta?: TraceMeta;
  customdata?: ArrayLike<string | string[]>;
}

export interface Layout {
  height: number;
  font?: object;
  dragmode?: string | false;
  meta?: {
    /** The table that is saved in place of the figure's points. */
    csv?: { columns: string[]; rows: Value[][] };
  };
}

export interface Figure {
  data: Trace[];
  layout: Layout;
}

export interface ClickEvent {
  points: [{ data: Trace; customdata: string | string[] }];
}

/** A click on a text, of those that take clicks: its name is the number of the bar that it belongs to. */
export interface AnnotationClick {
  annotation: { name?: string };
}

/** An element in which plotly has drawn. */
export interface PlotElement extends HTMLElement {
  on(event: "plotly_click", call: (event: ClickEvent) => void): void;
  on(event: "plotly_selected", call: (event?: { points: { data: Trace; pointNumber: number }[] }) => void): void;
  on(event: "plotly_deselect", call: () => void): void;
  on(event: "plotly_clickannotation", call: (event: AnnotationClick) => void): void;
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
