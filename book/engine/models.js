// The models: each takes a Weights and the configuration that the library wrote beside it.

import { checkIds, embed, sinusoidal } from "./inputs.js";
import { DecoderState, decoderStack, encoderStack, norm, project } from "./layers.js";
import { Cache } from "./attention.js";
import { ACTIVATIONS, Matrix, add, linear, map } from "./matrix.js";

// attnbook.models.gpt.GPT, and what it has read so far.
export class GPT {
  constructor(weights, config) {
    Object.assign(this, { weights, config });
    this.forget();
  }

  forget() {
    this.caches = Array.from({ length: this.config.n_layers }, () => new Cache());
  }

  // ids behind those read before -> logits (T, V), and the weights of each layer and head.
  read(ids) {
    const past = this.caches[0].length;
    const x = embed(this.weights, "body.", this.config, ids, past);
    const options = { causal: true, caches: this.caches };
    const seen = encoderStack(this.weights, "body.", this.config, x, options);
    return { logits: project(this.weights, "output", seen.vectors), weights: seen.weights };
  }
}

// attnbook.models.seq2seq.Seq2Seq: reads a source once, then the target token by token.
export class Seq2Seq {
  constructor(weights, config) {
    Object.assign(this, { weights, config });
    this.source = { ...config, vocab_size: config.source_vocab_size };
    this.target = { ...config, vocab_size: config.target_vocab_size };
  }

  // The source's ids -> the memory (S, D), and the encoder's weights. Forgets the target so far.
  encode(ids) {
    const x = embed(this.weights, "encoder.", this.source, ids);
    const seen = encoderStack(this.weights, "encoder.", this.source, x);
    this.memory = seen.vectors;
    this.state = new DecoderState(this.config.n_layers);
    return { memory: seen.vectors, weights: seen.weights };
  }

  // The target's ids behind those read before -> logits (T, V) and both kinds of weights.
  read(ids) {
    if (!this.memory) throw new Error("encode comes first: there is no memory to look at");
    const x = embed(this.weights, "decoder.", this.target, ids, this.state.length);
    const seen = decoderStack(this.weights, "decoder.", this.target, x, this.memory, this.state);
    const { weights, crossWeights } = seen;
    return { logits: project(this.weights, "output", seen.vectors), weights, crossWeights };
  }
}

// attnbook.models.bert_heads.BertPretraining, or a Bert alone with prefix "".
export class Bert {
  constructor(weights, config, prefix = "bert.") {
    Object.assign(this, { weights, config, prefix });
  }

  // ids and their segments -> vectors (T, D), and the weights of each layer and head.
  vectors(ids, segments = ids.map(() => 0)) {
    const { weights, config } = this, w = `${this.prefix}embed`;
    checkIds(ids, config.vocab_size, 0, config.max_len);
    const tokens = weights.matrix(`${w}.tokens.weight`);
    const places = weights.matrix(`${w}.positions.table`);
    const parts = weights.matrix(`${w}.segments.weight`);
    const sum = Matrix.of(ids.map((id, t) => {
      const place = places.row(t), part = parts.row(segments[t]);
      return tokens.row(id).map((value, i) => value + place[i] + part[i]);
    }));
    const x = norm(weights, `${w}.norm`, sum, config.norm_eps);
    return encoderStack(weights, this.prefix, config, x);
  }

  // Vectors (T, D) -> the logits (T, V) of the token at each place.
  masked(vectors) {
    const { weights, config } = this;
    const x = map(project(weights, "masked.transform", vectors), ACTIVATIONS[config.activation]);
    return project(weights, "masked.output", norm(weights, "masked.norm", x, config.norm_eps));
  }

  // Vectors (T, D) -> the logits (1, 2) of whether the second part follows the first.
  nextSentence(vectors) {
    const first = new Matrix(1, vectors.columns, vectors.row(0).slice());
    const pooled = map(project(this.weights, `${this.prefix}pooler`, first), Math.tanh);
    return project(this.weights, "next_sentence", pooled);
  }
}

// attnbook.models.vit.ViT with classes.
export class ViT {
  constructor(weights, config) {
    Object.assign(this, { weights, config });
  }

  // An image, channel by channel and in it row by row -> one row of numbers for each patch.
  cut(image) {
    const [height, width] = this.config.image_size, [h, w] = this.config.patch_size;
    const C = this.config.n_channels, rows = height / h, columns = width / w;
    if (image.length !== C * height * width) {
      throw new RangeError(`an image has ${C} x ${height} x ${width} numbers, not ${image.length}`);
    }
    const patches = new Matrix(rows * columns, C * h * w);
    for (let i = 0; i < patches.data.length; i++) {
      const patch = Math.floor(i / (C * h * w)), at = i % (C * h * w);
      const c = Math.floor(at / (h * w)), y = Math.floor((at % (h * w)) / w), x = at % w;
      const top = Math.floor(patch / columns) * h, left = (patch % columns) * w;
      patches.data[i] = image[(c * height + top + y) * width + left + x];
    }
    return patches;
  }

  // -> logits (1, V), and the weights of each layer and head; token 0 is the class token.
  read(image) {
    const { weights, config } = this;
    const patches = linear(this.cut(image), weights.matrix("embed.weight"),
      weights.vector("embed.bias"));
    const D = config.d_model;
    let x = Matrix.stack(new Matrix(1, D, weights.vector("class_token").slice()), patches);
    if (config.positions === "learned") x = add(x, weights.matrix("positions.table"));
    if (config.positions === "sinusoidal") {
      x = add(x, Matrix.of(Array.from({ length: x.rows }, (_, place) => sinusoidal(place, D))));
    }
    const seen = encoderStack(weights, "", config, x);
    let first = new Matrix(1, D, seen.vectors.row(0).slice());
    if (config.pooler) first = map(project(weights, "pooler", first), Math.tanh);
    return { logits: project(weights, "output", first), weights: seen.weights };
  }
}

// What each output took from each input, if the layers only passed on what they attend to: row t of
// the result (T, T). As attnbook.rollout.attention_rollout; Abnar and Zuidema 2020.
export function rollout(weights, residual = 0.5) {
  const T = weights[0][0].rows;
  let shares = Matrix.of(Array.from({ length: T }, (_, i) =>
    Array.from({ length: T }, (_, j) => Number(i === j))));
  for (const heads of weights) {
    const next = new Matrix(T, T);
    for (let i = 0; i < T; i++) {
      for (let k = 0; k < T; k++) {
        const mean = heads.reduce((sum, head) => sum + head.data[i * T + k], 0) / heads.length;
        const share = (1 - residual) * mean + (i === k ? residual : 0);
        for (let j = 0; j < T; j++) next.data[i * T + j] += share * shares.data[k * T + j];
      }
    }
    shares = next;
  }
  return shares;
}
