// A box that scrolls must be reachable by the keyboard. The theme sees to code and tables;
// formulas get their width late, from MathJax, so they are looked at when it is done.
