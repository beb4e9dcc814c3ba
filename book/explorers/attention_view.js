// Attention as a table of shaded cells: rows look at columns. A layer and a head can be chosen; a
// row can be pointed at, touched, or reached by the keyboard, and is then said in words. A pointer
// that rests while the page moves below it points at nothing: it is not asked where it enters.

import { choices, field, inWords, make, numbered } from "./elements.js";

const MEAN = "mean";

// What the reader can choose of n heads, as values and names.
export const headChoices = (n) => [[MEAN, "mean of all"], ...numbered(n)];

// weights[layer][head] is a Matrix (rows, columns); all heads of a layer can be averaged.
export function chosen(weights, layer, head) {
  const heads = weights[layer];
  if (head !== MEAN) return (t, s) => heads[head].row(t)[s];
  return (t, s) => heads.reduce((sum, h) => sum + h.row(t)[s], 0) / heads.length;
}

export class AttentionView {
  // caption: what looks at what. onChange(): the reader chose a layer or a head.
  constructor(caption, { onChange = () => {}, looks = "looks at" } = {}) {
    Object.assign(this, { caption, onChange, looks, layer: null, head: MEAN, row: null });
    this.layers = make("select", { onchange: () => this.choose(this.layers.value, this.head) });
    this.heads = make("select", { onchange: () => this.choose(this.layer, this.heads.value) });
    this.table = make("table", { class: "attention" });
    this.words = make("p", { class: "says", "aria-live": "polite" });
    this.all = make("div", { class: "heads", role: "group", "aria-label": "All of them, small" });
    const box = { class: "scrolls", tabindex: 0, role: "region", "aria-label": caption };
    this.element = make("div", { class: "attention-view" },
      make("div", { class: "fields" }, field("Layer", this.layers), field("Head", this.heads)),
      make("div", box, this.table), this.words, this.all);
  }

  get state() {
    return { layer: this.layer, head: this.head };
  }

  choose(layer, head) {
    this.table.classList.remove("speaking");
    Object.assign(this, { layer: Number(layer), head: head === MEAN ? MEAN : Number(head) });
    this.draw();
    this.onChange();
  }

  // rows and columns are the tokens; given may hold the layer and head of a shared link.
  show(rows, columns, weights, given = {}) {
    Object.assign(this, { rows, columns, weights });
    const has = (n, value) => Number.isInteger(Number(value)) && value >= 0 && value < n;
    const layer = given.layer ?? this.layer, head = given.head ?? this.head;
    this.layer = layer !== null && has(weights.length, layer) ? Number(layer) : weights.length - 1;
    this.head = has(weights[0].length, head) ? Number(head) : MEAN;
    this.layers.replaceChildren(...choices(numbered(weights.length)));
    this.heads.replaceChildren(...choices(headChoices(weights[0].length)));
    if (this.row === null || this.row >= rows.length) this.row = rows.length - 1;
    this.draw();
  }

  draw() {
    this.layers.value = this.layer;
    this.heads.value = this.head;
    const at = chosen(this.weights, this.layer, this.head);
    const cell = (t, s) => {
      const share = at(t, s);
      return make("td", {
        style: `--share: ${share.toFixed(3)}`, title: `${share.toFixed(2)}`, class: "share",
      }, make("span", { class: "unseen" }, share.toFixed(2)));
    };
    const button = (t) => make("button", {
      type: "button", "aria-pressed": String(t === this.row),
      onclick: () => this.point(t), onfocus: () => this.point(t), onkeydown: (e) => this.key(e, t),
      tabindex: t === this.row ? 0 : -1,
    }, this.rows[t]);
    this.table.replaceChildren(
      make("caption", {}, this.caption),
      make("thead", {}, make("tr", {}, make("td", {}),
        ...this.columns.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...this.rows.map((_, t) => make("tr",
        { class: t === this.row ? "turn pointed" : "turn", style: `--turn: ${t}`,
          onpointermove: () => this.point(t), onpointerdown: () => this.point(t) },
        make("th", { scope: "row" }, button(t)), ...this.columns.map((_, s) => cell(t, s))))));
    this.all.replaceChildren(...this.weights[this.layer].map((_, head) => this.small(head)));
    this.say();
  }

  // One head of the layer as a small picture: a button that shows it large, or the mean again.
  small(head) {
    const at = chosen(this.weights, this.layer, head);
    const [width, height] = [this.columns.length, this.rows.length];
    const picture = make("canvas", { width, height, "aria-hidden": "true" });
    const drawing = picture.getContext("2d"), ink = drawing.createImageData(width, height);
    for (let t = 0; t < height; t++) {
      for (let s = 0; s < width; s++) ink.data[4 * (t * width + s) + 3] = 255 * at(t, s);
    }
    drawing.putImageData(ink, 0, 0);
    return make("button", {
      type: "button", "aria-pressed": String(head === this.head),
      onclick: () => {
        this.choose(this.layer, head === this.head ? MEAN : head);
        this.all.children[head].focus();
      },
    }, picture, `head ${head + 1}`);
  }

  // Say a row, without drawing the table anew: the pointer is on it.
  point(t) {
    if (t === this.row) return;
    this.row = t;
    [...this.table.tBodies[0].rows].forEach((row, i) => {
      row.classList.toggle("pointed", i === t);
      const button = row.querySelector("button");
      button.setAttribute("aria-pressed", String(i === t));
      button.tabIndex = i === t ? 0 : -1;
    });
    this.say();
  }

  // Let the rows come one after the other, unless the reader wants no motion: the style has it.
  speak() {
    this.table.classList.add("speaking");
  }

  key(event, t) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = this.table.tBodies[0].rows[t + step];
    if (!step || !next) return;
    event.preventDefault();
    next.querySelector("button").focus();
    this.point(t + step); // a window in the background is not told of the focus
  }

  say() {
    const at = chosen(this.weights, this.layer, this.head);
    const shares = this.columns.map((_, s) => at(this.row, s));
    this.words.textContent =
      `${this.rows[this.row]} ${this.looks} ${inWords(this.columns, shares) || "nothing"}.`;
  }
}
