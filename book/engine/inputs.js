// What goes into a stack: tokens as vectors that know their places.

import { Matrix } from "./matrix.js";

// Column 2i is sin(place / base^(2i/D)), column 2i + 1 its cosine.
export function sinusoidal(place, width, base = 10000) {
  return Float32Array.from({ length: width }, (_, i) => {
    const angle = place * base ** -((i - (i % 2)) / width);
    return i % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

export function checkIds(ids, vocabSize, past, maxLen) {
  if (!ids.length) throw new RangeError("there must be at least one token");
  const bad = ids.find((id) => !(Number.isInteger(id) && id >= 0 && id < vocabSize));
  if (bad !== undefined) throw new RangeError(`${bad} is no token: ids are 0 … ${vocabSize - 1}`);
  if (past + ids.length > maxLen) {
    throw new RangeError(`${past + ids.length} tokens are more than the model's ${maxLen}`);
  }
}

// The library's InputEmbedding, for ids that stand behind `past` others. w ends in ".".
export function embed(weights, w, config, ids, past = 0) {
  checkIds(ids, config.vocab_size, past, config.max_len);
  const table = weights.matrix(`${w}embed.tokens.weight`), D = table.columns;
  const added = {
    sinusoidal: (place) => sinusoidal(place, D),
    learned: (place) => weights.matrix(`${w}embed.positions.table`).row(place),
  }[config.positions];
  const scale = config.positions === "sinusoidal" ? Math.sqrt(D) : 1;
  return Matrix.of(ids.map((id, t) => {
    const place = added ? added(past + t) : null;
    return table.row(id).map((value, i) => value * scale + (place ? place[i] : 0));
  }));
}
