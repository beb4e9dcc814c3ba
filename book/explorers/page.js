// The frame of an explorer on a page: a button that opens it, the way to the weights, and what is
// said when they cannot be had. book.js calls `open` the first time a reader presses the button.

import { Weights, fetchBuffer } from "../engine/weights.js";
import { make } from "./elements.js";

// What the reader has set is kept in the link, so that a view can be shared: "#name?word=cat".
export function readState(name) {
  const [where, query = ""] = location.hash.slice(1).split("?");
  return where === name ? Object.fromEntries(new URLSearchParams(query)) : {};
}

export function writeState(name, state) {
  const query = new URLSearchParams(Object.entries(state).map(([k, v]) => [k, String(v)]));
  try {
    history.replaceState(null, "", `#${name}?${query}`);
  } catch (error) { // some browsers allow a hundred changes in half a minute
    console.warn(error);
  }
}

// The weights, the configuration and the vocabularies of a model.
async function fetchModel(base, name, onProgress) {
  const response = await fetch(new URL(`models/${name}.json`, base));
  if (!response.ok) throw new Error(`${name}.json: ${response.status}`);
  const about = await response.json();
  const buffer = await fetchBuffer(new URL(`models/${name}.safetensors`, base), onProgress);
  const came = performance.now();
  return { ...about, weights: new Weights(buffer), came };
}

// When the browser has drawn what stands on the page now.
const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

// Put the explorer into its place. root is the element with data-explorer.
export async function open(root) {
  const name = root.dataset.explorer, base = import.meta.url;
  const bar = make("progress", { max: 1, value: 0, "aria-label": "Fetching the model" });
  const told = make("p", { role: "status" }, "Fetching the model ", bar);
  root.querySelector(".start").replaceWith(told);
  try {
    const [{ start }, style] = await Promise.all([
      import(`./${name}.js`), fetch(new URL("explorers.css", base)).then((r) => r.text()),
    ]);
    const model = await fetchModel(base, name, (share) => { bar.value = share; });
    if (!document.getElementById("explorers-style")) {
      document.head.append(make("style", { id: "explorers-style" }, style));
    }
    const live = make("div", { class: "live" });
    start(live, model, {
      given: readState(name),
      keep: (state) => writeState(name, state),
    });
    root.querySelector(".still")?.remove();
    told.replaceWith(live);
    root.dataset.runs = "yes";
    live.querySelector("input, textarea, canvas")?.focus({ preventScroll: true });
    await drawn();
    performance.measure(`${name}: first answer`, { start: model.came });
  } catch (error) {
    console.warn(error);
    told.replaceChildren("The model could not be fetched, so that only the picture is here. " +
      "From a folder of files browsers fetch nothing: see this page on a web server.");
  }
}
