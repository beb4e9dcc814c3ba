import pytest
import torch
from torch import nn

from attnbook.layers import EncoderLayer
from attnbook.transplant import transplant


def layers(d_ff=7):
    new = nn.ModuleList(EncoderLayer(6, 3, d_ff) for _ in range(2))
    for weight in new.parameters():
        nn.init.normal_(weight)
    return new


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_numbers_are_those_of_the_source_and_the_source_stays(shuffled):
    torch.manual_seed(1)
    into, source = layers(), layers()
    before = {key: x.clone() for key, x in source.state_dict().items()}
    transplant(into, source, shuffled=shuffled)
    for key, x in into.state_dict().items():
        assert torch.equal(x, before[key]) != shuffled, key
        assert torch.equal(x.flatten().sort().values, before[key].flatten().sort().values)
    with torch.no_grad():
        for weight in into.parameters():
            weight.zero_()
    assert all(torch.equal(x, before[key]) for key, x in source.state_dict().items())


def test_tensors_of_one_size_are_shuffled_apart():
    torch.manual_seed(2)
    into, source = layers(), layers()
    numbers = torch.arange(36.0).view(6, 6)
    with torch.no_grad():
        for name in ("w_q", "w_k"):
            getattr(source[0].attention, name).weight.copy_(numbers)
    transplant(into, source, shuffled=True)
    assert not torch.equal(into[0].attention.w_q.weight, into[0].attention.w_k.weight)


def test_the_norms_alone_go_on_learning():
    into, source = layers(), layers()
    transplant(into, source)
    learns = {name for name, x in into.named_parameters() if x.requires_grad}
    assert learns == {name for name, _ in into.named_parameters() if ".norm." in name}
    assert learns
    assert all(x.requires_grad for x in source.parameters())


def test_layers_of_other_sizes_are_refused():
    with pytest.raises(RuntimeError, match="size mismatch"):
        transplant(layers(), layers(d_ff=8))
