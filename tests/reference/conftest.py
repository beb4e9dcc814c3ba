"""Weights of this book's modules, copied into torch's."""

import pytest
import torch


def _copy_attention(ours, theirs):
    projections = (ours.w_q, ours.w_k, ours.w_v)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([w.weight for w in projections]))
        theirs.out_proj.weight.copy_(ours.w_o.weight)
        if ours.w_o.bias is not None:
            theirs.in_proj_bias.copy_(torch.cat([w.bias for w in projections]))
            theirs.out_proj.bias.copy_(ours.w_o.bias)


def _pairs(ours, theirs):
    """(name, our parameter's gradient, theirs) for one attention."""
    projections = (ours.w_q, ours.w_k, ours.w_v)
    yield "qkv", torch.cat([w.weight.grad for w in projections]), theirs.in_proj_weight.grad
    yield "w_o", ours.w_o.weight.grad, theirs.out_proj.weight.grad
    if ours.w_o.bias is not None:
        yield "qkv bias", torch.cat([w.bias.grad for w in projections]), theirs.in_proj_bias.grad
        yield "w_o bias", ours.w_o.bias.grad, theirs.out_proj.bias.grad


@pytest.fixture
def copy_attention():
    return _copy_attention


@pytest.fixture
def gradient_pairs():
    return _pairs
