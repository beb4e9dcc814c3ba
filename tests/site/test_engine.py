"""The engine in the browser computes what the library computes.

Small models of odd sizes and random weights: the library writes weights, configuration and results,
the engine reads the first two, in a real browser, and must come to the third.
"""

import dataclasses
import itertools
import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_model
from torch import nn

from attnbook.decoding.filters import token_probabilities
from attnbook.decoding.one_by_one import greedy
from attnbook.decoding.steps import GPTStep, Seq2SeqStep
from attnbook.models.bert import Bert, BertConfig
from attnbook.models.bert_heads import BertPretraining
from attnbook.models.gpt import GPT, GPTConfig
from attnbook.models.seq2seq import Seq2Seq, Seq2SeqConfig
from attnbook.models.vit import ViT, ViTConfig
from browser import serve
from toc import ROOT

ENGINE = ROOT / "book" / "engine"
BUDGET = 40_000  # bytes of all its files
SIZES = {"d_model": 30, "n_heads": 5, "d_ff": 22, "n_layers": 3}


def moved(model: nn.Module) -> nn.Module:
    """Every weight is drawn anew and wide, so that none is 0 or 1 and none may be left out."""
    torch.manual_seed(1)
    with torch.no_grad():
        for name, x in model.named_parameters():
            norm = name.endswith("norm.weight")
            x.copy_(1 + 0.3 * torch.randn_like(x) if norm else 0.3 * torch.randn_like(x))
    return model.eval()


@pytest.fixture(scope="module")
def run(browser, tmp_path_factory):
    """run(model, body, **given): the body of an async function in the page, with `weights`,
    `config`, `given` and the engine's files at hand; what it returns, arrays as lists."""
    folder = tmp_path_factory.mktemp("engine")
    shutil.copytree(ENGINE, folder / "engine")
    (folder / "index.html").write_text("<!doctype html><title>engine</title>")
    with serve(folder) as address:
        page = browser.new_page()
        page.goto(f"{address}/index.html")
        numbers = itertools.count()

        def run(model, body, **given):
            config, file = {}, f"{next(numbers)}.safetensors"  # a new name: browsers keep files
            if model is not None:
                save_model(model, str(folder / file))
                config = dataclasses.asdict(model.config)
            names = [file.stem for file in ENGINE.glob("*.js")]
            script = f"""async ([config, given]) => {{
                const e = {{}};
                for (const name of {json.dumps(names)}) {{
                    Object.assign(e, await import(`/engine/${{name}}.js`));
                }}
                const weights = {
                "new e.Weights(await e.fetchBuffer('/" + file + "'))"
                if model is not None
                else "null"
            };
                const run = async () => {{ {body} }};
                const rows = (x) => Array.from({{ length: x.rows }}, (_, i) => x.row(i));
                const plain = (key, x) =>
                    ArrayBuffer.isView(x) ? [...x] : x instanceof e.Matrix ? rows(x) : x;
                return JSON.stringify(await run(), plain);
            }}"""
            return json.loads(page.evaluate(script, [config, given]))

        yield run
        page.close()


def same(found, wanted, within=1e-5):
    found, wanted = torch.tensor(found), torch.as_tensor(wanted)
    assert found.shape == wanted.shape
    torch.testing.assert_close(found, wanted.to(found.dtype), atol=within, rtol=within)


def of_layers(weights):
    """Weights of one sequence, layer by layer: (layers, heads, T, S)."""
    return torch.cat(weights).detach()


def test_is_small():
    assert 0 < sum(file.stat().st_size for file in ENGINE.iterdir()) < BUDGET


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary", "none"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh"])
def test_gpt(run, positions, activation):
    model = moved(
        GPT(
            GPTConfig(
                vocab_size=17, max_len=11, positions=positions, activation=activation, **SIZES
            )
        )
    )
    ids = [3, 16, 0, 7, 7, 2, 9]
    logits, weights = model(torch.tensor([ids]), need_weights=True)
    found = run(model, "return new e.GPT(weights, config).read(given.ids)", ids=ids)
    same(found["logits"], logits[0].detach())
    same(found["weights"], of_layers(weights))


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_gpt_reads_on_behind_its_cache(run, positions):
    model = moved(GPT(GPTConfig(vocab_size=17, max_len=11, positions=positions, **SIZES)))
    ids = [3, 16, 0, 7, 7, 2, 9]
    logits, weights = model(torch.tensor([ids]), need_weights=True)
    body = """const gpt = new e.GPT(weights, config);
        gpt.read(given.ids.slice(0, 3));
        const two = gpt.read(given.ids.slice(3, 5));
        return [two, gpt.read(given.ids.slice(5))];"""
    two, rest = run(model, body, ids=ids)
    same(two["logits"] + rest["logits"], logits[0, 3:].detach())
    same(rest["weights"], of_layers(weights)[:, :, 5:])


def test_gpt_writes_the_same_text(run):
    model = moved(GPT(GPTConfig(vocab_size=17, max_len=20, positions="rotary", **SIZES)))
    wanted = greedy(GPTStep(model), torch.tensor([[3, 16]]), max_new=12)[0].tolist()
    body = """const all = [...e.write(new e.GPT(weights, config), given.ids, { maxNew: 12 })];
        return all.map((step) => step.token);"""
    assert run(model, body, ids=[3, 16]) == wanted
    body = """const options = { maxNew: 12, eos: given.eos };
        const all = [...e.write(new e.GPT(weights, config), given.ids, options)];
        return all.map((step) => step.token);"""
    cut = wanted[: wanted.index(wanted[4]) + 1]
    assert run(model, body, ids=[3, 16], eos=wanted[4]) == cut


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_seq2seq(run, pre_norm, positions):
    config = Seq2SeqConfig(
        source_vocab_size=13, target_vocab_size=17, max_len=11, pre_norm=pre_norm,
        positions=positions, **SIZES,
    )  # fmt: skip
    model = moved(Seq2Seq(config))
    source, target = [4, 12, 0, 5, 5], [1, 9, 16]
    memory = model.encode(torch.tensor([source]))
    logits, own, cross = model.decode(torch.tensor([target]), memory, need_weights=True)
    body = """const model = new e.Seq2Seq(weights, config);
        const { memory } = model.encode(given.source);
        const first = model.read(given.target.slice(0, 1));
        return [memory, first, model.read(given.target.slice(1))];"""
    found, first, rest = run(model, body, source=source, target=target)
    same(found, memory[0].detach())
    same(first["logits"] + rest["logits"], logits[0].detach(), 3e-5)
    same(rest["weights"], of_layers(own)[:, :, 1:])
    same(rest["crossWeights"], of_layers(cross)[:, :, 1:])


def test_seq2seq_writes_the_same_text(run):
    config = Seq2SeqConfig(source_vocab_size=13, target_vocab_size=17, max_len=20, **SIZES)
    model = moved(Seq2Seq(config))
    source = [4, 12, 0, 5, 5]
    step = Seq2SeqStep(model, torch.tensor([source]))
    wanted = greedy(step, torch.tensor([[1]]), max_new=10)[0].tolist()
    body = """const model = new e.Seq2Seq(weights, config);
        const texts = [];
        for (let i = 0; i < 2; i++) { // the second time as if there had been no first
            model.encode(given.source);
            texts.push([...e.write(model, [1], { maxNew: 10 })].map((step) => step.token));
        }
        return texts;"""
    assert run(model, body, source=source) == [wanted, wanted]


class Pretraining(BertPretraining):
    """With the configuration at hand, which `run` writes."""

    def __init__(self, bert):
        super().__init__(bert)
        self.config = bert.config


def test_bert(run):
    model = moved(Pretraining(Bert(BertConfig(vocab_size=17, max_len=11, **SIZES))))
    ids, segments = [2, 9, 9, 3, 16, 3], [0, 0, 0, 0, 1, 1]
    given = torch.tensor([ids]), None, torch.tensor([segments])
    vectors, weights = model.bert(*given, need_weights=True)
    tokens, follows = model(*given)
    body = """const bert = new e.Bert(weights, config);
        const seen = bert.vectors(given.ids, given.segments);
        return { ...seen, tokens: bert.masked(seen.vectors),
                 follows: bert.nextSentence(seen.vectors), plain: bert.vectors(given.ids) };"""
    found = run(model, body, ids=ids, segments=segments)
    same(found["vectors"], vectors[0].detach())
    same(found["weights"], of_layers(weights))
    same(found["tokens"], tokens[0].detach(), 3e-5)
    same(found["follows"], follows.detach())
    same(found["plain"]["vectors"], model.bert(torch.tensor([ids]))[0][0].detach())


@pytest.mark.parametrize(
    "other", [{}, {"positions": "sinusoidal"}, {"pooler": True}, {"qkv_bias": False}]
)
def test_vit(run, other):
    config = ViTConfig(
        image_size=(6, 8), patch_size=(3, 2), n_channels=2, n_classes=7, **SIZES, **other
    )
    model = moved(ViT(config))
    image = torch.rand(2, 6, 8, generator=torch.Generator().manual_seed(2))
    logits, weights = model(image[None], need_weights=True)
    body = "return new e.ViT(weights, config).read(given.image)"
    found = run(model, body, image=image.flatten().tolist())
    same(found["logits"], logits.detach())
    same(found["weights"], of_layers(weights))


def test_half_precision(run):
    model = moved(GPT(GPTConfig(vocab_size=17, max_len=11, **SIZES))).half()
    with torch.no_grad():
        model.output.weight[0, 0] = 6e-8  # below the smallest normal number
    found = run(model, "return weights.vector('output.weight')")
    same(found, model.output.weight.detach().flatten(), 0)
    ids = [3, 16, 0, 7]
    logits = model.float()(torch.tensor([ids]))[0][0].detach()
    found = run(model.half(), "return new e.GPT(weights, config).read(given.ids)", ids=ids)
    same(found["logits"], logits)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"temperature": 0.4},
        {"topK": 3},
        {"topP": 0.7},
        {"temperature": 2.0, "topK": 6, "topP": 0.5},
    ],
)
def test_probabilities(run, options):
    logits = 2 * torch.randn(13, generator=torch.Generator().manual_seed(3))
    names = {"temperature": "temperature", "topK": "top_k", "topP": "top_p"}
    wanted = token_probabilities(logits, **{names[name]: x for name, x in options.items()})
    body = "return e.probabilities(given.logits, given.options)"
    same(run(None, body, logits=logits.tolist(), options=options), wanted, 1e-6)


def test_draws_follow_the_shares(run):
    body = """const random = e.randomFrom(given.seed), counts = [0, 0, 0];
        for (let i = 0; i < 20000; i++) counts[e.draw([0.1, 0.6, 0.3], random)]++;
        return counts;"""
    counts = run(None, body, seed=5)
    assert counts == run(None, body, seed=5) != run(None, body, seed=6)
    # Five standard deviations of a count are at most 347.
    assert [round(n / 20000, 1) for n in counts] == [0.1, 0.6, 0.3]


def test_neighbours(run):
    table = torch.randn(13, 7, generator=torch.Generator().manual_seed(4))
    table[11] = 0  # has no direction
    table[4] = -table[9]
    body = """const table = e.Matrix.of(given.table);
        return [e.cosines(table, given.id), e.nearest(table, given.id, 5)];"""
    found, near = run(None, body, table=table.tolist(), id=9)
    cosines = torch.nn.functional.cosine_similarity(table[9], table)
    same(found, cosines, 1e-6)
    cosines[9] = -2  # not the word itself
    values, ids = cosines.topk(5)
    assert [n["id"] for n in near] == ids.tolist()
    same([n["cosine"] for n in near], values, 1e-6)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("new e.GPT(weights, config).read([17])", "17 is no token: ids are 0 … 16"),
        ("new e.GPT(weights, config).read([])", "at least one token"),
        ("new e.GPT(weights, config).read(Array(12).fill(1))", "12 tokens are more than"),
        ("e.probabilities([1, 2], { temperature: 0 })", "temperature must be above 0, not 0"),
        ("weights.matrix('nothing')", "the weights have no nothing"),
        ("await e.fetchBuffer('/nowhere.safetensors')", "404"),
    ],
)
def test_what_it_refuses(run, body, message):
    model = moved(GPT(GPTConfig(vocab_size=17, max_len=11, **SIZES)))
    caught = f"try {{ {body}; return 'nothing'; }} catch (error) {{ return error.message; }}"
    assert message in run(model, caught)


def test_every_file_says_what_it_is():
    for file in Path(ENGINE).glob("*.js"):
        assert file.read_text(encoding="utf-8").startswith("// "), file.name
