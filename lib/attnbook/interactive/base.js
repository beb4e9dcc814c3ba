// Shared by the interactive figures. Python puts this file, then the figure's own, into one function.

// An element: attributes are set as such; an attribute that starts with "on" is a listener.
const make = (tag, attributes = {}, ...children) => {
  const svg = ["svg", "path", "line", "circle", "rect", "text"].includes(tag);
  const element = svg
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, value);
  }
  // JupyterLab takes arrows and letters from what has the focus, unless that itself says no.
  if (/^(input|select|button|summary)$/.test(tag)) {
    element.setAttribute("data-lm-suppress-shortcuts", "true");
  }
  element.append(...children);
  return element;
};

const sign = (text) => text.replace("-", "\u2212");
// A number as it was typed.
const typed = (x) => sign(String(Number(x.toPrecision(6)) + 0));
const SUPERSCRIPT = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";

// A large number, readable.
const grouped = (x) => x.toLocaleString("en", { maximumFractionDigits: 6 });

// A number that was computed: so many decimals, or a power of ten where there is no room.
const shown = (x, digits = 3) => {
  if (Math.abs(x) < 1e5) return sign((Number(x.toFixed(digits)) + 0).toFixed(digits));
  const [factor, power] = x.toExponential(2).split("e+");
  return sign(factor) + "\u00b710" + [...power].map((c) => SUPERSCRIPT[c]).join("");
};

// Numbers below each other: 3 decimals, or whole numbers where all are whole.
const column = (numbers) => {
  const digits = numbers.every(Number.isInteger) ? 0 : 3;
  return numbers.map((x) => shown(x, digits));
};

// Vectors below each other: figure spaces make their numbers line up.
const vectors = (rows) => {
  const texts = rows[0].map((_, i) => {
    const texts = column(rows.map((row) => row[i]));
    const width = Math.max(...texts.map((text) => text.length));
    return texts.map((text) => text.padStart(width, "\u2007"));
  });
  return rows.map((_, row) => `(${texts.map((column) => column[row]).join(", ")})`);
};

const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);

// Starts each figure of a kind that is on the page and not yet running, and hides its still picture.
const start = (name, run) => {
  for (const root of document.querySelectorAll(`.attnbook[data-figure="${name}"]`)) {
    if (root.dataset.runs) continue;
    root.dataset.runs = "yes";
    const live = make("div", { class: "live", role: "group" });
    run(live, JSON.parse(root.dataset.start));
    root.append(live);
    root.querySelector(".still").hidden = true;
  }
};
