import io

import matplotlib.colors
import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from attnbook import plots


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


WEIGHTS = [[0.75, 0.25, 0.0], [0.0, 1.0, 0.0]]


def labels(ticks):
    return [t.get_text() for t in ticks]


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor, "gradient", "bfloat16"])
def test_attention_map_draws_the_weights(kind):
    given = {
        "gradient": lambda w: torch.tensor(w, requires_grad=True),
        "bfloat16": lambda w: torch.tensor(w, dtype=torch.bfloat16),
    }.get(kind, kind)(WEIGHTS)
    fig, ax = plots.attention_map(given, ["a", "b"], ["x", "y", "z"], title="head 1")
    assert fig is ax.figure
    assert np.allclose(ax.images[0].get_array(), WEIGHTS)
    assert ax.images[0].get_clim() == (0, 1)  # maps of different heads compare
    assert labels(ax.get_yticklabels()) == ["a", "b"]
    assert labels(ax.get_xticklabels()) == ["x", "y", "z"]
    assert ax.get_title() == "head 1"
    assert "query" in ax.get_ylabel()
    assert "key" in ax.get_xlabel()


def test_attention_map_writes_the_weights_into_the_cells():
    _, ax = plots.attention_map(WEIGHTS, "ab", "xyz")
    written = {t.get_position(): (t.get_text(), t.get_color()) for t in ax.texts}
    assert written == {
        (0, 0): (".75", "white"),
        (1, 0): (".25", "black"),
        (2, 0): (".00", "black"),
        (0, 1): (".00", "black"),
        (1, 1): ("1", "white"),
        (2, 1): (".00", "black"),
    }
    _, ax = plots.attention_map(WEIGHTS, "ab", "xyz", values=False)
    assert not ax.texts


def test_what_is_no_weight_is_not_written_as_one():
    _, ax = plots.attention_map([[np.nan, 2.5, np.inf, 1.0000001]], "a", "wxyz")
    assert labels(ax.texts) == ["nan", "2.50", "inf", "1"]


def test_tokens_are_no_formulas():
    fig, ax = plots.attention_map([[1.0, 0.0]], ["$x_1$"], ["$$", r"$\frac$"])
    plots.display(fig, alt="a map")  # a formula that cannot be read is an error
    assert labels(ax.get_xticklabels()) == ["$$", r"$\frac$"]
    assert not any(t.get_parse_math() for t in [*ax.get_xticklabels(), *ax.get_yticklabels()])


def test_longer_keys_are_turned_and_single_letters_are_not():
    for keys, angles in ((("ab", "c", "d"), [45] * 3), ("lmn", [0] * 3)):
        _, ax = plots.attention_map(WEIGHTS, "ab", keys)
        assert [text.get_rotation() for text in ax.get_xticklabels()] == angles


def test_the_first_query_stands_on_top():
    _, ax = plots.attention_map(WEIGHTS, "ab", "xyz")
    bottom, top = ax.get_ylim()
    assert bottom > top


@pytest.mark.parametrize("shape", [(3, 2), (2, 2), (6,), (1, 2, 3)])
def test_attention_map_refuses_another_shape(shape, plain):
    with pytest.raises(ValueError, match=r"weights must have the shape .* = \(2, 3\), not \("):
        plots.attention_map(np.zeros(shape), "ab", "xyz")


LENGTHS = {"known": {"word": 0.9, "window": 0.95}, "unknown": {"word": 0.3, "window": 0.55}}


def test_bars_draws_the_lengths():
    fig, ax = plots.bars(LENGTHS, xlabel="accuracy")
    assert fig is ax.figure
    assert [[p.get_width() for p in c] for c in ax.containers] == [[0.9, 0.3], [0.95, 0.55]]
    assert [c.get_label() for c in ax.containers] == ["word", "window"]
    assert labels(ax.get_yticklabels()) == ["known", "unknown"]
    assert labels(ax.texts) == [".90", ".30", ".95", ".55"]
    assert ax.get_xlabel() == "accuracy"
    assert labels(ax.get_legend().get_texts()) == ["word", "window"]
    bottom, top = ax.get_ylim()
    assert bottom > top  # the first group stands on top
    for group in (0, 1):  # side by side around their tick, not over each other
        first, second = (c[group] for c in ax.containers)
        assert first.get_y() + first.get_height() <= second.get_y()
        middle = (first.get_y() + second.get_y() + second.get_height()) / 2
        assert middle == pytest.approx(group)


def test_bars_of_one_series_need_no_legend_and_many_series_no_more_colours():
    assert plots.bars({"a": {"x": 1.0}}, xlabel="x")[1].get_legend() is None
    many = {"a": {str(i): float(i) for i in range(9)}}
    _, ax = plots.bars(many, xlabel="y")
    assert [c[0].get_width() for c in ax.containers] == list(range(9))


def test_bars_next_to_each_other_differ_by_more_than_colour():
    _, ax = plots.bars(LENGTHS, xlabel="y")
    assert len({c[0].get_hatch() for c in ax.containers}) == 2
    assert len({c[0].get_facecolor() for c in ax.containers}) == 2


@pytest.mark.parametrize(
    "lengths", [{}, {"a": {}}, {"a": {"x": 1.0}, "b": {"y": 1.0}}, {"a": {"x": 1}, "b": {}}]
)
def test_bars_refuses_groups_that_differ(lengths, plain):
    with pytest.raises(ValueError, match="each group must have the same series, not"):
        plots.bars(lengths, xlabel="x")


def test_lines_draws_the_curves():
    curves = {"one": ([1.0, 2.0, 4.0], [3.0, 2.0, 1.0]), "two": ([1.0, 8.0], [0.5, 0.25])}
    fig, ax = plots.lines(curves, xlabel="steps", ylabel="loss", log_x=True, log_y=True)
    assert fig is ax.figure
    for line, (name, (x, y)) in zip(ax.lines, curves.items(), strict=True):
        assert line.get_label() == name
        assert line.get_xdata().tolist() == x
        assert line.get_ydata().tolist() == y
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("steps", "loss")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.xaxis.get_transform().base == 2
    assert labels(ax.get_legend().get_texts()) == ["one", "two"]
    assert len({line.get_color() for line in ax.lines}) == 2
    assert len({line.get_marker() for line in ax.lines}) == 2


def test_lines_without_log_legend_or_markers():
    _, ax = plots.lines({"one": ([*map(float, range(99))], [1.0] * 99)}, xlabel="x", ylabel="y")
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "linear")
    assert ax.get_legend() is None
    assert ax.lines[0].get_marker() == "None"
    many = {str(i): ([1.0], [2.0]) for i in range(9)}
    assert len(plots.lines(many, xlabel="x", ylabel="y")[1].lines) == 9


def test_lines_refuses_lengths_that_differ(plain):
    with pytest.raises(ValueError, match="one must have as many x as y, not 2 and 3"):
        plots.lines({"one": ([1, 2], [1, 2, 3])}, xlabel="x", ylabel="y")


def test_each_can_draw_into_axes_that_are_given():
    fig, axes = plt.subplots(1, 3)
    drawn = [
        plots.attention_map(WEIGHTS, "ab", "xyz", ax=axes[0]),
        plots.bars(LENGTHS, xlabel="y", ax=axes[1]),
        plots.lines({"one": ([1.0], [2.0])}, xlabel="x", ylabel="y", ax=axes[2]),
    ]
    assert all(f is fig and a is ax for (f, a), ax in zip(drawn, axes, strict=True))
    assert plt.get_fignums() == [fig.number]


def test_display_is_a_picture_with_its_alternative_text():
    fig, _ = plots.lines({"one": ([1.0, 2.0], [2.0, 3.0])}, xlabel="x", ylabel="y")
    image = plots.display(fig, alt="A rising line.")
    data, metadata = image._repr_mimebundle_()
    assert metadata["image/png"]["alt"] == "A rising line."
    pixels = matplotlib.image.imread(io.BytesIO(image.data))
    assert pixels.shape[1] // 2 == image.width == metadata["image/png"]["width"]
    assert 450 < image.width < 700  # the 6.0 inches, at 100 pixels each, cut to what is drawn
    assert (pixels[0, 0, :3] == 1).all()  # white in dark pages as well
    assert (pixels[..., 3] == 1).all()
    assert "image/png" in data
    assert not plt.fignum_exists(fig.number)


@pytest.mark.parametrize("alt", ["", "  \n"])
def test_display_wants_an_alternative_text(alt):
    with pytest.raises(ValueError, match="alt must say what the picture shows"):
        plots.display(plt.figure(), alt=alt)


def fonts(monkeypatch, *names):
    entries = [type("Font", (), {"name": name}) for name in names]
    monkeypatch.setattr(plots.font_manager.fontManager, "ttflist", entries)


def test_chinese_fonts_of_this_machine_stand_behind_the_latin_one(monkeypatch):
    fonts(monkeypatch, "DejaVu Sans", "PingFang HK", "Noto Sans CJK JP", "Other")
    assert plots.has_chinese()
    with plots.style():
        assert plt.rcParams["font.family"] == ["DejaVu Sans", "Noto Sans CJK JP", "PingFang HK"]
    fonts(monkeypatch, "DejaVu Sans")
    assert not plots.has_chinese()
    with plots.style():
        assert plt.rcParams["font.family"] == ["DejaVu Sans"]


@pytest.mark.skipif(not plots.has_chinese(), reason="no font for Chinese on this machine")
def test_chinese_tokens_are_drawn_without_a_missing_glyph():
    fig, _ = plots.attention_map(WEIGHTS, ["我", "哋"], ["食", "飯", "喇"])
    plots.display(fig, alt="a map")  # a missing glyph is a warning, and so an error


def test_the_style_ends_with_its_block():
    before = plt.rcParams["axes.spines.top"], plt.rcParams["font.size"]
    with plots.style():
        assert plt.rcParams["axes.spines.top"] is False
        colours = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    assert tuple(colours) == plots.COLOURS
    assert (plt.rcParams["axes.spines.top"], plt.rcParams["font.size"]) == before


def test_colours_can_be_seen_on_white():
    for colour in plots.COLOURS:
        red, green, blue = matplotlib.colors.to_rgb(colour)
        assert 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.75
    assert len(set(plots.COLOURS)) == len(set(plots.MARKERS)) == 6
