// A box that scrolls must be reachable by the keyboard. The theme sees to code and tables. Formulas
// get their width late, from MathJax, so they are looked at when it is done.
(() => {
  const mark = () => {
    for (const box of document.querySelectorAll("div.math, mjx-container[display]")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  window.addEventListener("load", async () => {
    await window.MathJax?.startup?.promise;
    mark();
    window.addEventListener("resize", mark);
  });

  // The references are marked up as a list whose entries have a role of their own, which screen
  // readers do not take for entries of a list.
  document.addEventListener("DOMContentLoaded", () => {
    for (const entry of document.querySelectorAll("[role=list] > [role=doc-biblioentry]")) {
      entry.setAttribute("role", "listitem");
    }
  });
})();
