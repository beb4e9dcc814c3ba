"""Interactive figures: a cell's output that readers can change, in plain JavaScript.

Each figure is one Python file, which hands over the starting numbers and draws the still picture,
and a script and a style sheet of the same name beside it. `base.js` and `base.css` are shared.
"""
