// Chapter 10: type a word, hear in phonemes how the model says it, and see where it looked.

import { write } from "../engine/decoding.js";
import { Seq2Seq } from "../engine/models.js";
import { Characters } from "../engine/tokens.js";
import { AttentionView } from "./attention_view.js";
import { field, make } from "./elements.js";


// letters and phonemes are vocabularies: lists of names, by id.
export function start(root, { weights, config, letters, phonemes, bos, eos }, { given, keep }) {
  const model = new Seq2Seq(weights, config), source = new Characters(letters);
  const longest = config.max_len - 1;
  const input = make("input", {
    type: "text", value: given.word ?? "attention", maxlength: longest, autocomplete: "off",
    autocapitalize: "off", spellcheck: "false",
  });
  const said = make("p", { class: "answer speaking", "aria-live": "polite" });
  const view = new AttentionView("Phonemes (rows) look at letters (columns)", { onChange: save });
  const form = make("form", { class: "fields", onsubmit: (e) => { e.preventDefault(); say(); } },
    field("Word", input), make("button", { type: "submit" }, "Say it"));

  function save() {
    keep({ word: input.value, ...view.state });
  }

  function say(first = {}) {
    const word = input.value.trim().toLowerCase(), unknown = source.unknown(word);
    view.element.hidden = true;
    if (!word || unknown.length || word.length > longest) {
      said.textContent = !word ? "Type a word." : unknown.length
        ? `The model knows no ${unknown.join(" ")}: only a to z, and - ' .`
        : `At most ${longest} letters.`;
      return;
    }
    model.encode(source.encode(word));
    const steps = [...write(model, [bos], { maxNew: longest, eos })];
    const names = steps.map((step) => (step.token === eos ? "end" : phonemes[step.token]));
    const sounds = names.filter((n) => n !== "end").flatMap((name, t) =>
      [" ", make("span", { class: "turn", style: `--turn: ${t}` }, name)]);
    said.replaceChildren(make("strong", {}, word), " →", ...sounds);
    const layers = steps[0].crossWeights.map((heads, layer) => heads.map((_, head) => ({
      row: (t) => steps[t].crossWeights[layer][head].row(0),
    })));
    view.element.hidden = false;
    view.row = null;
    view.show(names, [...word], layers, first);
    view.speak();
    save();
  }

  root.append(form, said, view.element);
  say(given);
}
