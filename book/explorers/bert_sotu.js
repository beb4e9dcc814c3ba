// Chapter 12: click a word to blank it, and see what the model fills in.

import { softmax } from "../engine/matrix.js";
import { Bert } from "../engine/models.js";
import { WordPiece } from "../engine/tokens.js";
import { AttentionView } from "./attention_view.js";
import { bars, field, make } from "./elements.js";

const MASK = "[MASK]";

export function start(root, { weights, config, pieces }, { given, keep }) {
  const model = new Bert(weights, config), tokenizer = new WordPiece(pieces);
  const input = make("input", { type: "text", autocomplete: "off", spellcheck: "false",
    value: given.text ?? "The state of our union is strong, and our people are free." });
  const line = make("div", { class: "tokens", role: "group", "aria-label": "Words to blank" });
  const told = make("p", { class: "says", role: "status" });
  const charts = make("div", { class: "charts" });
  const view = new AttentionView("Each word (row) looks at all words (columns)", { onChange: save });
  let blank = new Set((given.blanks ?? "6").split(".").filter(Boolean).map(Number));
  const form = make("form", { class: "fields", onsubmit: (e) => {
    e.preventDefault();
    blank = new Set();
    fill();
  } }, field("Sentence", input), make("button", { type: "submit" }, "Read it"));

  function save() {
    keep({ text: input.value, blanks: [...blank].join("."), ...view.state });
  }

  function fill(first = {}) {
    const room = config.max_len - 2, all = tokenizer.cut(input.value), words = all.slice(0, room);
    blank = new Set([...blank].filter((i) => i < words.length));
    const button = (word, i) => make("button", {
      type: "button", "aria-pressed": String(blank.has(i)),
      onclick: () => {
        blank.has(i) ? blank.delete(i) : blank.add(i);
        fill();
        line.children[i].focus();
      },
    }, blank.has(i) ? "____" : word);
    line.replaceChildren(...words.map(button));
    view.element.hidden = !words.length;
    charts.replaceChildren();
    if (!words.length) {
      told.textContent = "Type a sentence.";
      return;
    }
    const tokens = ["[CLS]", ...words.map((w, i) => (blank.has(i) ? MASK : w)), "[SEP]"];
    const seen = model.vectors(tokens.map((token) => tokenizer.ids.get(token)));
    const logits = model.masked(seen.vectors);
    for (const i of [...blank].sort((a, b) => a - b)) {
      const shares = softmax(logits.row(i + 1));
      const best = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, 5);
      charts.append(bars(`In place of “${words[i]}”`, best.map((id) => pieces[id]),
        best.map((id) => shares[id])));
    }
    const cut = all.length > room ? ` Only the first ${room} pieces fit.` : "";
    told.textContent = (blank.size ? "" : "Press a word to blank it.") + cut;
    view.row = blank.size ? Math.min(...blank) + 1 : 0;
    view.show(tokens, tokens, seen.weights, first);
    save();
  }

  root.append(form, line, told, charts, view.element);
  fill(given);
}
