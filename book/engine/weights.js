// The weights of a model: a safetensors file in single or half precision, by the library's names.

import { Matrix } from "./matrix.js";

// Half precision: one bit of sign, five of exponent, ten of fraction.
function halfToNumber(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

// There are only 65,536 of them: a model has millions.
const HALVES = Float32Array.from({ length: 2 ** 16 }, (_, bits) => halfToNumber(bits));

function fromHalves(halves) {
  const numbers = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) numbers[i] = HALVES[halves[i]];
  return numbers;
}

const READERS = {
  F32: (buffer) => new Float32Array(buffer),
  F16: (buffer) => fromHalves(new Uint16Array(buffer)),
};

export class Weights {
  // buffer: the ArrayBuffer of a safetensors file.
  constructor(buffer) {
    const size = Number(new DataView(buffer).getBigUint64(0, true)), start = 8 + size;
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
    // What is tied is written once; here stands under which name.
    this.same = header.__metadata__ ?? {};
    delete header.__metadata__;
    this.tensors = new Map(Object.entries(header).map(([name, about]) => {
      const read = READERS[about.dtype];
      if (!read) throw new TypeError(`${name} has the kind ${about.dtype}, which is not read here`);
      const [from, to] = about.data_offsets;
      return [name, { shape: about.shape, data: read(buffer.slice(start + from, start + to)) }];
    }));
  }

  has(name) {
    return this.tensors.has(name) || this.tensors.has(this.same[name]);
  }

  get(name) {
    const found = this.tensors.get(name) ?? this.tensors.get(this.same[name]);
    if (!found) throw new RangeError(`the weights have no ${name}`);
    return found;
  }

  // A vector, or any tensor as one row of numbers.
  vector(name) {
    return this.get(name).data;
  }

  // The first axis as rows, all others as columns.
  matrix(name) {
    const { shape, data } = this.get(name);
    return new Matrix(shape[0], data.length / shape[0], data);
  }
}

// Fetch a file and say how far it is: onProgress(share), 0 … 1.
export async function fetchBuffer(address, onProgress = () => {}) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status} ${response.statusText}`);
  const total = Number(response.headers.get("Content-Length"));
  const parts = [];
  let loaded = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    loaded += value.length;
    onProgress(total ? Math.min(loaded / total, 1) : 0);
  }
  onProgress(1);
  return new Blob(parts).arrayBuffer();
}
