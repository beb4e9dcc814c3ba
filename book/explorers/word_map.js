// The map of chapter 1: words in two of their directions, with one word and its neighbours marked.

import { make } from "./elements.js";

const SIZE = 400, EDGE = 16, DISC = 7, LINE = 12, LETTER = 5.8; // in units of the drawing
const MARKS = ["●", "■", "▲"];

function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const shapes = [
  (x, y) => draw("circle", { cx: x, cy: y, r: 3.2 }),
  (x, y) => draw("rect", { x: x - 3, y: y - 3, width: 6, height: 6 }),
  (x, y) => draw("path", { d: `M${x - 3.6} ${y + 3}h7.2l-3.6 -6.4z` }),
];

export class WordMap {
  // groups: words by name; placeOf(word): [x, y]; choose(word): the reader pressed a point.
  constructor(groups, placeOf, choose) {
    Object.assign(this, { groups, placeOf, choose });
    this.svg = draw("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", class: "word-map" });
    this.words = make("p", { class: "says" });
    this.near = make("input", { type: "checkbox", onchange: () => this.draw() });
    const key = Object.keys(groups).map((name, i) => make("span", { class: `group-${i}` },
      `${MARKS[i]} ${name} `));
    this.element = make("div", { class: "map" }, this.svg,
      make("p", { class: "key" }, "✚ your word ", "① … its neighbours ", ...key),
      make("label", { class: "check" }, this.near, "Zoom in"), this.words);
  }

  show(word, near) {
    Object.assign(this, { word, neighbours: near });
    this.draw();
    this.say();
  }

  draw() {
    const { word, neighbours: near } = this;
    const marked = [word, ...near], grouped = Object.values(this.groups).flat();
    const places = [...(this.near.checked ? [] : grouped), ...marked].map(this.placeOf);
    const [left, low] = [0, 1].map((axis) => Math.min(...places.map((p) => p[axis])));
    const [right, high] = [0, 1].map((axis) => Math.max(...places.map((p) => p[axis])));
    const scale = (SIZE - 2 * EDGE) / Math.max(right - left, high - low);
    const at = (w) => {
      const [x, y] = this.placeOf(w);
      return [SIZE / 2 + (x - (left + right) / 2) * scale, SIZE / 2 - (y - (low + high) / 2) * scale];
    };
    const marks = [], names = [];
    Object.values(this.groups).forEach((words, i) => words.forEach((w) => {
      if (marked.includes(w) || !at(w).every((x) => x > 0 && x < SIZE)) return;
      marks.push(this.mark(w, `group-${i}`, shapes[i](...at(w))));
      names.push({ w, at: at(w), away: 6, class: `name group-${i}` });
    }));
    this.discs = near.map((w, i) => {
      const [x, y] = at(w);
      return this.mark(w, "near", draw("circle", { cx: x, cy: y, r: DISC }),
        draw("text", { x, y: y + 3.6 }, String(i + 1)));
    });
    const [x, y] = at(word);
    marks.push(...this.discs.toReversed(), // the nearest on top
      this.mark(word, "asked", draw("path", { d: `M${x - 8} ${y}h16M${x} ${y - 8}v16` })));
    const first = [word, ...near].map((w, i) => (
      { w, at: at(w), away: DISC + 3, class: i ? "name" : "name asked" }));
    this.svg.replaceChildren(...marks, ...named([...first, ...names]));
  }

  mark(word, kind, ...parts) {
    const group = draw("g", { class: `mark ${kind}` }, draw("title", {}, word), ...parts);
    group.addEventListener("click", () => this.choose(word));
    return group;
  }

  // Make the disc of the i-th neighbour stand out; none for null.
  point(i) {
    this.discs.forEach((disc, j) => disc.classList.toggle("pointed", i === j));
    if (i !== null) this.svg.append(this.discs[i]);
  }

  say() {
    const { word, neighbours: near } = this;
    const [x, y] = this.placeOf(word);
    const far = (w) => Math.hypot(this.placeOf(w)[0] - x, this.placeOf(w)[1] - y);
    const others = Object.entries(this.groups).flatMap(([name, words]) =>
      words.filter((w) => w !== word).map((w) => ({ name, w })));
    const closest = others.sort((a, b) => far(a.w) - far(b.w))[0];
    const text = `Of the words drawn, ${closest.w} (${closest.name}) lies closest to ${word} here.`;
    this.words.textContent = `${text} Two of the 64 directions; the cosine sees them all.`;
    this.svg.setAttribute("aria-label",
      `Map of words, with ${word} and its ${near.length} nearest marked. ${text}`);
  }
}

// Each name beside its point, where it covers no earlier name; it is left out where there is no room.
function named(names) {
  const taken = names.map(({ at: [x, y], away }) => (
    [x - away / 2, y - away / 2, x + away / 2, y + away / 2]));
  const free = (box) => box[0] >= 0 && box[2] <= SIZE && box[1] >= 0 && box[3] <= SIZE &&
    taken.every((t) => box[2] <= t[0] || t[2] <= box[0] || box[3] <= t[1] || t[3] <= box[1]);
  return names.flatMap(({ w, at: [x, y], away, class: kind }) => {
    const wide = w.length * LETTER;
    const beside = y - LINE / 2, places = [ // left edge, upper edge, anchor of the text, its x
      [x + away, beside, "start", x + away], [x - away - wide, beside, "end", x - away],
      [x - wide / 2, y - away - LINE, "middle", x], [x - wide / 2, y + away, "middle", x],
    ];
    const found = places.find(([a, b]) => free([a, b, a + wide, b + LINE]));
    if (!found) return [];
    const [a, b, anchor, from] = found;
    taken.push([a, b, a + wide, b + LINE]);
    return [draw("text", { class: kind, x: from, y: b + LINE - 3, "text-anchor": anchor }, w)];
  });
}
