"""The explorers, as readers use them: opened, typed into, drawn on, by keys alone, on a phone.

What they say is compared with what the library computes with the same weights.
"""

from __future__ import annotations

import re

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from attnbook import blank_filling, pronouncing, trained, writing
from attnbook.decoding.one_by_one import greedy
from attnbook.decoding.steps import GPTStep
from attnbook.trained import bert_sotu, gpt_shakespeare, letters_to_phones, vit_mnist5k
from browser import SITE

PAGE = "book/explorers.html"
NAMES = ("letters_to_phones", "bert_sotu", "gpt_shakespeare", "vit_mnist5k")


def opened(page: Page, name: str):
    root = page.locator(f"#{name}")
    root.locator(".start").click()
    root.locator(".live").wait_for()
    return root


def rows(table) -> list[list[str]]:
    return [row.locator("th, td").all_text_contents() for row in table.locator("tbody tr").all()]


def shares(root) -> torch.Tensor:
    cells = [row[1:] for row in rows(root.locator("table.attention"))]
    return torch.tensor([[float(x) for x in row] for row in cells])


def test_nothing_is_fetched_before_it_is_opened(visit):
    visitor = visit()
    requests = []
    visitor.page.on("request", lambda request: requests.append(request.url))
    page = visitor.goto(PAGE)
    assert not [url for url in requests if "models/" in url or "engine/" in url]
    opened(page, "vit_mnist5k")
    assert [url for url in requests if url.endswith("models/vit_mnist5k.safetensors")]
    assert not [url for url in requests if "models/" in url and "vit_mnist5k" not in url]
    assert visitor.errors == visitor.foreign == visitor.failed == []


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


def test_a_row_is_reached_by_keys_and_said_in_words(visit):
    page = visit().goto(PAGE)
    root = opened(page, "letters_to_phones")
    buttons = root.locator("table.attention button")
    buttons.last.focus()
    page.keyboard.press("ArrowUp")
    assert buttons.nth(-2).evaluate("button => button === document.activeElement")
    assert re.fullmatch(
        r"N looks at n \d+ %(, \S+ [\d.]+ %)*\.", root.locator(".says").text_content()
    )


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


def test_a_link_brings_the_same_view(visit):
    page = visit().goto(PAGE)
    root = opened(page, "letters_to_phones")
    root.get_by_label("Word").fill("through")
    root.get_by_label("Word").press("Enter")
    root.get_by_label("Head").select_option("2")
    said, address = root.locator(".answer").text_content(), page.url
    other = visit()
    other.page.goto(address)
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
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.8, steps=8)
    page.mouse.up()
    ink = re.search(r"ink=(\d+)", page.url)[1]
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


def test_each_model_is_small():
    for name in NAMES:
        assert (SITE / "explorers" / "models" / f"{name}.safetensors").stat().st_size <= 3_000_000
