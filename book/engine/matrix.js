// Matrices as typed arrays: what every other file computes with. One sequence at a time, no batch:
// x has T rows, one for each token. Sums run in double precision, results are kept in single.

export class Matrix {
  constructor(rows, columns, data = new Float32Array(rows * columns)) {
    if (data.length !== rows * columns) {
      throw new RangeError(`${data.length} numbers are no ${rows} x ${columns} matrix`);
    }
    Object.assign(this, { rows, columns, data });
  }

  row(i) {
    return this.data.subarray(i * this.columns, (i + 1) * this.columns);
  }

  static of(rows) {
    const m = new Matrix(rows.length, rows[0].length);
    rows.forEach((row, i) => m.row(i).set(row));
    return m;
  }

  // The rows of b behind those of a.
  static stack(a, b) {
    const m = new Matrix(a.rows + b.rows, a.columns);
    m.data.set(a.data);
    m.data.set(b.data, a.data.length);
    return m;
  }
}

export function dot(a, aStart, b, bStart, n) {
  let sum0 = 0, sum1 = 0, i = 0;
  for (; i + 1 < n; i += 2) { // two sums, so that one need not wait for the other
    sum0 += a[aStart + i] * b[bStart + i];
    sum1 += a[aStart + i + 1] * b[bStart + i + 1];
  }
  return i < n ? sum0 + sum1 + a[aStart + i] * b[bStart + i] : sum0 + sum1;
}

// x W^T + b, as torch's Linear: W is (out, in). x (T, in) -> (T, out).
export function linear(x, weight, bias = null) {
  if (x.columns !== weight.columns) {
    throw new RangeError(`rows of ${x.columns} numbers do not fit a weight for ${weight.columns}`);
  }
  const out = new Matrix(x.rows, weight.rows);
  for (let o = 0; o < weight.rows; o++) { // a row of the weight is read once for all tokens
    const first = bias ? bias[o] : 0;
    for (let t = 0; t < x.rows; t++) {
      out.data[t * weight.rows + o] =
        first + dot(x.data, t * x.columns, weight.data, o * weight.columns, x.columns);
    }
  }
  return out;
}

export function add(a, b) {
  if (a.rows !== b.rows || a.columns !== b.columns) throw new RangeError("add needs like shapes");
  return new Matrix(a.rows, a.columns, a.data.map((value, i) => value + b.data[i]));
}

// Each row: its mean taken out, divided by its spread, then stretched and shifted.
export function layerNorm(x, weight, bias, eps) {
  const out = new Matrix(x.rows, x.columns);
  for (let t = 0; t < x.rows; t++) {
    const row = x.row(t), to = out.row(t);
    let mean = 0, square = 0;
    for (const value of row) mean += value / row.length;
    for (const value of row) square += (value - mean) ** 2 / row.length;
    const scale = 1 / Math.sqrt(square + eps);
    for (let i = 0; i < row.length; i++) to[i] = (row[i] - mean) * scale * weight[i] + bias[i];
  }
  return out;
}

// Scores to shares that sum to 1. -Infinity gets none; where all are -Infinity, all get 0.
export function softmax(scores) {
  const top = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  if (top === -Infinity) return new Float32Array(scores.length);
  const shares = Float64Array.from(scores, (s) => Math.exp(s - top));
  const sum = shares.reduce((a, b) => a + b, 0);
  return Float32Array.from(shares, (s) => s / sum);
}

export function argmax(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}

// The error function; Abramowitz and Stegun 1964, 7.1.26: wrong by at most 1.5e-7.
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 +
    t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - poly * Math.exp(-x * x));
}

// By the names that the library's configurations have (attnbook.sublayers.ACTIVATIONS).
export const ACTIVATIONS = {
  relu: (x) => Math.max(x, 0),
  squared_relu: (x) => Math.max(x, 0) ** 2,
  gelu: (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
};

export function map(x, f) {
  return new Matrix(x.rows, x.columns, x.data.map(f));
}
