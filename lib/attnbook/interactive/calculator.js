start("calculator", (live, given) => {
  const limit = given.largest;
  let state;

  // What attention() computes, one query: weights of 0 where a word is masked.
  const compute = ({ query, keys, values, sees, scaled }) => {
    const products = keys.map((key) => dot(query, key));
    const divisor = scaled ? Math.sqrt(query.length) : 1;
    const scores = products.map((product, i) => (sees[i] ? product / divisor : -Infinity));
    const powers = scores.map(Math.exp);
    const total = powers.reduce((sum, power) => sum + power, 0);
    const weights = powers.map((power) => (total ? power / total : 0));
    const parts = values.map((value, i) => value.map((x) => weights[i] * x));
    const output = values[0].map((_, j) => parts.reduce((sum, part) => sum + part[j], 0));
    return { products, divisor, scores, powers, total, weights, parts, output };
  };

  // --- what is typed

  const complaints = new Map();
  const number = (label, list, i) =>
    make("input", {
      type: "number",
      step: "any",
      min: -limit,
      max: limit,
      value: list[i],
      "aria-label": label,
      oninput: ({ target }) => {
        const good = target.value !== "" && Math.abs(target.valueAsNumber) <= limit;
        target.setAttribute("aria-invalid", !good);
        if (good) list[i] = target.valueAsNumber;
        if (good) complaints.delete(target);
        else complaints.set(target, `${label} must be a number from ${sign(String(-limit))} to ` +
          `${limit}; it still counts as ${typed(list[i])}. `);
        show();
      },
      // Who leaves the box sees what counts.
      onchange: ({ target }) => {
        target.value = list[i];
        target.removeAttribute("aria-invalid");
        if (complaints.delete(target)) show();
      },
    });
  const numbers = (name, label, list) =>
    make(
      "div",
      { class: name, role: "group", "aria-label": label },
      make("span", { class: "name" }, name),
      make("div", { class: "numbers" },
        ...list.map((_, i) => number(`${label}, number ${i + 1}`, list, i))),
    );
  const box = (checked, change, ...text) =>
    make("label", {}, make("input", { type: "checkbox", checked, onchange: change }), ...text);

  const row = (i) => {
    const place = `word ${i + 1}`;
    const may = box(true, ({ target }) => {
      state.sees[i] = target.checked;
      show();
    });
    may.prepend(make("span", { class: "name" }, "looked at",
      make("span", { class: "unseen" }, `: ${place}`)));
    const text = make("input", {
      type: "text",
      class: "word",
      maxlength: 16,
      value: state.words[i],
      "aria-label": `${place}, its text`,
      oninput: ({ target }) => {
        state.words[i] = target.value;
        show();
      },
    });
    return make(
      "div",
      { class: i ? "row" : "row first", role: "group", "aria-label": place },
      may,
      make("div", { class: "text" },
        make("span", { class: "name", "aria-hidden": "true" }, "word"), text),
      make("div", { class: "both" },
        numbers("key", `key of ${place}`, state.keys[i]),
        numbers("value", `value of ${place}`, state.values[i])),
    );
  };

  const inputs = make("div", { class: "inputs" });
  const steps = make("div", { class: "steps" });
  const says = make("p", { class: "says", role: "status" });

  const reset = () => {
    state = structuredClone(given);
    state.sees = state.words.map(() => true);
    state.scaled = true;
    complaints.clear();
    const width = state.query.length;
    inputs.replaceChildren(
      make("div", { class: "asks" },
        numbers("query", "query", state.query),
        box(true, ({ target }) => {
          state.scaled = target.checked;
          show();
        }, `divide by \u221ad = \u221a${width} = ${typed(Number(Math.sqrt(width).toFixed(3)))}`)),
      ...state.words.map((_, i) => row(i)),
    );
    show();
  };

  // --- what is shown

  const head = (text) => make("th", { scope: "row" }, text);
  const cell = (kind, ...content) => make("td", { class: kind }, ...content);
  const step = (i, name, what, rows, foot, columns) => {
    const table = make("table", {},
      make("caption", {}, make("b", {}, String(i)), name, make("span", {}, ` \u2013 ${what}`)));
    if (columns) {
      table.append(make("thead", {}, make("tr", {},
        ...columns.map(([kind, text]) => make("th", { scope: "col", class: kind }, text)))));
    }
    table.append(make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells))));
    if (foot) table.append(make("tfoot", {}, make("tr", {}, ...foot)));
    return table;
  };
  const factor = (x) => (x < 0 ? `(${typed(x)})` : typed(x));
  const list = (names) =>
    names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

  const show = () => {
    const at = compute(state);
    const names = state.words.map((word, i) => word.trim() || `word ${i + 1}`);
    const each = (cells) => names.map((name, i) => [head(name), ...cells(i)]);
    const products = column(at.products);
    const finite = at.scores.map((score) => (score === -Infinity ? 0 : score));
    const scores = column(finite).map((text, i) => (state.sees[i] ? text : "\u2212\u221e"));
    const powers = column(at.powers);
    const weights = column(at.weights);
    const parts = vectors([...at.parts, at.output]);
    const divisor = typed(Number(at.divisor.toFixed(3)));
    const value = (i) => `(${state.values[i].map(typed).join(", ")})`;
    steps.replaceChildren(
      step(1, "Score", "query \u00b7 key", each((i) => [
        cell("how", state.query.map((x, j) => `${typed(x)}\u00b7${factor(state.keys[i][j])}`).join(" + "), " ="),
        cell("number", products[i]),
      ])),
      step(2, "Scale", state.scaled ? "divide by \u221ad" : "left out", each((i) => [
        state.sees[i]
          ? cell("how", state.scaled ? `${products[i]} \u00f7 ${divisor} =` : "")
          : cell("how masked", "masked:"),
        cell("number", scores[i]),
      ])),
      step(3, "Softmax", "shares of 1", each((i) => [
        cell("number", "e", make("sup", {}, scores[i]), ` = ${powers[i]}`),
        cell("number", weights[i]),
        cell("bar", make("span", { style: `width: ${100 * at.weights[i]}%` })),
      ]), [
        head("sum"),
        cell("number", shown(at.total)),
        cell("number", at.total ? "1" : "0"),
        cell("bar"),
      ], [["", "word"], ["number", "power"], ["number", "\u00f7 sum"], ["bar", "weight"]]),
      step(4, "Weighted sum", "weight \u00b7 value", each((i) => [
        cell("how", `${weights[i]} \u00b7 ${value(i)} =`),
        cell("number", parts[i]),
      ]), [head("output"), cell("how"), cell("number", parts.at(-1))]),
    );
    const most = Math.max(...at.weights);
    const first = names.filter((_, i) => most - at.weights[i] < 5e-4);
    const output = `(${column(at.output).join(", ")})`;
    says.textContent = [...complaints.values()].join("") + (at.total
      ? `${list(first)} ${first.length > 1 ? "get" : "gets"} the largest weight, ` +
        `${shown(most)}${first.length > 1 ? " each" : ""}. The output is ${output}.`
      : `No word may be looked at: all weights are 0, and the output is ${output}.`);
  };

  live.setAttribute("aria-label", "Attention calculator");
  live.append(
    make("div", { class: "top" },
      make("p", { class: "title" }, "Attention for one word"),
      make("button", { type: "button", onclick: reset }, "Reset")),
    inputs, steps, says,
  );
  reset();
});
