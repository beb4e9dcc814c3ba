// Chapter 16: draw a digit; see its patches, what the model reads, and where it looked.

import { ViT, rollout } from "../engine/models.js";
import { softmax } from "../engine/matrix.js";
import { chosen, headChoices } from "./attention_view.js";
import { bars, choices, field, inWords, make, numbered, percent } from "./elements.js";

const PEN = 1.3; // radius in pixels of the image: about as thick as the digits it learned from

export function start(root, { weights, config }, { given, keep }) {
  const model = new ViT(weights, config), [height, width] = config.image_size;
  const [patchHeight, patchWidth] = config.patch_size, columns = width / patchWidth;
  const zoom = 10, ink = new Float32Array(height * width);
  const canvas = make("canvas", {
    width: width * zoom, height: height * zoom, tabindex: 0, role: "img",
    "aria-label": "Drawing area. Arrow keys move the pen, held Shift draws, Delete clears.",
  });
  const told = make("p", { class: "answer", role: "status" });
  const says = make("p", { class: "says", "aria-live": "polite" });
  const look = make("select", { onchange: () => show() }, ...choices([
    ["rollout", "all layers (rollout)"], ...numbered(config.n_layers), ["nothing", "do not show"]]));
  const head = make("select", { onchange: () => show() }, ...choices(headChoices(config.n_heads)));
  const chart = make("div");
  const clear = make("button", { type: "button", onclick: () => { ink.fill(0); read(); } }, "Clear");
  let pen = { x: width / 2, y: height / 3 }, keyed = false, seen = null, shares = null, last = null;

  // The state in a link: each pixel as one of ten shades.
  const packed = () => Array.from(ink, (x) => Math.round(9 * x)).join("").replace(/0+$/, "");
  const unpack = (text) => [...text].slice(0, ink.length).forEach((c, i) => {
    ink[i] = Number(c) / 9 || 0;
  });

  function dab(x, y) {
    for (let row = 0; row < height; row++) {
      for (let column = 0; column < width; column++) {
        const distance = Math.hypot(column + 0.5 - x, row + 0.5 - y);
        const shade = Math.max(0, Math.min(1, PEN + 0.5 - distance));
        ink[row * width + column] = Math.max(ink[row * width + column], shade);
      }
    }
  }

  function stroke(from, to) {
    const steps = Math.max(1, Math.ceil(2 * Math.hypot(to.x - from.x, to.y - from.y)));
    for (let i = 0; i <= steps; i++) {
      dab(from.x + ((to.x - from.x) * i) / steps, from.y + ((to.y - from.y) * i) / steps);
    }
  }

  function paint() {
    const draw = canvas.getContext("2d");
    for (let i = 0; i < ink.length; i++) {
      const shade = Math.round(255 * (1 - ink[i]));
      draw.fillStyle = `rgb(${shade} ${shade} ${shade})`;
      draw.fillRect((i % width) * zoom, Math.floor(i / width) * zoom, zoom, zoom);
    }
    if (shares) { // orange over the patches that the answer took most from
      const most = Math.max(...shares);
      shares.forEach((share, i) => {
        draw.fillStyle = `rgb(230 97 0 / ${(0.75 * share) / most})`;
        draw.fillRect((i % columns) * patchWidth * zoom,
          Math.floor(i / columns) * patchHeight * zoom, patchWidth * zoom, patchHeight * zoom);
      });
    }
    draw.strokeStyle = "rgb(0 90 160 / 0.35)";
    for (let x = 0; x <= width; x += patchWidth) draw.strokeRect(x * zoom, 0, 0, height * zoom);
    for (let y = 0; y <= height; y += patchHeight) draw.strokeRect(0, y * zoom, width * zoom, 0);
    if (keyed) {
      draw.strokeStyle = "rgb(0 90 160)";
      draw.strokeRect((pen.x - 1) * zoom, (pen.y - 1) * zoom, 2 * zoom, 2 * zoom);
    }
  }

  function read() {
    seen = ink.every((x) => x === 0) ? null : model.read(ink);
    chart.replaceChildren();
    if (seen) {
      const found = softmax(seen.logits.row(0)), best = found.indexOf(Math.max(...found));
      told.textContent = `It reads ${best}, with a probability of ${percent(found[best])}.`;
      chart.append(bars("What it reads", [...found.keys()].map(String), [...found]));
    } else {
      told.textContent = "Draw a digit from 0 to 9.";
    }
    show();
  }

  // What the class token took from each patch: over all layers, or with one layer's attention.
  function looked() {
    if (look.value === "rollout") return [...rollout(seen.weights).row(0)].slice(1);
    const at = chosen(seen.weights, look.value, head.value);
    return Array.from({ length: seen.weights[0][0].columns - 1 }, (_, i) => at(0, i + 1));
  }

  function show() {
    head.disabled = ["rollout", "nothing"].includes(look.value);
    shares = seen && look.value !== "nothing" ? looked() : null;
    const names = shares?.map((_, i) => `(${Math.floor(i / columns) + 1}, ${(i % columns) + 1})`);
    says.textContent = shares
      ? `Most was taken from the patches (row, column) ${inWords(names, shares)}.` : "";
    paint();
    keep({ ink: packed(), look: look.value, head: head.value });
  }

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return {
      x: ((event.clientX - box.left) / box.width) * width,
      y: ((event.clientY - box.top) / box.height) * height,
    };
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    keyed = false;
    last = place(event);
    stroke(last, last);
    paint();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    const to = place(event);
    stroke(last, to);
    last = to;
    paint();
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, () => { if (last) { last = null; read(); } });
  }
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const move = step[event.key];
    if (event.key === "Delete" || event.key === "Backspace") clear.click();
    if (!move) return;
    event.preventDefault();
    const to = {
      x: Math.max(0, Math.min(width, pen.x + move[0])),
      y: Math.max(0, Math.min(height, pen.y + move[1])),
    };
    keyed = true;
    if (event.shiftKey) stroke(pen, to);
    pen = to;
    event.shiftKey ? read() : paint();
  });

  if (given.ink) unpack(given.ink);
  else [[10, 8, 18, 8], [18, 8, 13, 21]].forEach(([a, b, c, d]) => stroke({ x: a, y: b }, { x: c, y: d }));
  for (const [select, value] of [[look, given.look], [head, given.head]]) {
    if ([...select.options].some((option) => option.value === value)) select.value = value;
  }
  root.append(
    make("div", { class: "drawing" }, canvas, make("div", {}, told, chart)),
    make("div", { class: "fields" }, clear, field("Where it looked: layer", look), field("Head", head)),
    says);
  read();
}
