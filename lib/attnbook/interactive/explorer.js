start("explorer", (live, given) => {
  const WIDTHS = [2, 4, 8, 16, 32, 64];
  const BASES = [10, 100, 1000, 10000, 100000, 1000000];
  const MOST_DIALS = 8;
  const last = given.length - 1;
  let state;

  // --- the formulas of attnbook.positions

  const speed = (i) => state.base ** ((-2 * i) / state.d);
  const pairs = () => Array.from({ length: state.d / 2 }, (_, i) => i);
  const vector = (place, ofKey) =>
    pairs().flatMap((i) => {
      const angle = place * speed(i);
      if (state.kind === "sinusoidal") return [Math.sin(angle), Math.cos(angle)];
      // Rotary turns a vector. The query's pairs are (1, 0); so are the key's, or turned by i.
      const [x, y] = ofKey && state.other ? [Math.cos(i), Math.sin(i)] : [1, 0];
      return [
        x * Math.cos(angle) - y * Math.sin(angle),
        x * Math.sin(angle) + y * Math.cos(angle),
      ];
    });
  const product = (query, key) => dot(vector(query, false), vector(key, true));

  // --- what is chosen

  const choose = (key, value) => {
    state[key] = value;
    show();
  };
  const names = (kind, name) => make("span", { class: `name of-${kind}` }, name);
  const slider = (kind, name, low, move) => {
    const at = make("span", { class: "at", "aria-hidden": "true" });
    const input = make("input", {
      type: "range", min: low, max: last, step: 1, class: `of-${kind}`,
      oninput: () => {
        move(input.valueAsNumber);
        show();
      },
    });
    return { input, at, parts: make("label", {}, names(kind, name), input, at) };
  };
  const within = (place) => Math.min(last, Math.max(0, place));
  const places = {
    query: slider("query", "query at place", 0, (place) => (state.query = place)),
    key: slider("key", "key at place", 0, (place) => (state.key = place)),
    // The key stays as long as the query finds a place at this distance.
    distance: slider("distance", "distance", -last, (distance) => {
      state.query = within(state.key + distance);
      state.key = state.query - distance;
    }),
  };
  const move = (by, text) =>
    make("button", {
      type: "button",
      onclick: () => {
        const [low, high] = [Math.min(state.query, state.key), Math.max(state.query, state.key)];
        const step = Math.max(-low, Math.min(last - high, by));
        state.query += step;
        state.key += step;
        show();
      },
    }, text);

  const options = (values, own) => [...new Set([...values, own])].sort((a, b) => a - b);
  const select = (name, values, key) => {
    const element = make("select", {
      onchange: () => choose(key, Number(element.value)),
    }, ...options(values, given[key]).map((x) => make("option", { value: x }, grouped(x))));
    return { element, label: make("label", {}, name, element) };
  };
  const width = select("width d", WIDTHS, "d");
  const base = select("base", BASES, "base");
  // Radio buttons of one group need a name that no other figure on the page has.
  const group = `attnbook-${document.querySelectorAll(".attnbook[data-runs]").length}`;
  const kinds = ["sinusoidal", "rotary"].map((kind) => {
    const input = make("input", {
      type: "radio", name: group, value: kind,
      onchange: () => choose("kind", kind),
    });
    return { kind, input, label: make("label", {}, input, kind) };
  });
  const other = make("input", {
    type: "checkbox",
    onchange: () => choose("other", other.checked),
  });
  const otherLabel = make("label", {}, other, "key is another vector than query");

  const reset = () => {
    state = { ...given, other: false };
    show();
  };

  // --- what is shown

  const strips = make("div", {});
  const dials = make("ul", { class: "dials", role: "list" });
  const dialsHeading = make("p", { class: "heading" });
  const plot = make("div", {});
  const numbers = make("tbody", {});
  const says = make("p", { class: "says", role: "status" });

  const strip = (kind, name, values) => {
    const bars = values.map((value, i) =>
      make("rect", {
        x: i + 0.12, width: 0.76,
        y: value < 0 ? 1 : 1 - value, height: Math.abs(value),
      }));
    return make("div", { class: `strip of-${kind}` }, names(kind, name),
      make("svg", {
        viewBox: `0 0 ${values.length} 2`, preserveAspectRatio: "none", role: "img",
        "aria-label": `${name}: ${values.length} numbers as bars; they are listed below`,
      }, make("line", { class: "middle", x1: 0, x2: values.length, y1: 1, y2: 1 }), ...bars));
  };

  const hand = (kind, x, y) => [
    make("line", { class: `hand of-${kind}`, x1: 0, y1: 0, x2: 40 * x, y2: -40 * y }),
    make("circle", { class: `tip of-${kind}`, cx: 40 * x, cy: -40 * y, r: kind === "key" ? 5 : 7 }),
  ];
  const turn = (i) => {
    const wave = (2 * Math.PI) / speed(i);
    return wave < 100 ? wave.toFixed(1) : grouped(Number(wave.toPrecision(3)));
  };
  const dial = (i, q, k) => {
    const adds = shown(dot(q, k));
    return make("li", {},
      make("svg", { viewBox: "-50 -50 100 100", "aria-hidden": "true" },
        make("circle", { class: "rim", r: 47 }), ...hand("query", ...q), ...hand("key", ...k)),
      make("b", {}, `pair ${i}`),
      make("span", {}, make("span", { class: "unseen" }, ", one turn in "), turn(i),
        make("span", { class: "unseen" }, " places, adds ")),
      make("br"), adds);
  };

  const curve = (distance, now) => {
    const wide = Math.max(240, plot.clientWidth || 600);
    const [left, right, top, high] = [40, wide - 8, 22, 180];
    const all = Array.from({ length: 2 * last + 1 }, (_, i) => i - last);
    // Place 0 is one of the two.
    const products = all.map((n) => product(Math.max(n, 0), Math.max(-n, 0)));
    const [low, most] = [Math.min(0, ...products), Math.max(...products)];
    const across = (n) => left + ((n + last) / (2 * last)) * (right - left);
    const down = (y) => top + ((most - y) / (most - low || 1)) * (high - top);
    const line = all.map((n, i) => `${i ? "L" : "M"}${across(n).toFixed(1)} ${down(products[i]).toFixed(1)}`);
    const tick = (x, y, text, anchor) =>
      make("text", { class: "tick", x, y, "text-anchor": anchor }, text);
    const half = Math.round(last / 2);
    const [x, y] = [across(distance), down(now)];
    plot.replaceChildren(make("svg", {
      viewBox: `0 0 ${wide} 224`, height: 224, role: "img",
      "aria-label": `The dot product over distances from ${sign(String(-last))} to ${last}: ` +
        `from ${shown(Math.min(...products))} to ${shown(most)}, ` +
        `${shown(now)} at distance ${sign(String(distance))}`,
    },
    ...[0, most].map((y) => make("line", { class: "axis", x1: left, x2: right, y1: down(y), y2: down(y) })),
    tick(left - 6, down(0) + 4, "0", "end"),
    tick(left - 6, down(most) + 4, typed(Number(most.toFixed(1))), "end"),
    ...[[-last, "start"], [-half, "middle"], [0, "middle"], [half, "middle"], [last, "end"]].map(
      ([n, anchor]) => tick(across(n), high + 20, sign(String(n)), anchor)),
    tick((left + right) / 2, high + 38, "distance: place of query \u2212 place of key", "middle"),
    make("path", { class: "curve", d: line.join("") }),
    make("line", { class: "here", x1: x, x2: x, y1: top, y2: high }),
    make("circle", { class: "spot", cx: x, cy: y, r: 6 }),
    make("text", {
      class: "value", x: Math.max(left, Math.min(right - 20, x)), y: top - 8,
      "text-anchor": "middle",
    }, shown(now))));
  };

  const draw = () => curve(state.query - state.key, product(state.query, state.key));

  const show = () => {
    const distance = state.query - state.key;
    for (const [key, value] of [["query", state.query], ["key", state.key], ["distance", distance]]) {
      places[key].input.value = value;
      places[key].at.textContent = sign(String(value));
    }
    width.element.value = state.d;
    base.element.value = state.base;
    for (const { kind, input } of kinds) input.checked = kind === state.kind;
    otherLabel.hidden = state.kind !== "rotary";
    other.checked = state.other;

    const [q, k] = [vector(state.query, false), vector(state.key, true)];
    const now = dot(q, k);
    strips.replaceChildren(
      strip("query", "query", q),
      strip("key", "key", k),
      strip("distance", "product", q.map((x, i) => x * k[i])),
    );
    const pair = (i) => [q.slice(2 * i, 2 * i + 2), k.slice(2 * i, 2 * i + 2)];
    const all = pairs();
    const chosen = all.length <= MOST_DIALS
      ? all
      : Array.from({ length: MOST_DIALS }, (_, i) =>
        Math.round((i * (all.length - 1)) / (MOST_DIALS - 1)));
    dialsHeading.replaceChildren(
      state.kind === "rotary" ? "The turned pairs" : "The pairs",
      make("span", {}, (chosen.length < all.length ? ` (${MOST_DIALS} of ${all.length})` : "") +
        " \u2013 places for one whole turn, and what the pair adds to the dot product"));
    dials.replaceChildren(...chosen.map((i) => dial(i, ...pair(i))));
    draw();
    numbers.replaceChildren(...all.map((i) => {
      const [a, b] = pair(i);
      return make("tr", {}, make("th", { scope: "row" }, String(i)),
        ...[turn(i), `(${a.map((x) => shown(x)).join(", ")})`,
          `(${b.map((x) => shown(x)).join(", ")})`, shown(dot(a, b))].map((text) =>
          make("td", {}, text)));
    }));
    const low = Math.min(state.query, state.key);
    // The same distance at the start, or at the end where the places are at the start already.
    const by = low ? -low : last - Math.abs(distance);
    const elsewhere = [state.query + by, state.key + by];
    says.textContent =
      `Query at place ${state.query}, key at place ${state.key}: distance ` +
      `${sign(String(distance))}, dot product ${shown(now)}. ` + (by
        ? `At places ${elsewhere.join(" and ")}, the same distance, it is ${shown(product(...elsewhere))}.`
        : "No other two places are so far apart.");
  };

  const heading = (text, more) =>
    make("p", { class: "heading" }, text, make("span", {}, ` \u2013 ${more}`));
  live.setAttribute("aria-label", "Positions explorer");
  live.append(
    make("div", { class: "top" },
      make("p", { class: "title" }, "Two places"),
      make("button", { type: "button", onclick: reset }, "Reset")),
    make("div", { class: "choices" },
      make("fieldset", { class: "kinds" }, make("legend", { class: "unseen" }, "kind of positions"),
        ...kinds.map(({ label }) => label)),
      width.label, base.label, otherLabel),
    make("div", { class: "sliders" },
      places.query.parts, places.key.parts, places.distance.parts,
      make("div", { class: "moves" }, "Both, at the same distance:",
        move(-1, "one place down"), move(1, "one place up"))),
    make("div", {}, heading("Dot product", "over the distance"), plot),
    make("div", {}, dialsHeading, dials),
    make("div", {}, heading("The vectors", "up is positive, down negative; fast pairs first"), strips),
    make("details", {}, make("summary", {}, "All numbers"),
      make("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "All numbers" },
        make("table", {}, make("thead", {}, make("tr", {},
          ...["pair", "one turn", "query", "key", "adds"].map((text) =>
            make("th", { scope: "col" }, text)))), numbers))),
    says,
  );
  reset();
  // The curve follows the width of the page, so that its text keeps its size.
  new ResizeObserver(draw).observe(plot);
});
