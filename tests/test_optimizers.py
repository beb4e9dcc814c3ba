import pytest
import torch
from torch import nn

from attnbook.checkpoints import load_training, save_training
from attnbook.embeddings import TokenEmbedding
from attnbook.layers import EncoderLayer
from attnbook.optimizers import MuonAdamW, muon
from attnbook.training import train

V, D, T = 7, 12, 5


class Model(nn.Module):
    """An embedding with a tied output, a layer between, and a head of its own."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.tokens = TokenEmbedding(V, D)
        self.layer = EncoderLayer(D, 3, 17)
        self.output = nn.Linear(D, V, bias=False)
        self.output.weight = self.tokens.weight
        self.head = nn.Linear(D, 2)

    def forward(self, ids):
        return self.output(self.layer(self.tokens(ids))[0])


def batch(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(V, (4, T), generator=generator)


def loss_fn(model, ids):
    x = model(ids)
    head = model.head(model.layer(model.tokens(ids))[0])
    return nn.functional.cross_entropy(x.flatten(0, 1), ids.flatten()) + head.square().mean()


def names(model, parameters):
    known = {id(p): name for name, p in model.named_parameters()}
    return {known[id(p)] for p in parameters}


def test_muon_has_the_matrices_inside_and_adamw_all_else():
    model = Model()
    made = muon(model, leave=[model.head])(model.parameters(), lr=0.01)
    matrices, others = (names(model, group["params"]) for group in made.param_groups)
    inside = {f"layer.attention.{w}.weight" for w in ("w_q", "w_k", "w_v", "w_o")}
    assert matrices == inside | {f"layer.feed_forward.{w}.weight" for w in ("w_1", "w_2")}
    assert others == {name for name, _ in model.named_parameters()} - matrices
    assert "tokens.weight" in others
    both = muon(model)(model.parameters(), lr=0.01)
    assert "head.weight" in names(model, both.param_groups[0]["params"])


def test_a_step_is_one_step_of_torchs_two():
    model, other = Model(), Model()
    made = muon(model, weight_decay=0.3)(model.parameters(), lr=0.01)
    by_name = dict(other.named_parameters())
    inner = names(model, made.param_groups[0]["params"])
    theirs = [
        torch.optim.Muon(
            [by_name[n] for n in by_name if n in inner],
            lr=0.01,
            weight_decay=0.3,
            adjust_lr_fn="match_rms_adamw",
        ),
        torch.optim.AdamW(
            [by_name[n] for n in by_name if n not in inner], lr=0.01, weight_decay=0.3
        ),
    ]
    for step in range(3):
        for one, updates in ((model, [made]), (other, theirs)):
            one.zero_grad()
            loss_fn(one, batch(step)).backward()
            for optimizer in updates:
                optimizer.step()
    torch.testing.assert_close(dict(model.named_parameters()), by_name)


def test_the_rate_of_both_parts_is_the_one_that_train_sets():
    model = Model()
    before = {name: p.clone() for name, p in model.named_parameters()}
    settings = {"steps": 1, "lr": 0.01, "optimizer": muon(model), "device": "cpu"}
    train(model, [batch()], loss_fn, schedule=lambda done: 1e-9, **settings)
    for name, p in model.named_parameters():
        torch.testing.assert_close(p.detach(), before[name], atol=1e-8, rtol=0)


def test_it_trains():
    model = Model()
    settings = {"steps": 60, "lr": 0.01, "optimizer": muon(model), "device": "cpu"}
    losses = train(model, [batch()], loss_fn, **settings)
    assert losses[-1] < losses[0] / 4


def test_a_training_goes_on_from_its_checkpoint(tmp_path):
    settings = {"lr": 0.01, "device": "cpu", "checkpoint": tmp_path / "c"}
    batches = [batch(i) for i in range(3)]
    whole = Model()
    losses = train(whole, batches, loss_fn, steps=7, optimizer=muon(whole), lr=0.01, device="cpu")
    first, second = Model(), Model()
    train(first, batches, loss_fn, steps=4, optimizer=muon(first), **settings)
    assert train(second, batches, loss_fn, steps=7, optimizer=muon(second), **settings) == losses
    for one, two in zip(whole.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, two)


def test_the_state_of_both_parts_is_saved(tmp_path):
    model = Model()
    made = muon(model)(model.parameters(), lr=0.01)
    loss_fn(model, batch()).backward()
    made.step()
    count = len(list(model.parameters()))
    assert len(made.state_dict()["state"]) == count
    save_training(tmp_path / "c", model, made, [1.0])
    again = muon(model)(model.parameters(), lr=0.01)
    load_training(tmp_path / "c", model, again, iter([0]))
    assert [len(part.state) for part in again.parts] == [count, count]


def test_a_closure_is_called_with_gradients():
    model = Model()
    made = muon(model)(model.parameters(), lr=0.01)

    def closure():
        loss = loss_fn(model, batch())
        loss.backward()
        return loss.item()

    assert made.step(closure) > 0


def test_only_matrices_and_only_others_do():
    weight, bias = nn.Parameter(torch.randn(3, 5)), nn.Parameter(torch.randn(3))
    assert len(MuonAdamW([weight], [], lr=0.1).parts) == 1
    assert len(MuonAdamW([], [bias], lr=0.1).parts) == 1


def test_what_cannot_be_is_told(monkeypatch):
    with pytest.raises(ValueError, match="no linear layer"):
        muon(TokenEmbedding(V, D))
    monkeypatch.delattr(torch.optim, "Muon")
    with pytest.raises(RuntimeError, match=r"Muon needs torch 2\.9"):
        muon(Model())


def test_the_parameters_of_another_model_are_refused():
    with pytest.raises(ValueError, match="parameters must be those"):
        muon(Model())(Model().parameters(), lr=0.1)
