// Attention with heads, over what came before (the cache) and what is new.

import { Matrix, dot, linear, softmax } from "./matrix.js";

// The keys and values that a layer has read.
export class Cache {
  keys = null;
  values = null;

  get length() {
    return this.keys ? this.keys.rows : 0;
  }

  extend(keys, values) {
    this.keys = this.keys ? Matrix.stack(this.keys, keys) : keys;
    this.values = this.values ? Matrix.stack(this.values, values) : values;
  }
}

// Turn each pair of coordinates of each head by place / base^(2i / dHead).
export function rotate(x, nHeads, firstPlace, base = 10000) {
  const out = new Matrix(x.rows, x.columns), dHead = x.columns / nHeads;
  for (let t = 0; t < x.rows; t++) {
    for (let i = 0; i < x.columns; i += 2) {
      const angle = (firstPlace + t) * base ** -((i % dHead) / dHead);
      const cos = Math.cos(angle), sin = Math.sin(angle), at = t * x.columns + i;
      out.data[at] = x.data[at] * cos - x.data[at + 1] * sin;
      out.data[at + 1] = x.data[at] * sin + x.data[at + 1] * cos;
    }
  }
  return out;
}

// softmax(Q K^T / sqrt(dHead)) V, head by head.
//   query (T, D), keys and values (S, D); sees(t, s): whether t may attend to s.
// Gives the heads side by side (T, D), and for each head the weights (T, S).
export function attend(query, keys, values, nHeads, sees) {
  const T = query.rows, S = keys.rows, D = query.columns, dHead = D / nHeads;
  const output = new Matrix(T, D), weights = [];
  for (let h = 0; h < nHeads; h++) {
    const shares = new Matrix(T, S), start = h * dHead;
    for (let t = 0; t < T; t++) {
      const scores = new Float64Array(S);
      for (let s = 0; s < S; s++) {
        scores[s] = sees(t, s)
          ? dot(query.data, t * D + start, keys.data, s * D + start, dHead) / Math.sqrt(dHead)
          : -Infinity;
      }
      shares.row(t).set(softmax(scores));
      const sum = new Float64Array(dHead);
      for (let s = 0; s < S; s++) {
        const share = shares.data[t * S + s];
        if (share === 0) continue;
        for (let i = 0; i < dHead; i++) sum[i] += share * values.data[s * D + start + i];
      }
      output.data.set(sum, t * D + start);
    }
    weights.push(shares);
  }
  return { output, weights };
}

// The library's MultiHeadAttention: w is where its weights stand, such as "layers.0.attention".
//   query (T, D), memory (S, D): the same in self-attention; null where the cache has it whole.
//   causal: a token sees itself and what is before it. rotary: positions turn queries and keys.
export function multiHead(weights, w, query, memory, options) {
  const { nHeads, causal = false, rotary = false, cache = new Cache(), real = null } = options;
  const through = (x, part) => linear(
    x, weights.matrix(`${w}.${part}.weight`),
    weights.has(`${w}.${part}.bias`) ? weights.vector(`${w}.${part}.bias`) : null,
  );
  const past = cache.length;
  let q = through(query, "w_q");
  if (memory) {
    const k = through(memory, "w_k");
    cache.extend(rotary ? rotate(k, nHeads, past) : k, through(memory, "w_v"));
  }
  const first = cache.length - query.rows; // the place of the first query, if it is one of the keys
  if (rotary) q = rotate(q, nHeads, first);
  const sees = (t, s) => (!causal || s <= first + t) && (!real || real[s]);
  const heads = attend(q, cache.keys, cache.values, nHeads, sees);
  return { output: through(heads.output, "w_o"), weights: heads.weights };
}
