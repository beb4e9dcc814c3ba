// Chapter 14: type a beginning, and watch the model write on.

import { draw, probabilities, randomFrom, write } from "../engine/decoding.js";
import { argmax } from "../engine/matrix.js";
import { GPT } from "../engine/models.js";
import { Characters } from "../engine/tokens.js";
import { AttentionView } from "./attention_view.js";
import { bars, field, make } from "./elements.js";


const seen = (c) => ({ " ": "␣", "\n": "↵" })[c] ?? c;
const pause = () => new Promise((done) => setTimeout(done));

export function start(root, { weights, config, characters, bos }, { given, keep }) {
  const model = new GPT(weights, config), text = new Characters(characters);
  const number = (value, attributes) => make("input", { type: "number", value, ...attributes });
  const prompt = make("textarea", { rows: 2, spellcheck: "false" });
  prompt.value = given.prompt ?? "To be, or not to be";
  const temperature = number(given.temperature ?? 0.8, { min: 0, max: 3, step: 0.1 });
  const topK = number(given.topK ?? 0, { min: 0, max: characters.length, step: 1 });
  const topP = number(given.topP ?? 1, { min: 0.05, max: 1, step: 0.05 });
  const seed = number(given.seed ?? 1, { min: 0, max: 999999, step: 1 });
  const go = make("button", { type: "submit" }, "Write");
  const output = make("pre", { class: "written", tabindex: 0, "aria-label": "What was written" });
  const told = make("p", { class: "says", role: "status" });
  const chart = make("div");
  const view = new AttentionView("The last characters (rows) look at those before them (columns)",
    { onChange: save });
  view.element.hidden = true;
  let writing = false;

  const form = make("form", { onsubmit: (e) => { e.preventDefault(); writing ? stop() : run(); } },
    field("Beginning", prompt),
    make("div", { class: "fields" },
      field("Temperature (0: always the likeliest)", temperature), field("Top-k (0: all)", topK),
      field("Top-p", topP), field("Seed", seed), go));

  function stop() {
    writing = false;
  }

  function save() {
    const shape = { temperature: temperature.value, topK: topK.value, topP: topP.value };
    keep({ prompt: prompt.value, ...shape, seed: seed.value, ...view.state });
  }

  async function run() {
    const bad = [temperature, topK, topP, seed].find((control) => !control.checkValidity());
    const unknown = text.unknown(prompt.value);
    if (bad || unknown.length) {
      told.textContent = unknown.length
        ? `The model knows no ${unknown.join(" ")}.`
        : `${bad.closest("label").firstChild.textContent}: ${bad.validationMessage}`;
      return;
    }
    // The window is of a fixed length: of a longer beginning the last part is read.
    const room = Math.floor(config.max_len / 2), beginning = [...prompt.value].slice(-room).join("");
    const random = randomFrom(seed.valueAsNumber), heat = temperature.valueAsNumber;
    const options = {
      temperature: heat, topK: topK.valueAsNumber || null, topP: topP.valueAsNumber,
    };
    const choose = heat === 0 ? argmax : (logits) => draw(probabilities(logits, options), random);
    const maxNew = config.max_len - 1 - beginning.length;
    model.forget();
    output.textContent = prompt.value;
    writing = true;
    go.textContent = "Stop";
    const start = performance.now(), rows = [];
    let tokens = ["BOS", ...beginning], last = null, paused = start;
    for (const step of write(model, [bos, ...text.encode(beginning)], { maxNew, choose })) {
      last = step;
      const heads = step.weights.map((layer) => layer.map((h) => h.row(h.rows - 1)));
      rows.push({ name: seen(tokens.at(-1)), heads });
      tokens.push(characters[step.token]);
      output.append(characters[step.token]);
      if (performance.now() - paused > 30) { // let the page draw, and the reader press Stop
        await pause();
        paused = performance.now();
      }
      if (!writing || !root.isConnected) break;
    }
    const seconds = (performance.now() - start) / 1000;
    writing = false;
    go.textContent = "Write";
    told.textContent = `${rows.length} characters in ${seconds.toFixed(1)} s, ` +
      `${Math.round(rows.length / seconds)} a second.`;
    showLast(rows.slice(-12), tokens, last, options);
    save();
  }

  function showLast(rows, tokens, last, options) {
    const shares = probabilities(last.logits, { ...options, temperature: options.temperature || 1 });
    const best = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, 8);
    chart.replaceChildren(bars("What might have stood in the last place",
      best.map((i) => seen(characters[i])), best.map((i) => shares[i])));
    const columns = tokens.slice(0, -1).map(seen).slice(-24), cut = tokens.length - 1 - columns.length;
    const layers = rows[0].heads.map((heads, layer) => heads.map((_, head) => ({
      row: (t) => columns.map((_, s) => rows[t].heads[layer][head][cut + s] ?? 0),
    })));
    view.element.hidden = false;
    view.row = null;
    view.show(rows.map((row) => row.name), columns, layers, view.layer === null ? given : {});
  }

  root.append(form, output, told, chart, view.element);
  run();
}
