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
  /** A click on a point selects what its customdata names, see selection_fragment.ts. */
  selects?: boolean;
  /** A click on a bar shows the rows of the table of this id that are of the groups in its customdata. */
  chooses?: string;
  /** Of each point the row of its kernel, which a lasso shows alone in the tables of kernels. */
  items?: number[];
  /** Of the timeline's traces: what it fills them with. */
  role?: "curve" | "band" | "lanes";
  /** Of its curves: what their values are measured in. */
  unit?: string;
}

export interface Trace<Meta = TraceMeta> {
  name?: string;
  orientation?: "h" | "v";
  x?: Values;
  y?: Values;
  hovertext?: ArrayLike<string>;
  visible?: boolean | "legendonly";
  yaxis?: string;
  meta?: Meta;
  line?: { color?: string; width?: number };
  fillcolor?: string;
  customdata?: ArrayLike<string | string[]>;
}

export interface Axis {
  range: [number, number];
  autorange?: boolean;
  domain: [number, number];
  /** What becomes of labels that hang over the figure's edge. */
  ticklabeloverflow?: "allow";
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

/** What plotly leaves on a plot: pixels beside its axes and of them, and the axes as they are now. */
export interface FullLayout {
  _size: { l: number; t: number; w: number; h: number };
  /** Its ticks can be changed here before its range is. */
  xaxis: { range: [number, number]; tickvals?: number[]; ticktext?: string[] };
}

export interface ClickEvent {
  points: [{ data: Trace; customdata: string | string[] }];
}

/** A click on a text, of those that take clicks: its name is the number of the bar that it belongs to. */
export interface AnnotationClick {
  annotation: { name?: string };
}

/** What changed in a layout: by the path of each value, as plotly gives them. */
export interface LayoutChange {
  dragmode?: string | false;
  "xaxis.range"?: [number, number];
  "xaxis.range[0]"?: number;
  "xaxis.range[1]"?: number;
}

/** An element in which plotly has drawn. */
export interface PlotElement extends HTMLElement {
  on(event: "plotly_click", call: (event: ClickEvent) => void): void;
  on(event: "plotly_selected", call: (event?: { points: { data: Trace; pointNumber: number }[] }) => void): void;
  on(event: "plotly_deselect", call: () => void): void;
  on(event: "plotly_clickannotation", call: (event: AnnotationClick) => void): void;
  on(event: "plotly_relayout" | "plotly_relayouting", call: (change: LayoutChange) => void): void;
  on(event: "plotly_afterplot" | "plotly_doubleclick" | "plotly_restyle", call: () => void): void;
  on(event: "plotly_beforehover", call: (event: MouseEvent) => boolean): void;
  /** What is drawn; none before that. */
  readonly data?: Trace[];
  readonly _fullLayout?: FullLayout;
}

/** Whether a figure has circles that stand for kernels. */
export function hasItems({ data }: Partial<Figure>): boolean {
  return data?.some(({ meta }) => meta?.items) ?? false;
}

/** Keep all labels of vertical axes: plotly would measure each, to hide those that hang over the figure's edge, and none does. */
export function keepLabels(layout: Layout): void {
  for (const [name, axis] of Object.entries(layout)) {
    if (name.startsWith("yaxis")) (axis as Axis).ticklabeloverflow = "allow";
  }
}

interface Library {
  newPlot(plot: HTMLElement, data: readonly object[], layout: object, config: object): Promise<void>;
  react(plot: HTMLElement, data: readonly object[], layout: object, config: object): Promise<void>;
  restyle(plot: HTMLElement, change: object, traces?: number[]): Promise<void>;
  relayout(plot: HTMLElement, change: object): Promise<void>;
  toImage(plot: HTMLElement, options: { format: "png"; width: number; height: number; scale: number }): Promise<string>;
  Plots: { resize(plot: HTMLElement): void };
  Fx: {
    unhover(plot: HTMLElement): void;
    loneHover(label: object, options: { container: Element; outerContainer: Element; gd: HTMLElement }): void;
  };
}

declare global {
  const Plotly: Library;
}
