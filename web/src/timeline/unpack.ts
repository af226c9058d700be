/** Unpacking of the timeline's data: see tcprof/render/html/timeline/packing.py. */

/** Where and how an array of whole numbers is stored. */
export interface PackedArray extends Record<"at" | "length" | "bytes" | "base" | "factor", number> {
  ascending: 0 | 1;
}

type TypedArray = Float64Array | Float32Array | Uint32Array | Uint16Array | Uint8Array;
type ArrayType<T extends TypedArray> = new (values: ArrayLike<number>) => T;

/** Reads the array of a number into a typed array, times a scale. */
export type ReadArray = <T extends TypedArray>(number: number, type: ArrayType<T>, scale?: number) => T;

/** The header of packed data, and what reads its arrays. */
export async function unpack<Header>(text: string): Promise<{ header: Header; read: ReadArray }> {
  const bytes = await inflate(fromBase64(text.trim()));
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size))) as Header & { arrays: PackedArray[] };
  const planes = bytes.subarray(4 + size);
  return { header, read: (number, type, scale = 1) => readArray(planes, header.arrays[number], type, scale) };
}

/** Every array is computed in one type, and converted: a loop that meets all types takes six times as long. */
function readArray<T extends TypedArray>(
  planes: Uint8Array, { at, length, bytes: width, base, factor, ascending }: PackedArray, type: ArrayType<T>, scale: number,
): T {
  const offsets = joinPlanes(planes.subarray(at, at + width * length), length, width);
  if (!ascending && base === 0 && factor === 1 && scale === 1) return new type(offsets);
  const values = new Float64Array(length);
  let sum = base;
  if (ascending) for (let i = 0; i < length; i++) values[i] = scale * (sum += factor * offsets[i]);
  else for (let i = 0; i < length; i++) values[i] = scale * (base + factor * offsets[i]);
  return values instanceof type ? values : new type(values);
}

/** A text that is packed by itself. */
export async function unpackText(packed: string): Promise<string> {
  return new TextDecoder().decode(await inflate(fromBase64(packed.trim())));
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Whole numbers from their bytes: all first ones, then all second ones. */
function joinPlanes(bytes: Uint8Array, length: number, width: number): Float64Array | Uint32Array {
  if (width === 1) return new Uint32Array(bytes);
  if (width <= 3) return joinFew(bytes, length, width);
  const numbers = new Float64Array(length);
  for (let plane = 0; plane < width; plane++) {
    const weight = 256 ** plane;
    for (let i = 0, from = plane * length; i < length; i++) numbers[i] += weight * bytes[from + i];
  }
  return numbers;
}

/** The same of two or three bytes, which most numbers have; none are zeros. */
function joinFew(bytes: Uint8Array, length: number, width: number): Uint32Array {
  const numbers = new Uint32Array(length);
  if (width === 2) for (let i = 0; i < length; i++) numbers[i] = bytes[i] | (bytes[length + i] << 8);
  else if (width === 3) for (let i = 0; i < length; i++) numbers[i] = bytes[i] | (bytes[length + i] << 8) | (bytes[2 * length + i] << 16);
  return numbers;
}

declare global {
  interface Uint8ArrayConstructor {
    /** Newer browsers have it. */
    fromBase64?(text: string): Uint8Array<ArrayBuffer>;
  }
}
