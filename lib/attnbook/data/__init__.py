"""Real data sets, pinned and checked: `fetch` brings them, and each has a module of its own."""
