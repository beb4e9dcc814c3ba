"""The heads of BERT: what is read off its vectors, in pre-training and in fine-tuning.

Each takes a `Bert`, new or pretrained, and is trained together with it.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.embeddings import TokenEmbedding
from attnbook.models.bert import Bert, BertConfig, initialise, mean_pool
from attnbook.sublayers import ACTIVATIONS

POOLS = ("pooler", "cls", "mean")


class MaskedTokenHead(nn.Module):
    """From the vector of a hidden token to logits over the vocabulary.

    A linear layer, the activation and a layer norm; then the table of the tokens, used a second
    time, with a bias of its own.

    Args:
        config: that of the `Bert`.
        tokens: its table.

    Attributes:
        transform: the linear layer D -> D.
        norm: the layer norm.
        output: the linear layer D -> V; its weight is the table.

    Source: Devlin et al. 2019, section 3.1, task 1, and its code.
    Chapter: 12_bert_pretraining
    """

    def __init__(self, config: BertConfig, tokens: TokenEmbedding) -> None:
        super().__init__()
        self.transform = nn.Linear(config.d_model, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, config.norm_eps)
        self.activation = ACTIVATIONS[config.activation]
        initialise(self)
        self.output = nn.Linear(config.d_model, config.vocab_size)
        self.output.weight = tokens.weight
        nn.init.zeros_(self.output.bias)
        self.to(tokens.weight)  # the dtype and device of the model below

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
        """x (…, D) -> logits (…, V)."""
        checks.activations("x", x, self.transform.weight)
        return self.output(self.norm(self.activation(self.transform(x))))


class BertPretraining(nn.Module):
    """BERT as it is pre-trained: which tokens are hidden, and does the second sentence follow?

    Args:
        bert: the model below. Without a pooler there is no head for the next sentence.

    Attributes:
        bert: as given.
        masked: the `MaskedTokenHead`.
        next_sentence: the linear layer D -> 2, or None.

    Source: Devlin et al. 2019, section 3.1.
    Chapter: 12_bert_pretraining
    """

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.bert = bert
        self.masked = MaskedTokenHead(bert.config, bert.embed.tokens)
        self.next_sentence = None
        if bert.pooler is not None:
            self.next_sentence = _linear(bert, 2)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        real: Bool[Tensor, "..."] | None = None,
        segments: Int[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B 2"] | None]:
        """ids (B, T) -> logits of the token at each place (B, T, V), of the next sentence (B, 2).

        The arguments and errors are those of `Bert.forward`. In BERT's own weights class 0 of the
        next sentence is "it follows"; trained anew with
        `attnbook.objectives.next_sentence.sentence_pairs` it is class 1.
        """
        x, _ = self.bert(ids, real, segments)  # (B, T, D)
        if self.next_sentence is None:
            return self.masked(x), None
        return self.masked(x), self.next_sentence(self.bert.pool(x))  # (B, T, V), (B, 2)


class BertSequenceClassifier(nn.Module):
    """One of n_classes for a whole input: a text or a pair of them.

    Args:
        bert: the model below.
        n_classes: number of classes C.
        pool: the vector of the whole: "pooler" as in the paper's code, "cls" (the first token's
            own), or "mean" (of the real tokens, `mean_pool`).

    Attributes:
        bert: as given.
        classes: the linear layer D -> C.

    Raises:
        TypeError, ValueError: n_classes that is no int of at least 1, a pool of no such name, or
            "pooler" for a Bert without one.

    Source: Devlin et al. 2019, section 4.1.
    Chapter: 13_bert_finetuning
    """

    def __init__(self, bert: Bert, n_classes: int, *, pool: str = "pooler") -> None:
        super().__init__()
        checks.choice("pool", pool, POOLS)
        if pool == "pooler" and bert.pooler is None:
            raise ValueError("pool must be 'cls' or 'mean' for a Bert without a pooler")
        self.bert, self.pool = bert, pool
        self.dropout, self.classes = _last(bert, n_classes)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        real: Bool[Tensor, "..."] | None = None,
        segments: Int[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B C"]:
        """ids (B, T) -> logits (B, C); the arguments and errors are those of `Bert.forward`.

        With "pooler" and "cls" the first token must be real: padding stands behind.
        """
        x, _ = self.bert(ids, real, segments)  # (B, T, D)
        if self.pool == "pooler":
            whole = self.bert.pool(x)  # (B, D)
        else:
            whole = mean_pool(x, real) if self.pool == "mean" else x[:, 0]  # (B, D)
        return self.classes(self.dropout(whole))  # (B, D) -> (B, C)


class BertTokenClassifier(nn.Module):
    """One of n_classes for each token, such as its part of speech.

    Args:
        bert: the model below.
        n_classes: number of classes C.

    Attributes:
        bert: as given.
        classes: the linear layer D -> C.

    Raises:
        TypeError, ValueError: n_classes that is no int of at least 1.

    Source: Devlin et al. 2019, section 5.3.
    Chapter: 13_bert_finetuning
    """

    def __init__(self, bert: Bert, n_classes: int) -> None:
        super().__init__()
        self.bert = bert
        self.dropout, self.classes = _last(bert, n_classes)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        real: Bool[Tensor, "..."] | None = None,
        segments: Int[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """ids (B, T) -> logits (B, T, C); the arguments and errors are those of `Bert.forward`.

        Those at [CLS], [SEP] and padding mean nothing: their label is `IGNORE`.
        """
        x, _ = self.bert(ids, real, segments)  # (B, T, D)
        return self.classes(self.dropout(x))  # (B, T, D) -> (B, T, C)


class BertQuestionAnswerer(nn.Module):
    """Where in a text the answer to a question stands: its first and its last token.

    Args:
        bert: the model below.

    Attributes:
        bert: as given.
        ends: the linear layer D -> 2, for start and end.

    Source: Devlin et al. 2019, section 4.2.
    Chapter: 13_bert_finetuning
    """

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.bert = bert
        self.ends = _linear(bert, 2)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        real: Bool[Tensor, "..."] | None = None,
        segments: Int[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B T"]]:
        """ids (B, T) -> logits of the places T of the answer's start and of its end, (B, T) each.

        The question is the first segment, the text the second. The arguments and errors are those
        of `Bert.forward`. At padding the logits are as low as they can be: no answer is there.
        """
        x, _ = self.bert(ids, real, segments)  # (B, T, D)
        logits = self.ends(x)  # (B, T, D) -> (B, T, 2)
        if real is not None:
            logits = logits.masked_fill(~real[..., None], torch.finfo(logits.dtype).min)
        start, end = logits.unbind(dim=-1)  # (B, T) each
        return start, end


def _last(bert: Bert, n_classes: int) -> tuple[nn.Dropout, nn.Linear]:
    checks.positive(n_classes=n_classes)
    return nn.Dropout(bert.config.dropout), _linear(bert, n_classes)


def _linear(bert: Bert, size: int) -> nn.Linear:
    """A new layer D -> size, with the dtype and device of the model below."""
    layer = nn.Linear(bert.config.d_model, size)
    initialise(layer)
    return layer.to(bert.embed.tokens.weight)
