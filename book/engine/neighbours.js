// Which words have vectors that point the same way.

import { dot } from "./matrix.js";

// The cosine of the row `id` of a table (V, D) with each of its rows.
export function cosines(table, id) {
  const { data, columns } = table;
  const product = (i, j) => dot(data, i * columns, data, j * columns, columns);
  const own = Math.sqrt(product(id, id));
  return Float64Array.from({ length: table.rows },
    (_, i) => product(id, i) / (own * Math.sqrt(product(i, i)) || 1));
}

// The n others with the largest cosines, the largest first: [{ id, cosine }].
export function nearest(table, id, n) {
  const all = cosines(table, id);
  return [...all.keys()].filter((i) => i !== id).sort((a, b) => all[b] - all[a]).slice(0, n)
    .map((i) => ({ id: i, cosine: all[i] }));
}
