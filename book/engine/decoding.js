// From logits to the next token: the most probable one, or one that is drawn.

import { argmax, softmax } from "./matrix.js";

// Random numbers 0 … 1 that are the same for the same seed (mulberry32).
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

// The distribution that is drawn from, as attnbook.decoding.filters.token_probabilities.
export function probabilities(logits, { temperature = 1, topK = null, topP = 1 } = {}) {
  if (!(temperature > 0)) throw new RangeError(`temperature must be above 0, not ${temperature}`);
  if (!(topP > 0 && topP <= 1)) throw new RangeError(`topP must be above 0, at most 1, not ${topP}`);
  let kept = Float64Array.from(logits, (x) => x / temperature);
  if (topK !== null && topK < kept.length) {
    if (!(topK >= 1)) throw new RangeError(`topK must be at least 1, not ${topK}`);
    const smallest = kept.slice().sort()[kept.length - topK];
    kept = kept.map((x) => (x < smallest ? -Infinity : x));
  }
  if (topP < 1) {
    const shares = softmax(kept);
    let before = 0;
    for (const i of [...shares.keys()].sort((a, b) => kept[b] - kept[a])) {
      if (before >= topP) kept[i] = -Infinity; // the one that crosses topP is in
      before += shares[i];
    }
  }
  return softmax(kept);
}

export function draw(shares, random) {
  let left = random();
  for (let i = 0; i < shares.length; i++) {
    left -= shares[i];
    if (left < 0) return i;
  }
  return argmax(shares); // rounding left a little over
}

// Write behind what the model reads first; one value for each new token, so that a page can show
// it as it comes. The model is a GPT, or a Seq2Seq that has encoded its source.
//   choose(logits) -> token; eos ends the text and is given, too.
export function* write(model, prompt, { maxNew, eos = null, choose = argmax }) {
  let seen = model.read(prompt);
  for (let n = 1; n <= maxNew; n++) {
    const logits = seen.logits.row(seen.logits.rows - 1), token = choose(logits);
    yield { ...seen, token, logits };
    if (token === eos || n === maxNew) return;
    seen = model.read([token]);
  }
}
