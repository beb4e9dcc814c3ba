import json
import re

import pytest
import torch

from attnbook.attention import attention
from attnbook.interactive.calculator import attention_calculator

QUERY = torch.tensor([1.0, 0, 1, 0])
KEYS = torch.tensor([[0.0, 1, 0, 1], [1, 0, 1, 0], [2, 0, 2, 0]])
VALUES = torch.tensor([[1.0, 0], [0, 1], [1, 1]])
WORDS = ["word 1", "word 2", "word 3"]


def start(figure):
    escaped = re.search(r'data-start="([^"]*)"', figure.data)[1]
    return json.loads(escaped.replace("&quot;", '"'))


def cells(figure):
    """The cells of the still table, row by row, without its head."""
    still = figure.data.partition('<div class="still">')[2].partition("<script>")[0]
    rows = re.findall(r"<tr>(.*)</tr>", still)[1:]
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_the_still_table_is_that_of_the_chapter():
    figure = attention_calculator(QUERY, KEYS, VALUES, WORDS)
    assert cells(figure) == [
        ["word 1", "(0, 1, 0, 1)", "(1, 0)", "0", "0", "1.000", "0.090"],
        ["word 2", "(1, 0, 1, 0)", "(0, 1)", "2", "1", "2.718", "0.245"],
        ["word 3", "(2, 0, 2, 0)", "(1, 1)", "4", "2", "7.389", "0.665"],
    ]
    assert "The output is (0.755, 0.910)." in figure.data
    assert "The output is (0.755, 0.910)." in repr(figure)
    line = "word 2  (1, 0, 1, 0)  (0, 1)            2            1    2.718   0.245"
    assert line in repr(figure)


@pytest.mark.parametrize(("S", "d", "d_v"), [(1, 1, 1), (2, 3, 4), (6, 4, 1), (5, 2, 3)])
def test_the_still_table_shows_what_attention_gives(S, d, d_v):
    query, keys, values = torch.randn(d), torch.randn(S, d), torch.randn(S, d_v)
    figure = attention_calculator(query, keys, values, [f"w{i}" for i in range(S)])
    output, weights = attention(query[None], keys, values)
    shown = [float(row[-1]) for row in cells(figure)]
    torch.testing.assert_close(torch.tensor(shown), weights[0], atol=6e-4, rtol=0)
    said = re.search(r"The output is \((.*?)\)", figure.data)[1].replace("−", "-").split(", ")
    torch.testing.assert_close(torch.tensor([*map(float, said)]), output[0], atol=6e-4, rtol=0)


def test_the_script_starts_from_the_numbers_that_are_given():
    given = start(attention_calculator(QUERY * 0.1, KEYS, VALUES, WORDS))
    assert given["query"] == [0.1, 0, 0.1, 0]  # not 0.10000000149
    assert given["keys"] == KEYS.tolist()
    assert given["values"] == VALUES.tolist()
    assert given["words"] == WORDS


def test_a_second_run_gives_the_same_bytes_of_less_than_40_kB():
    first, second = (attention_calculator(QUERY, KEYS, VALUES, WORDS) for _ in range(2))
    assert first.data == second.data
    assert repr(first) == repr(second)
    assert len(first.data.encode()) < 40_000
    assert not re.search(r"\bid=", first.data)


def test_words_are_text():
    figure = attention_calculator(QUERY, KEYS, VALUES, ["</div><script>", "&", "'"])
    assert figure.data.count("<script>") == 1
    assert figure.data.count("</div>") == 3
    assert start(figure)["words"][0].startswith("&lt;/div&gt;")


@pytest.mark.usefixtures("plain")
class TestRefused:
    def test_sizes_that_do_not_fit(self):
        with pytest.raises(ValueError, match="the last axis of key must be 3"):
            attention_calculator(QUERY[:3], KEYS, VALUES, WORDS)
        with pytest.raises(ValueError, match="one value a key"):
            attention_calculator(QUERY, KEYS, VALUES[:2], WORDS)
        with pytest.raises(ValueError, match="one word a key: 2 words, 3 keys"):
            attention_calculator(QUERY, KEYS, VALUES, WORDS[:2])
        with pytest.raises(ValueError, match=r"query must have 1 axis, but its shape is \(1, 4\)"):
            attention_calculator(QUERY[None], KEYS, VALUES, WORDS)

    def test_what_has_no_room(self):
        with pytest.raises(ValueError, match="the number of words must be 1 … 6, not 7"):
            attention_calculator(QUERY, torch.ones(7, 4), torch.ones(7, 2), ["w"] * 7)
        with pytest.raises(ValueError, match="the width of query and keys must be 1 … 4, not 5"):
            attention_calculator(torch.ones(5), torch.ones(3, 5), VALUES, WORDS)
        with pytest.raises(ValueError, match="the width of values must be 1 … 4, not 5"):
            attention_calculator(QUERY, KEYS, torch.ones(3, 5), WORDS)

    @pytest.mark.parametrize("bad", [9.5, -10.0, float("nan"), float("inf")])
    @pytest.mark.parametrize("name", ["query", "keys", "values"])
    def test_numbers_out_of_range(self, name, bad):
        given = {"query": QUERY.clone(), "keys": KEYS.clone(), "values": VALUES.clone()}
        given[name].view(-1)[-1] = bad
        with pytest.raises(ValueError, match=f"{name} must lie in -9 … 9, not"):
            attention_calculator(**given, words=WORDS)

    def test_kinds(self):
        with pytest.raises(TypeError, match="query must hold floating-point numbers"):
            attention_calculator(QUERY.long(), KEYS, VALUES, WORDS)
        with pytest.raises(TypeError, match="words must be a list of strings, not 'abc'"):
            attention_calculator(QUERY, KEYS, VALUES, "abc")
        with pytest.raises(TypeError, match="words must be a list of strings"):
            attention_calculator(QUERY, KEYS, VALUES, ["a", "b", 3])
