/** Unpacking of the timeline's data: see tcprof/render/html/timeline/packing.py. */

/** Where and how an array of whole numbers is stored, and what is made of it. */
interface PackedArray extends Record<"at" | "length" | "bytes" | "base" | "factor", number> {
  type: keyof typeof TYPES;
  /** The smallest difference, where these are stored. */
  least: number | null;
  scale?: number;
  /** What stands for NaN. */
  unknown?: number;
  /** The number of the array to which it is added. */
  behind?: number;
}

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array, bits: Uint32Array };
type TypedArray = InstanceType<(typeof TYPES)[keyof typeof TYPES]>;
type Read = (number: number) => TypedArray;

/** The header of packed data, with its arrays in it: each is made when it is first looked at. */
export async function unpack<Header extends object>(text: string): Promise<Header> {
  const bytes = await inflate(fromBase64(text.trim()));
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const { arrays, ...header } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size))) as Header & { arrays: PackedArray[] };
  const planes = bytes.subarray(4 + size);
  const made: TypedArray[] = [];
  const read: Read = (number) => (made[number] ??= readArray(planes, arrays[number], read));
  putArrays(header, read);
  return header as unknown as Header;
}

/** Put the arrays where the header refers to them. */
function putArrays(part: object, read: Read): void {
  for (const [name, value] of Object.entries(part) as [string, unknown][]) {
    if (typeof value !== "object" || value === null || (Array.isArray(value) && typeof value[0] !== "object")) continue;
    if (!("array" in value)) putArrays(value, read);
    else {
      const define = (how: PropertyDescriptor) => Object.defineProperty(part, name, { enumerable: true, configurable: true, ...how });
      define({ get: () => { const made = read(value.array as number); define({ value: made }); return made; } });
    }
  }
}

/** Every array is computed in one type, and converted: a loop that meets all types takes six times as long. */
function readArray(planes: Uint8Array, { at, length, bytes: width, base, factor, least, type, scale = 1, unknown, behind }: PackedArray, read: Read): TypedArray {
  const offsets = joinPlanes(planes.subarray(at, at + width * length), length, width);
  const isPlain = least === null && base === 0 && factor === 1 && scale === 1 && unknown === undefined;
  if (isPlain && behind === undefined && type !== "bits") return new TYPES[type](offsets);
  const values = new Float64Array(length);
  let sum = base;
  if (least === null) for (let i = 0; i < length; i++) values[i] = base + factor * offsets[i];
  else for (let i = 0; i < length; i++) values[i] = sum += least + factor * offsets[i];
  if (type === "bits") return new Float32Array(Uint32Array.from(values).buffer);
  if (scale !== 1 || unknown !== undefined) for (let i = 0; i < length; i++) values[i] = values[i] === unknown ? NaN : scale * values[i];
  const before = behind === undefined ? null : read(behind) as Float64Array;
  if (before) for (let i = 0; i < length; i++) values[i] += before[i];
  return type === "f8" ? values : new TYPES[type](values);
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
