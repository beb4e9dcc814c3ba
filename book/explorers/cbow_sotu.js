// Chapter 1: type a word; see which words have like vectors, and where they lie on the map.

import { nearest } from "../engine/neighbours.js";
import { field, make } from "./elements.js";
import { WordMap } from "./word_map.js";

const SHOWN = 10;

// The words of a text, as attnbook.guessing.plain_words cuts it.
const wordsOf = (text) => (text.toLowerCase().match(/\p{L}+|\d+(?:[.,]\d+)*/gu) ?? [])
  .map((word) => (/^\d/.test(word) ? "0" : word));

// words: the vocabulary; counts: how often each was seen; places: of each word on the map;
// groups: the words of the chapter's map, by name.
export function start(root, { weights, words, counts, places, groups }, { given, keep }) {
  const table = weights.matrix("tokens.weight"), ids = new Map(words.map((word, i) => [word, i]));
  const input = make("input", {
    type: "text", value: given.word ?? "october", autocomplete: "off", autocapitalize: "off",
    spellcheck: "false", maxlength: 60,
  });
  const told = make("p", { class: "answer", "aria-live": "polite" });
  const map = new WordMap(groups, (word) => places[ids.get(word)], (word) => go(word));
  const list = make("div");
  const found = make("div", { class: "drawing" }, list, map.element);
  const form = make("form", { class: "fields", onsubmit: (e) => { e.preventDefault(); look(); } },
    field("Word", input), make("button", { type: "submit" }, "Find neighbours"));

  function go(word) {
    input.value = word;
    look();
  }

  function look() {
    const [word, ...more] = wordsOf(input.value);
    const id = ids.get(input.value.trim() === words[0] ? words[0] : word);
    found.hidden = id === undefined || more.length > 0;
    if (found.hidden) {
      told.textContent = !word ? "Type a word." : more.length ? "Type one word."
        : `“${word}” is not among the ${words.length - 1} commonest words.`;
      return;
    }
    const near = nearest(table, id, SHOWN);
    told.replaceChildren(make("strong", {}, words[id]), `, seen ${counts[id]} times, is nearest to ` +
      near.slice(0, 3).map((n) => `${words[n.id]} (${n.cosine.toFixed(2)})`).join(", ") + ".");
    list.replaceChildren(neighbours(near));
    map.show(words[id], near.map((n) => words[n.id]));
    keep({ word: words[id] });
  }

  // A row each: its number on the map, the word as a button that goes there, its cosine.
  function neighbours(near) {
    const row = ({ id, cosine }, i) => {
      const point = () => map.point(i), leave = () => map.point(null);
      const away = () => { if (!list.contains(document.activeElement)) leave(); };
      return make("tr", { onpointermove: point, onpointerdown: point, onpointerleave: away },
        make("td", { class: "number" }, String(i + 1)),
        make("th", { scope: "row" }, make("button", {
          type: "button", onfocus: point, onblur: leave, onclick: () => {
            go(words[id]);
            list.querySelector("button").focus();
          },
        }, words[id])),
        make("td", {}, make("span", { class: "bar", style: `--share: ${Math.max(cosine, 0)}` })),
        make("td", { class: "number" }, cosine.toFixed(2)));
    };
    return make("table", { class: "bars neighbours" },
      make("caption", {}, "Nearest words, with their cosines"), make("tbody", {}, ...near.map(row)));
  }

  root.append(form, told, found);
  look();
}
