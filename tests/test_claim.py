import numpy as np
import pytest
import torch

from attnbook.claim import ClaimError, claim


@pytest.mark.parametrize("holds", [True, np.bool_(True), torch.tensor(True), np.array(True)])
def test_a_claim_that_holds_is_printed(holds, capsys):
    claim("two heads beat one", holds)
    assert capsys.readouterr() == ("✓ two heads beat one\n", "")


@pytest.mark.parametrize("holds", [False, np.bool_(False), torch.tensor(False), np.float64(1) > 2])
def test_a_claim_that_fails_stops_and_prints_nothing(holds, capsys):
    with pytest.raises(ClaimError, match="does not hold: two heads beat one"):
        claim("two heads beat one", holds)
    assert capsys.readouterr().out == ""
    assert issubclass(ClaimError, AssertionError)


@pytest.mark.parametrize(
    "holds",
    [1, 0, 0.5, "yes", None, [True], np.float64(0.7), torch.tensor(1), torch.tensor([True])],
)
def test_what_is_no_truth_value_is_refused(holds, capsys, plain):
    with pytest.raises(
        TypeError, match=rf"holds must be True or False, not .*{type(holds).__name__}"
    ):
        claim("a number would always hold", holds)
    assert capsys.readouterr().out == ""
