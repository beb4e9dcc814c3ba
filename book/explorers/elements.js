// Elements of a page, and the parts that explorers share.

// An element: attributes are set as such; one that starts with "on" is a listener.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// A labelled field.
export function field(label, control) {
  return make("label", { class: "field" }, make("span", {}, label), control);
}

// The options of a select, from pairs of a value and a name.
export const choices = (pairs) => pairs.map(([value, name]) => make("option", { value }, name));

// Such pairs for n things, which are counted from 1 on the page.
export const numbered = (n) => Array.from({ length: n }, (_, i) => [i, String(i + 1)]);

export const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

// The largest shares, with their names: "t 62 %, i 21 %".
export function inWords(names, shares, most = 3) {
  return [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, most)
    .filter((i) => shares[i] >= 0.005).map((i) => `${names[i]} ${percent(shares[i])}`).join(", ");
}

// A bar chart as a table: one row a name.
export function bars(caption, names, shares) {
  return make("table", { class: "bars" }, make("caption", {}, caption), make("tbody", {},
    ...names.map((name, i) => make("tr", {}, make("th", { scope: "row" }, name),
      make("td", {}, make("span", { class: "bar", style: `--share: ${shares[i]}` })),
      make("td", { class: "number" }, percent(shares[i]))))));
}
