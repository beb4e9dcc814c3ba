import re

import pytest
import torch

from attnbook import checks

pytestmark = pytest.mark.usefixtures("plain")


@pytest.mark.parametrize("size", [True, 2.0, "3", None, torch.tensor(3)])
def test_a_size_that_is_no_whole_number_is_a_type_error(size):
    with pytest.raises(TypeError, match=rf"d_ff must be an int, not .*{type(size).__name__}"):
        checks.positive(d_model=4, d_ff=size)


@pytest.mark.parametrize("size", [0, -3])
def test_a_size_below_one_is_a_value_error(size):
    with pytest.raises(ValueError, match=f"d_ff must be at least 1, not {size}"):
        checks.positive(d_model=1, d_ff=size)


def test_a_size_above_the_most_is_a_value_error():
    assert checks.at_most("T", 5, 5) == 5
    for size, error in ((6, "T must be at most 5, not 6"), (0, "T must be at least 1, not 0")):
        with pytest.raises(ValueError, match=error):
            checks.at_most("T", size, 5)


@pytest.mark.parametrize("p", [-0.1, 1.0, 1, 7, float("nan")])
def test_a_share_outside_its_range_is_a_value_error(p):
    with pytest.raises(ValueError, match=f"p must be at least 0 and below 1, not {p}"):
        checks.probability(p=p)


@pytest.mark.parametrize("p", [True, "0.1", None])
def test_a_share_that_is_no_number_is_a_type_error(p):
    with pytest.raises(TypeError, match="p must be a number, not"):
        checks.probability(p=p)


def test_what_is_right_passes():
    checks.positive(a=1, b=10**9)
    checks.probability(a=0, b=0.0, c=0.999)
    checks.floating(a=torch.zeros(1), b=torch.zeros(2, 3))
    checks.integers("ids", torch.zeros(2, dtype=torch.uint8))
    checks.ids("ids", torch.tensor([0, 4]), 5)
    checks.ids("ids", torch.empty(0, dtype=torch.long), 5)
    checks.last_size("x", torch.zeros(2, 5), 5, ndim=2)
    for size in [(), (1,), (5,), (3, 5), (1, 5), (3, 1), (2, 3, 5), (1, 1, 1)]:
        checks.mask(torch.ones(size, dtype=torch.bool), (2, 3, 5))


def test_floating_names_the_tensor_and_its_dtype():
    with pytest.raises(TypeError, match="b must be a tensor, not list"):
        checks.floating(a=torch.zeros(1), b=[1.0])
    with pytest.raises(TypeError, match=r"b must hold floating-point numbers, not torch\.int64"):
        checks.floating(a=torch.zeros(1), b=torch.zeros(1, dtype=torch.int64))
    with pytest.raises(TypeError, match=r"one dtype.*a torch\.float32 on cpu.*b torch\.float64"):
        checks.floating(a=torch.zeros(1), b=torch.zeros(1).double())


@pytest.mark.parametrize("bad", [[1], torch.zeros(1), torch.zeros(1).bool(), torch.zeros(1) + 0j])
def test_integers_refuses_everything_else(bad):
    with pytest.raises(TypeError, match=r"x must (be a tensor|hold integers), not"):
        checks.integers("x", bad)


@pytest.mark.parametrize("bad", [-1, 5])
def test_ids_names_the_value_out_of_range(bad):
    with pytest.raises(ValueError, match=rf"ids must lie in 0 … 4, but {bad} is among them"):
        checks.ids("ids", torch.tensor([[0, bad], [4, 2]]), 5)


def test_last_size_names_the_shape():
    with pytest.raises(ValueError, match=r"last axis of x must be 4, but its shape is \(2, 5\)"):
        checks.last_size("x", torch.zeros(2, 5), 4)
    with pytest.raises(ValueError, match=r"last axis of x must be 4, but its shape is \(\)"):
        checks.last_size("x", torch.zeros(()), 4)
    with pytest.raises(ValueError, match=r"x must have 3 axes, not 2: its shape is \(2, 5\)"):
        checks.last_size("x", torch.zeros(2, 5), 5, ndim=3)


@pytest.mark.parametrize("size", [(4,), (2, 5), (5, 3), (1, 2, 3, 5), (1, 1, 1, 1), (3, 3, 5)])
def test_a_mask_that_does_not_broadcast_is_refused(size):
    given = re.escape(str(size))
    with pytest.raises(
        ValueError, match=rf"real must broadcast to \(2, 3, 5\), but its shape is {given}"
    ):
        checks.mask(torch.ones(size, dtype=torch.bool), (2, 3, 5), name="real")


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.uint8])
def test_a_mask_that_is_not_boolean_is_refused_with_the_way_out(dtype):
    with pytest.raises(TypeError, match=rf"mask must be boolean, True where.*{dtype}.*mask == 1"):
        checks.mask(torch.ones(3, 5, dtype=dtype), (3, 5))
    with pytest.raises(TypeError, match="mask must be a boolean tensor or None, not list"):
        checks.mask([[True]], (1, 1))


def test_a_flag_is_a_bool():
    checks.flag(a=True, b=False)
    for value in (1, "no", None):
        with pytest.raises(TypeError, match=f"on must be True or False, not {value!r}"):
            checks.flag(off=False, on=value)


def test_a_choice_is_one_of_its_names():
    checks.choice("cell", "b", ("a", "b"))
    for value in ("c", "A", None, ["a"]):
        with pytest.raises(ValueError, match=r"cell must be one of 'a', 'b', not "):
            checks.choice("cell", value, ("a", "b"))


def test_a_size_may_be_zero_where_it_may():
    checks.not_negative(width=0)
    with pytest.raises(ValueError, match="width must be at least 0, not -1"):
        checks.not_negative(width=-1)
    for size in (True, 1.0, None):
        with pytest.raises(TypeError, match=f"width must be an int, not {size}"):
            checks.not_negative(width=size)


def test_token_ids():
    checks.token_ids("ids", torch.tensor([[0, 4]]), 5, 2)
    checks.token_ids("ids", torch.empty(0, 2, dtype=torch.long), 5, 2)
    with pytest.raises(ValueError, match=r"ids must have 2 axes \(B, T\), but its shape is \(2,\)"):
        checks.token_ids("ids", torch.tensor([0, 4]), 5, 2)
    with pytest.raises(ValueError, match=r"ids must have at most max_len = 1 tokens .*, not 2"):
        checks.token_ids("ids", torch.tensor([[0, 4]]), 5, 1)
    with pytest.raises(ValueError, match="ids must lie in 0 … 3, but 4 is among them"):
        checks.token_ids("ids", torch.tensor([[0, 4]]), 4, 2)


@pytest.mark.parametrize("p", [0, 0.0, 1.0, 1, -0.1, 15, float("nan")])
def test_a_share_that_is_chosen_is_neither_nothing_nor_all(p):
    with pytest.raises(ValueError, match=f"p must be above 0 and below 1, not {p}"):
        checks.share(q=0.5, p=p)


@pytest.mark.parametrize("p", [True, "0.1", None])
def test_a_chosen_share_that_is_no_number_is_a_type_error(p):
    with pytest.raises(TypeError, match="p must be a number, not"):
        checks.share(p=p)


def test_boolean():
    checks.boolean("real", torch.zeros(2).bool())
    with pytest.raises(TypeError, match=r"real must be boolean, not torch\.int64"):
        checks.boolean("real", torch.zeros(2).long())
    with pytest.raises(TypeError, match="real must be a boolean tensor, not list"):
        checks.boolean("real", [True])


def test_images():
    checks.images(torch.zeros(2, 3, 5, 7))
    for bad in (torch.zeros(3, 5, 7), torch.zeros(1, 2, 3, 5, 7)):
        with pytest.raises(
            ValueError, match=r"images must have 4 axes \(B, C, height, width\), not"
        ):
            checks.images(bad)
    with pytest.raises(TypeError, match="images must hold floating-point"):
        checks.images(torch.zeros(2, 3, 5, 7, dtype=torch.uint8))


def test_same_shape_names_both():
    checks.same_shape("x", torch.zeros(2, 3), "y", torch.ones(2, 3))
    with pytest.raises(ValueError, match=r"x must have the shape of y, \(2, 3\), not \(1, 3\)"):
        checks.same_shape("x", torch.zeros(1, 3), "y", torch.ones(2, 3))


def test_one_length():
    checks.one_length(a=[1, 2], b=("x", "y"))
    for bad in ("text", 3, {1, 2}, torch.zeros(2)):
        with pytest.raises(TypeError, match="b must be a list, not"):
            checks.one_length(a=[1, 2], b=bad)
    with pytest.raises(ValueError, match="a and b must be of one length, at least 1, not 2 and 1"):
        checks.one_length(a=[1, 2], b=[1])
    with pytest.raises(ValueError, match="at least 1, not 0 and 0"):
        checks.one_length(a=[], b=[])


def test_generator():
    checks.generator(torch.Generator())
    for bad in (None, 0, torch):
        with pytest.raises(TypeError, match=r"generator must be a torch\.Generator, not"):
            checks.generator(bad)
