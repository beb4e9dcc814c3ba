"""The explorers, as readers use them: opened, typed into, drawn on, by keys alone, on a phone.

What they say is compared with what the library computes with the same weights.
"""

from __future__ import annotations

import itertools
import json
import re

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from attnbook import blank_filling, guessing, pronouncing, trained, writing
from attnbook.decoding.one_by_one import greedy
from attnbook.decoding.steps import GPTStep
from attnbook.rollout import attention_rollout
from attnbook.trained import (
    bert_sotu,
    cbow_sotu,
    gpt_shakespeare,
    letters_to_phones,
    vit_mnist5k,
)
from browser import SITE
from toc import source

PAGE = "book/explorers.html"
CHAPTERS = {
    "cbow_sotu": "book/01_embeddings",
    "letters_to_phones": "book/10_cross_attention",
    "bert_sotu": "book/12_bert_pretraining",
    "gpt_shakespeare": "book/14_gpt",
    "vit_mnist5k": "book/16_vit",
}
NAMES = tuple(CHAPTERS)
ANSWER = 0.3  # seconds


def opened(page: Page, name: str):
    root = page.locator(f"#{name}")
    root.locator(".start").click()
    root.locator(".live").wait_for()
    return root


def address(page: Page) -> str:
    """The address that the page shows now; `page.url` is told of a change a moment later."""
    return page.evaluate("location.href")


def rows(table) -> list[list[str]]:
    return [row.locator("th, td").all_text_contents() for row in table.locator("tbody tr").all()]


def shares(root) -> torch.Tensor:
    cells = [row[1:] for row in rows(root.locator("table.attention"))]
    return torch.tensor([[float(x) for x in row] for row in cells])


@pytest.mark.parametrize("name", NAMES)
def test_each_stands_in_its_chapter(visit, name):
    visitor = visit()
    page = visitor.goto(f"{CHAPTERS[name]}.html")
    roots = page.locator("[data-explorer]")
    assert roots.evaluate_all("roots => roots.map((r) => [r.id, r.dataset.explorer])") == [
        [name, name]
    ]
    assert page.locator(f"#{name}").count() == 1
    assert "On the website of the book you can" not in page.locator("article").text_content()
    root = opened(page, name)
    root.locator(".live :is(input, canvas, textarea)").first.wait_for()
    assert visitor.errors == visitor.foreign == visitor.failed == []


@pytest.mark.parametrize("name", NAMES)
def test_elsewhere_than_on_the_site_a_line_says_where_it_is(name):
    cells = json.loads(source(CHAPTERS[name]).read_text(encoding="utf-8"))["cells"]
    text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    [line] = re.findall(rf'^<div class="explorer" data-explorer="{name}">(.*)</div>$', text, re.M)
    assert line.startswith("On the website of the book you can ")


def spent(session) -> float:
    """Seconds of the processor that the page's thread has worked."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(m["value"] for m in metrics if m["name"] == "TaskDuration")


@pytest.mark.parametrize("name", NAMES)
def test_the_first_answer_comes_at_once(visit, name):
    """In seconds of the processor, from the press of the button: more than the answer alone.

    On a machine that is shared the time on the clock says how long the page waited for its turn.
    """
    costs = []
    for _ in range(3):
        page = visit().goto(PAGE)
        page.wait_for_load_state("networkidle")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = spent(session)
        page.locator(f"#{name} .start").click()
        answers = f"performance.getEntriesByName('{name}: first answer')"
        page.wait_for_function(f"{answers}.length")
        costs.append(spent(session) - before)
        clock = page.evaluate(f"{answers}[0].duration") / 1000
        print(f"{name}: {costs[-1]:.3f} s of the processor, {clock:.3f} s on the clock")
    assert 0 < min(costs) <= ANSWER


def neighbours(root) -> list[tuple[str, float]]:
    return [(row[1], float(row[3])) for row in rows(root.locator("table.neighbours"))]


@pytest.mark.parametrize("typed", ["october", "  Peace ", "1862", "UNKNOWN"])
def test_neighbours_are_those_of_the_library(visit, typed):
    vocabulary = cbow_sotu.load().vocabulary
    vectors = trained.load(cbow_sotu.RECIPE).tokens.weight.detach()
    root = opened(visit().goto(PAGE), "cbow_sotu")
    root.get_by_role("textbox").fill(typed)
    root.get_by_role("textbox").press("Enter")
    word = typed if typed == "UNKNOWN" else guessing.plain_words(typed)[0]
    cosines = torch.nn.functional.cosine_similarity(vectors[vocabulary.index(word)], vectors)
    values, ids = cosines.topk(11)  # the first is the word itself
    found = neighbours(root)
    assert [name for name, _ in found] == [vocabulary[i] for i in ids[1:]]
    assert [x for _, x in found] == pytest.approx(values[1:].tolist(), abs=5.1e-3)
    assert f"nearest to {found[0][0]} ({found[0][1]:.2f})" in root.locator(".answer").text_content()
    assert word in root.locator("svg").get_attribute("aria-label")


def test_the_map_is_that_of_the_library(visit):
    vocabulary = cbow_sotu.load().vocabulary
    vectors = trained.load(cbow_sotu.RECIPE).tokens.weight.detach()
    drawn = [word for words in guessing.GROUPS.values() for word in words[: guessing.DRAWN]]
    ids = torch.tensor([vocabulary.index(word) for word in drawn])
    flat = guessing.flattened(vectors, ids)
    root = opened(visit().goto(PAGE), "cbow_sotu")
    discs = root.locator(".near circle").evaluate_all(
        """circles => circles.map((c) => [
            c.parentElement.querySelector("title").textContent,
            Number(c.getAttribute("cx")), -Number(c.getAttribute("cy"))])"""
    )
    assert sorted(name for name, *_ in discs) == sorted(name for name, _ in neighbours(root))
    there = flat[[vocabulary.index(name) for name, *_ in discs]]
    here = torch.tensor([place for _, *place in discs])
    moved, wanted = here - here.mean(dim=0), there - there.mean(dim=0)
    scale = moved.norm() / wanted.norm()  # the drawing is shifted and stretched, nothing else
    torch.testing.assert_close(moved / scale, wanted, atol=1e-3, rtol=0)


def test_from_word_to_word_by_keys_and_by_the_map(visit):
    page = visit().goto(PAGE)
    root = opened(page, "cbow_sotu")
    second, _ = neighbours(root)[1]
    button = root.locator("table.neighbours button").nth(1)
    button.focus()
    expect(root.locator(".near.pointed title")).to_have_text(second)
    page.keyboard.press("Enter")
    assert root.locator(".answer strong").text_content() == second
    assert root.get_by_role("textbox").input_value() == second
    assert page.evaluate("document.activeElement.closest('table.neighbours') !== null")
    assert f"word={second}" in address(page)
    country = root.locator(".group-2 rect, .group-2 path").first
    country.click()
    assert root.locator(".answer strong").text_content() in guessing.GROUPS["countries"]


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "Type a word."),
        (" ?! ", "Type a word."),
        ("two words", "Type one word."),
        ("zyzzyva", "“zyzzyva” is not among the 3999 commonest words."),
        ("x" * 200, "is not among"),
        ("<b>constructor</b>", "Type one word."),
        ("constructor", "“constructor” is not among"),
    ],
)
def test_what_has_no_neighbours(visit, typed, says):
    root = opened(visit().goto(PAGE), "cbow_sotu")
    root.get_by_role("textbox").fill(typed)
    root.get_by_role("button", name="Find neighbours").click()
    assert says in root.locator(".answer").text_content()
    assert not root.locator("svg").is_visible()


@pytest.mark.parametrize("word", ["attention", "blick"])
def test_a_word_is_said_as_the_library_says_it(visit, word):
    model = trained.load(letters_to_phones.RECIPE)
    root = opened(visit().goto(PAGE), "letters_to_phones")
    root.get_by_label("Word").fill(word)
    root.get_by_label("Word").press("Enter")
    letters = pronouncing.letter_ids([word])
    [ids] = pronouncing.greedy_phonemes(model, letters)
    names = pronouncing.phoneme_names(ids)
    assert root.locator(".answer").text_content() == f"{word} → {' '.join(names)}"
    target = torch.tensor([[pronouncing.BOS, *ids]])
    with torch.inference_mode():
        _, _, cross = model(letters, target, need_weights=True)
    last = cross[-1][0]  # (H, T, S)
    torch.testing.assert_close(shares(root), last.mean(dim=0), atol=5.1e-3, rtol=0)
    root.get_by_label("Layer").select_option("1")
    root.get_by_label("Head").select_option("3")
    torch.testing.assert_close(shares(root), cross[0][0, 2], atol=5.1e-3, rtol=0)


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_rows_come_one_after_the_other_unless_motion_is_unwanted(browser, site, motion):
    page = browser.new_page(reduced_motion=motion)
    page.goto(f"{site}/{PAGE}")
    root = opened(page, "letters_to_phones")
    asked = """turns => turns.map((turn) => {
        const style = getComputedStyle(turn);
        return [style.animationName, parseFloat(style.animationDelay)];
    })"""
    for turns in (root.locator("table.attention tbody tr"), root.locator(".answer .turn")):
        names, delays = zip(*turns.evaluate_all(asked), strict=True)
        if motion == "reduce":
            assert set(names) == {"none"}
        else:
            assert set(names) == {"turn"}
            assert all(a < b for a, b in itertools.pairwise(delays))
    # Whoever changes the head does not wait again.
    root.get_by_label("Head").select_option("1")
    assert root.locator("table.attention tbody tr").first.evaluate(
        "row => getComputedStyle(row).animationName"
    ) == ("none")
    page.close()


def test_a_row_is_touched(browser, site):
    context = browser.new_context(
        viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True,
        reduced_motion="reduce",
    )  # fmt: skip
    page = context.new_page()
    page.goto(f"{site}/{PAGE}")
    root = page.locator("#letters_to_phones")
    root.locator(".start").tap()
    root.locator(".live").wait_for()
    row = root.locator("table.attention tbody tr").nth(2)
    name = row.locator("th").text_content()
    row.locator("td").nth(1).tap()
    assert row.get_attribute("class") == "turn pointed"
    assert root.locator(".says").text_content().startswith(f"{name} looks at ")
    context.close()


def test_a_row_is_reached_by_keys_and_said_in_words(visit):
    page = visit().goto(PAGE)
    root = opened(page, "letters_to_phones")
    buttons = root.locator("table.attention button")
    buttons.last.focus()
    page.keyboard.press("ArrowUp")
    expect(buttons.nth(-2)).to_be_focused()
    says = root.locator(".says")
    expect(says).to_have_text(re.compile(r"^N looks at n \d+ %(, \S+ [\d.]+ %)*\.$"))
    # The page moves below a pointer that rests: a browser then says that it entered another row.
    root.locator("table.attention tbody tr").first.dispatch_event("pointerenter")
    assert says.text_content().startswith("N looks at ")


def test_every_head_is_seen_at_a_glance(visit):
    page = visit().goto(PAGE)
    root = opened(page, "letters_to_phones")
    chosen = root.get_by_label("Head")
    root.get_by_label("Layer").select_option(index=1)
    small = root.locator(".heads button")
    # How opaque each pixel is: one for each cell of the table.
    pictures = small.locator("canvas").evaluate_all(
        """all => all.map((c) => Array.from(
            c.getContext("2d").getImageData(0, 0, c.width, c.height).data
        ).filter((_, i) => i % 4 === 3))"""
    )
    assert len(pictures) == 4
    for head, picture in enumerate(pictures):
        chosen.select_option(index=head + 1)
        there = torch.tensor(picture).view_as(shares(root)) / 255
        torch.testing.assert_close(there, shares(root), atol=1e-2, rtol=0)
    small.nth(2).click()
    expect(chosen).to_have_value("2")
    expect(small.nth(2)).to_be_focused()
    expect(small.nth(2)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    expect(chosen).to_have_value("mean")
    expect(small.nth(2)).to_have_attribute("aria-pressed", "false")


@pytest.mark.parametrize(("layer", "head"), [("rollout", None), ("2", "mean"), ("1", "3")])
def test_where_the_digit_was_looked_at_is_said(visit, layer, head):
    model = trained.load(vit_mnist5k.RECIPE)
    ink = "".join("9" if 300 <= i < 310 or i % 28 == 14 else "0" for i in range(28 * 28))
    visitor = visit()
    page = visitor.goto(f"{PAGE}#vit_mnist5k?ink={ink}")  # such a link opens it
    root = page.locator("#vit_mnist5k")
    root.locator(".live").wait_for()
    looks, heads = (root.get_by_label(name) for name in ("Where it looked", "Head"))
    looks.select_option(label=layer if head else "all layers (rollout)")
    if head:
        heads.select_option(label="mean of all" if head == "mean" else head)
    else:
        assert heads.is_disabled()
    image = torch.tensor([int(c) / 9 for c in ink]).view(1, 1, 28, 28)
    with torch.inference_mode():
        weights = model(image, need_weights=True)[1]
    if layer == "rollout":
        took = attention_rollout(weights)[0, 0, 1:]
    else:
        of_layer = weights[int(layer) - 1][0]  # (H, T, T)
        took = (of_layer.mean(dim=0) if head == "mean" else of_layer[int(head) - 1])[0, 1:]
    place = int(took.argmax())
    n = int(len(took) ** 0.5)
    first = re.search(r"\((\d+), (\d+)\) ([\d.]+) %", root.locator(".says").text_content())
    assert (int(first[1]), int(first[2])) == (place // n + 1, place % n + 1)
    assert float(first[3]) == pytest.approx(100 * float(took[place]), abs=0.51)
    other = visit()
    other.page.goto(address(page))
    shared = other.page.locator("#vit_mnist5k")
    shared.locator(".live").wait_for()
    assert shared.locator(".says").text_content() == root.locator(".says").text_content()
    looks.select_option(label="do not show")
    assert root.locator(".says").text_content() == ""
    assert visitor.errors == []


@pytest.mark.parametrize(("typed", "says"), [("", "Type a word."), ("naïve", "knows no ï")])
def test_what_the_speller_does_not_know(visit, typed, says):
    root = opened(visit().goto(PAGE), "letters_to_phones")
    root.get_by_label("Word").fill(typed)
    root.get_by_role("button", name="Say it").click()
    assert says in root.locator(".answer").text_content()


def test_a_blank_is_filled_as_the_library_fills_it(visit):
    model, tokenizer = trained.load(bert_sotu.RECIPE), blank_filling.load_tokenizer()
    root = opened(visit().goto(PAGE), "bert_sotu")
    root.get_by_label("Sentence").fill("We thank our brave Soldiers, unquestionably.")
    root.get_by_role("button", name="Read it").click()
    words = root.locator(".tokens button")
    pieces = tokenizer.tokens(
        tokenizer(["We thank our brave Soldiers, unquestionably."])["input_ids"][0].tolist()
    )
    assert words.all_text_contents() == pieces[1:-1]  # the same cut
    words.nth(4).click()
    hidden = tokenizer([" ".join([*pieces[1:5], "[MASK]"])])["input_ids"][:, :6]
    ids = torch.cat((hidden, torch.tensor([[tokenizer.vocab[p] for p in pieces[6:]]])), dim=1)
    with torch.inference_mode():
        found = model.masked(model.bert(ids)[0])[0, 5].softmax(dim=-1).topk(5)
    table = rows(root.locator(".bars"))
    assert [row[0] for row in table] == tokenizer.tokens(found.indices.tolist())
    percents = torch.tensor([float(row[2].removesuffix(" %")) for row in table])
    torch.testing.assert_close(percents / 100, found.values, atol=5.1e-3, rtol=0)


def test_text_is_written_as_the_library_writes_it(visit):
    model, task = trained.load(gpt_shakespeare.RECIPE), writing.load()
    root = opened(visit().goto(PAGE), "gpt_shakespeare")
    root.get_by_text("characters in").wait_for()
    root.get_by_label("Beginning").fill("Thou art")
    root.get_by_label("Temperature").fill("0")
    root.get_by_role("button", name="Write").click()
    root.get_by_role("button", name="Write").wait_for()  # it says Stop while it writes
    ids = task.tokenizer(["Thou art"], add_special_tokens=False)["input_ids"]
    prompt = torch.cat((torch.full((1, 1), task.bos), ids), dim=1)
    written = greedy(GPTStep(model), prompt, max_new=60)[0]
    wanted = "Thou art" + task.tokenizer.decode(written.tolist())
    assert root.locator(".written").text_content()[: len(wanted)] == wanted


def test_the_speed_of_writing_is_said(visit):
    root = opened(visit().goto(PAGE), "gpt_shakespeare")
    said = root.get_by_text("characters in")
    said.wait_for()
    many, seconds, speed = re.fullmatch(
        r"(\d+) characters in ([\d.]+) s, (\d+) a second\.", said.text_content()
    ).groups()
    written = root.locator(".written").text_content()
    assert int(many) == len(written) - len("To be, or not to be")
    # Both are rounded: the seconds to a tenth, the speed to a whole number.
    slowest, fastest = (int(many) / (float(seconds) + half) for half in (0.05, -0.05))
    assert slowest - 0.5 <= int(speed) <= fastest + 0.5


def test_two_explorers_and_quick_presses(visit):
    visitor = visit()
    page = visitor.goto(PAGE)
    page.locator("#cbow_sotu .start").dblclick()
    page.locator("#gpt_shakespeare .start").click()
    words = page.locator("#cbow_sotu")
    words.locator(".live").wait_for()
    for _ in range(8):
        words.locator("table.neighbours button").nth(3).click()
    assert words.locator(".live").count() == 1
    assert len(neighbours(words)) == 10
    page.get_by_text("characters in").wait_for()
    assert visitor.errors == []


def test_a_link_brings_the_same_view(visit):
    page = visit().goto(PAGE)
    root = opened(page, "letters_to_phones")
    root.get_by_label("Word").fill("through")
    root.get_by_label("Word").press("Enter")
    root.get_by_label("Head").select_option("2")
    said, link = root.locator(".answer").text_content(), address(page)
    other = visit()
    other.page.goto(link)
    shared = other.page.locator("#letters_to_phones")
    shared.locator(".live").wait_for()
    assert shared.locator(".answer").text_content() == said
    assert shared.get_by_label("Head").input_value() == "1"
    torch.testing.assert_close(shares(shared), shares(root))


def test_a_digit_drawn_by_mouse_and_one_by_keys(visit):
    model = trained.load(vit_mnist5k.RECIPE)
    page = visit().goto(PAGE)
    root = opened(page, "vit_mnist5k")
    root.get_by_role("button", name="Clear").click()
    assert root.locator(".answer").text_content() == "Draw a digit from 0 to 9."
    canvas = root.locator("canvas")
    canvas.hover(position={"x": 140, "y": 56})  # waits until it stands still
    page.mouse.down()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 140, box["y"] + 224, steps=8)
    page.mouse.up()
    page.wait_for_function("/ink=\\d/.test(location.hash)")
    ink = re.search(r"ink=(\d+)", address(page))[1]
    image = torch.tensor([int(c) / 9 for c in ink.ljust(28 * 28, "0")]).view(1, 1, 28, 28)
    with torch.inference_mode():
        digit = int(model(image)[0].argmax())  # the link holds ten shades: nearly the same
    assert f"It reads {digit}" in root.locator(".answer").text_content()
    canvas.focus()
    page.keyboard.press("Delete")
    page.keyboard.down("Shift")
    for _ in range(12):
        page.keyboard.press("ArrowDown")
    page.keyboard.up("Shift")
    assert "It reads" in root.locator(".answer").text_content()


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_axe_finds_no_fault_and_nothing_leaves_the_window(visit, width, scheme):
    visitor = visit(width, scheme)
    page = visitor.goto(PAGE)
    for name in NAMES:
        opened(page, name)
    page.get_by_text("characters in").wait_for()
    # Before axe, which looks for style sheets on its own.
    assert visitor.failed == visitor.foreign == visitor.errors == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page).response["violations"]
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    assert [(v["id"], v["nodes"][0]["html"][:120]) for v in serious] == []


def test_from_a_folder_of_files_it_says_why_there_is_a_picture_only(browser):
    page = browser.new_page()
    page.goto((SITE / PAGE).as_uri())
    root = page.locator("#letters_to_phones")
    root.locator(".start").click()
    root.get_by_text("a folder of files").wait_for()
    assert root.locator("img").get_attribute("alt").startswith("Attention map")
    page.close()


@pytest.mark.parametrize("missing", ["**/*.safetensors", "**/models/*.json", "**/page.js"])
def test_what_cannot_be_fetched_is_said_and_the_picture_stays(visit, missing):
    visitor = visit()
    page = visitor.page
    page.route(missing, lambda route: route.fulfill(status=404, body="Not found"))
    visitor.goto(PAGE)
    root = page.locator("#bert_sotu")
    root.locator(".start").click()
    root.get_by_text("could not be fetched").wait_for()
    assert root.locator(".live, progress").count() == 0
    assert root.locator("img").evaluate("img => img.complete && img.naturalWidth > 0")
    # The others on the page are as they were.
    page.unroute(missing)
    assert page.locator(".start").count() == len(NAMES) - 1


def test_each_model_is_small():
    for name in NAMES:
        assert (SITE / "explorers" / "models" / f"{name}.safetensors").stat().st_size <= 3_000_000
