import functools
from pathlib import Path

import pytest
import torch
from IPython.display import Markdown

import attnbook
from attnbook import attention, layers, masks, positions
from attnbook.show import show, table

LIBRARY = Path(attnbook.__file__).parent


def code(shown):
    place, _, rest = shown.data.partition("\n\n")
    assert rest.startswith("```python\n")
    assert rest.endswith("\n```")
    return place, rest.removeprefix("```python\n").removesuffix("\n```")


@pytest.mark.parametrize(
    ("obj", "file", "first", "last"),
    [
        (attention.attention, "attention.py", "def attention(", "# (…, T, d_v), (…, T, S)"),
        (masks.causal, "masks.py", "def causal(", "tril(diagonal=S - T)"),
        (layers.EncoderLayer, "layers.py", "class EncoderLayer(nn.Module):", "return x, weights"),
        (positions.RotaryPositions, "positions.py", "class RotaryPositions(", "-> (B, H, T, d)"),
    ],
)
def test_shows_the_text_of_the_file(obj, file, first, last):
    place, source = code(show(obj))
    assert place == f"`attnbook/{file}`"
    assert source in (LIBRARY / file).read_text(encoding="utf-8")
    assert source.startswith(first)
    assert source.endswith(last)


@pytest.mark.parametrize("name", ["forward", "_split"])
def test_a_method_is_dedented(name):
    place, source = code(show(getattr(attention.MultiHeadAttention, name)))
    assert place == "`attnbook/attention.py`"
    assert source.startswith(f"def {name}(")
    indented = "\n".join(f"    {line}" if line else "" for line in source.splitlines())
    assert indented in (LIBRARY / "attention.py").read_text(encoding="utf-8")


def test_a_method_of_an_object_and_a_wrapped_function():
    module = attention.MultiHeadAttention(4, 2)
    assert show(module.forward).data == show(attention.MultiHeadAttention.forward).data
    cached = functools.cache(masks.causal)
    assert show(cached).data == show(masks.causal).data


@pytest.mark.usefixtures("plain")
class TestRefused:
    @pytest.mark.parametrize("obj", [3, "text", None, len, torch.zeros(1), int])
    def test_what_has_no_source(self, obj):
        with pytest.raises(TypeError, match="obj must be a function, class or method, not"):
            show(obj)

    def test_an_object_of_a_class(self):
        with pytest.raises(TypeError, match="obj must be a function, class or method, not"):
            show(attention.MultiHeadAttention(4, 2))

    def test_what_is_defined_elsewhere(self):
        def mine():
            """Not of the library."""

        with pytest.raises(TypeError, match=r"defined in attnbook, but .*mine is .*test_show\.py"):
            show(mine)
        with pytest.raises(TypeError, match=r"in attnbook, but Linear is defined in linear\.py"):
            show(torch.nn.Linear)


def test_table():
    shown = table(["model", "n", "accuracy"], [["one word", 1, 0.81256], ["window", 12, 0.9]])
    assert isinstance(shown, Markdown)
    assert shown.data.splitlines() == [
        "| model | n | accuracy |",
        "| :-- | --: | --: |",
        "| one word | 1 | 0.813 |",
        "| window | 12 | 0.900 |",
    ]


def test_a_column_with_text_in_it_stands_left():
    shown = table(("x", "y"), [(0.5, 1), ("none", 2)])
    assert shown.data.splitlines()[1:] == ["| :-- | --: |", "| 0.500 | 1 |", "| none | 2 |"]


def test_a_bar_or_a_line_end_in_a_cell_does_not_break_the_table():
    shown = table(["p(a|b)"], [["|"], [r"\|"], ["`a|b`"], ["one\ntwo"]])
    assert shown.data.splitlines() == [
        r"| p(a\|b) |",
        "| :-- |",
        r"| \| |",
        r"| \| |",
        r"| `a\|b` |",
        "| one two |",
    ]


def test_a_table_without_rows():
    assert table(["x"], []).data == "| x |\n| :-- |"


@pytest.mark.parametrize("row", [[1], [1, 2, 3], []])
def test_a_row_of_another_length_is_refused(row, plain):
    with pytest.raises(ValueError, match=f"each row must have 2 cells, not {len(row)}"):
        table(["a", "b"], [[1, 2], row])


def test_several_objects_follow_one_another():
    one, two = attention.attention, attention.fused_attention
    both = show(one, two).data
    assert both == f"{show(one).data}\n\n{show(two).data}"
    with pytest.raises(TypeError, match="at least one"):
        show()
