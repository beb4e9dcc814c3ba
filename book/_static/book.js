// A box that scrolls must be reachable by the keyboard. The theme sees to code and tables that are
// there from the start. Formulas get their width late, from MathJax, and solutions when opened.
(() => {
  const mark = () => {
    const boxes = "div.math, mjx-container[display], .solution pre";
    for (const box of document.querySelectorAll(boxes)) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  window.addEventListener("load", async () => {
    await window.MathJax?.startup?.promise;
    mark();
    window.addEventListener("resize", mark);
  });
  // What a closed solution holds has no width until it is opened.
  document.addEventListener("click", (event) => {
    if (event.target.closest("button.toggle-button")) requestAnimationFrame(mark);
  });

  // The references are marked up as a list whose entries have a role of their own, which screen
  // readers do not take for entries of a list.
  document.addEventListener("DOMContentLoaded", () => {
    for (const entry of document.querySelectorAll("[role=list] > [role=doc-biblioentry]")) {
      entry.setAttribute("role", "listitem");
    }
  });

  // Paper is white: what is read in dark colours is printed in light ones.
  const colours = document.documentElement.dataset;
  let theme;
  window.addEventListener("beforeprint", () => {
    theme = colours.theme;
    colours.theme = "light";
  });
  window.addEventListener("afterprint", () => {
    colours.theme = theme;
  });

  // An explorer costs nothing until a reader opens it: the model comes with the press of the button.
  document.addEventListener("DOMContentLoaded", () => {
    const site = new URL(document.documentElement.dataset.content_root, location.href);
    for (const root of document.querySelectorAll("[data-explorer]")) {
      const start = document.createElement("button");
      Object.assign(start, { className: "start", textContent: root.dataset.button });
      start.addEventListener("click", async () => {
        start.disabled = true;
        try {
          const page = await import(new URL("explorers/page.js", site));
          await page.open(root);
        } catch {
          start.replaceWith("The model could not be fetched, so that only the picture is here. " +
            "From a folder of files browsers fetch nothing: see this page on a web server.");
        }
      });
      root.prepend(start);
      // A shared link opens its explorer.
      if (location.hash.startsWith(`#${root.dataset.explorer}?`)) {
        start.click();
        root.scrollIntoView();
      }
    }
  });
})();
