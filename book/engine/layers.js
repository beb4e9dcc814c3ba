// The layers, and the stack of them, as attnbook.layers and attnbook.models.stack have them.

import { Cache, multiHead } from "./attention.js";
import { ACTIVATIONS, add, layerNorm, linear, map } from "./matrix.js";

export function norm(weights, w, x, eps) {
  return layerNorm(x, weights.vector(`${w}.weight`), weights.vector(`${w}.bias`), eps);
}

export function project(weights, w, x) {
  const bias = weights.has(`${w}.bias`) ? weights.vector(`${w}.bias`) : null;
  return linear(x, weights.matrix(`${w}.weight`), bias);
}

// x + sublayer(norm(x)) with config.pre_norm, norm(x + sublayer(x)) without.
function residual(weights, w, config, x, sublayer) {
  const normed = (y) => norm(weights, `${w}.norm`, y, config.norm_eps);
  return config.pre_norm ? add(x, sublayer(normed(x))) : normed(add(x, sublayer(x)));
}

function feedForward(weights, w, config, x) {
  const inner = map(project(weights, `${w}.w_1`, x), ACTIVATIONS[config.activation]);
  return project(weights, `${w}.w_2`, inner);
}

const cachesOf = (n) => Array.from({ length: n }, () => new Cache());

// A stack of EncoderLayers with the last norm. Gives vectors (T, D), and the weights of each layer
// and head.
//   options: causal, real (for each token whether it is one and no padding), caches (one a layer).
export function encoderStack(weights, w, config, x, options = {}) {
  const { caches = cachesOf(config.n_layers) } = options;
  const all = [];
  const self = {
    nHeads: config.n_heads, rotary: config.positions === "rotary",
    causal: options.causal, real: options.real,
  };
  for (let i = 0; i < config.n_layers; i++) {
    const layer = `${w}layers.${i}`;
    x = residual(weights, `${layer}.around_attention`, config, x, (h) => {
      const seen = multiHead(weights, `${layer}.attention`, h, h, { ...self, cache: caches[i] });
      all.push(seen.weights);
      return seen.output;
    });
    x = residual(weights, `${layer}.around_feed_forward`, config, x,
      (h) => feedForward(weights, `${layer}.feed_forward`, config, h));
  }
  if (config.pre_norm) x = norm(weights, `${w}norm`, x, config.norm_eps);
  return { vectors: x, weights: all };
}

// A stack of DecoderLayers over one memory; keeps what it has read in state.
export class DecoderState {
  constructor(nLayers) {
    this.own = cachesOf(nLayers);
    this.memory = cachesOf(nLayers);
  }

  get length() {
    return this.own[0].length;
  }
}

export function decoderStack(weights, w, config, x, memory, state) {
  const own = [], cross = [], rotary = config.positions === "rotary", nHeads = config.n_heads;
  for (let i = 0; i < config.n_layers; i++) {
    const layer = `${w}layers.${i}`;
    x = residual(weights, `${layer}.around_self`, config, x, (h) => {
      const options = { nHeads, rotary, causal: true, cache: state.own[i] };
      const seen = multiHead(weights, `${layer}.self_attention`, h, h, options);
      own.push(seen.weights);
      return seen.output;
    });
    x = residual(weights, `${layer}.around_cross`, config, x, (h) => {
      const cache = state.memory[i], unread = cache.length ? null : memory;
      const options = { nHeads, cache };
      const seen = multiHead(weights, `${layer}.cross_attention`, h, unread, options);
      cross.push(seen.weights);
      return seen.output;
    });
    x = residual(weights, `${layer}.around_feed_forward`, config, x,
      (h) => feedForward(weights, `${layer}.feed_forward`, config, h));
  }
  if (config.pre_norm) x = norm(weights, `${w}norm`, x, config.norm_eps);
  return { vectors: x, weights: own, crossWeights: cross };
}
