"""What a page weighs, and how soon it can be read, before a reader opens anything on it."""

from __future__ import annotations

import pytest

from toc import PAGES

WEIGHT = 1_500_000  # bytes that come over the line; text comes compressed: see tools/browser.py
READABLE = 2.0  # seconds
# A slow telephone: 1.6 Mbit/s down, 150 ms until an answer begins.
BYTES_A_SECOND, ROUND = 1.6e6 / 8, 0.15
# The connection, the page, its styles, and a style that one of these asks for.
ROUNDS = 4
# What the browser fetches before it paints the first text: the page, and what blocks it.
BLOCKING = """() => [
    performance.getEntriesByType("navigation")[0],
    ...performance.getEntriesByType("resource").filter(r => r.renderBlockingStatus === "blocking"),
].map((entry) => [entry.name, entry.transferSize])"""


@pytest.fixture
def fresh(browser):
    """A page with an empty cache, and a session to ask the browser about the network."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    yield page, network
    context.close()


@pytest.mark.parametrize("page", PAGES)
def test_weight(site, fresh, page):
    opened, network = fresh
    sizes = []
    network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    opened.goto(f"{site}/{page}.html", wait_until="load")
    opened.evaluate(
        "async () => { await window.MathJax?.startup?.promise; await document.fonts.ready }"
    )
    opened.wait_for_load_state("networkidle")
    print(f"{page}: {sum(sizes):,} bytes in {len(sizes)} files")
    assert len(sizes) > 10
    assert sum(sizes) <= WEIGHT


@pytest.mark.parametrize("page", PAGES)
def test_is_soon_readable(site, fresh, page):
    """By what must be there first, not by the clock, which also tells how busy the machine is."""
    opened, _ = fresh
    opened.goto(f"{site}/{page}.html", wait_until="load")
    files = opened.evaluate(BLOCKING)
    assert any(".css" in name for name, _ in files)
    assert all(size > 0 for _, size in files)
    seconds = ROUNDS * ROUND + sum(size for _, size in files) / BYTES_A_SECOND
    print(f"{page}: {seconds:.2f} s for {len(files)} files")
    assert seconds <= READABLE
