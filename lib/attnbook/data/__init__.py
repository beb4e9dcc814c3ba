"""Real data sets, pinned and checked: `sources` lists them, `fetch` brings them, one module each."""
