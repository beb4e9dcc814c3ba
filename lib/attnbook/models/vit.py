"""The Vision Transformer: an image is a sequence of patches, and a patch is one vector.

What follows is the stack of the encoder. The cut is a convolution whose stride is its size, which
is one linear map of every patch that `attnbook.models.patches.cut_patches` gives.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.models.inputs import ADDED
from attnbook.models.patches import _grid, _pair
from attnbook.models.stack import EncoderStack, StackConfig


@dataclass(frozen=True, kw_only=True)
class ViTConfig(StackConfig):
    """The sizes and choices of a `ViT`: those of `StackConfig`, and of its patches and its end.

    Args:
        image_size: (height, width) of the images, or one number for both.
        patch_size: (h, w) of a patch, or one number for both; must divide image_size.
        n_channels: number of channels C, such as 3 for red, green and blue.
        n_classes: number of classes V of the logits; vectors come out without.
        positions: "learned", "sinusoidal" (along the sequence of patches) or "none".
        pooler: whether the class token's vector goes through one more layer (see `ViT.pool`).
        qkv_bias: whether the projections of queries, keys and values have a bias.
        pre_norm, activation, norm_eps: as `StackConfig`, with the values of the released models.

    Attributes:
        image_size, patch_size: two numbers each, however they were given.

    Raises:
        TypeError, ValueError: as `StackConfig`; a size that the patch does not divide, or
            positions of no such name.

    Source: Dosovitskiy et al. 2021, section 3.1.
    Chapter: 16_vit
    """

    image_size: int | Sequence[int]
    patch_size: int | Sequence[int]
    n_channels: int = 3
    n_classes: int | None = None
    positions: str = "learned"
    pooler: bool = False
    qkv_bias: bool = True
    pre_norm: bool = True
    activation: str = "gelu"
    norm_eps: float = 1e-12

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("image_size", "patch_size"):  # a JSON file gives lists
            object.__setattr__(self, name, _pair(name, getattr(self, name)))
        checks.positive(n_channels=self.n_channels)
        if self.n_classes is not None:
            checks.positive(n_classes=self.n_classes)
        checks.choice("positions", self.positions, (*ADDED, "none"))
        checks.flag(pooler=self.pooler, qkv_bias=self.qkv_bias)
        _grid(self.image_size, self.patch_size)

    @property
    def grid(self) -> tuple[int, int]:
        """The rows and columns of an image's patches."""
        return _grid(self.image_size, self.patch_size)

    @property
    def n_patches(self) -> int:
        """The number of patches N of an image."""
        rows, columns = self.grid
        return rows * columns

    @property
    def d_patch(self) -> int:
        """The numbers P of a patch."""
        h, w = self.patch_size
        return self.n_channels * h * w


class ViT(EncoderStack):
    """Patches and a class token, with their positions, then a stack of `EncoderLayer`s.

    Any sequence of vectors is an image of one channel, a vector a row: utterances of up to L frames
    of 12 numbers are images (B, 1, L, 12), and their patches of (1, 12) are the frames.

    Args:
        config: its sizes and choices.

    Attributes:
        config: as given.
        embed: the convolution C -> D that cuts the patches and maps each.
        class_token: the learned vector (1, D) in front of the patches, whose output stands for
            the image.
        positions: the module that adds them, or None.
        layers, norm: those of `EncoderStack`.
        pooler: the linear layer D -> D of `pool`, or None.
        output: the linear layer D -> V to the logits, or None.

    Source: Dosovitskiy et al. 2021, section 3.1.
    Chapter: 16_vit
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__(config)
        c = self.config = config
        self.embed = nn.Conv2d(c.n_channels, c.d_model, c.patch_size, stride=c.patch_size)
        self.class_token = nn.Parameter(torch.empty(1, c.d_model))
        nn.init.normal_(self.class_token, std=0.02)
        added = ADDED.get(c.positions)
        self.positions = added and added(c.d_model, 1 + c.n_patches)
        self.dropout = nn.Dropout(c.dropout)
        self.pooler = nn.Linear(c.d_model, c.d_model) if c.pooler else None
        self.output = nn.Linear(c.d_model, c.n_classes) if c.n_classes else None
        if not c.qkv_bias:  # a choice of this model alone, so that the layers need not know it
            for layer in self.layers:
                for w in (layer.attention.w_q, layer.attention.w_k, layer.attention.w_v):
                    w.bias = None

    def forward(
        self,
        images: Float[Tensor, "B C height width"],
        *,
        keep: Int[Tensor, "B K"] | None = None,
        real: Bool[Tensor, "B N"] | None = None,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "B V"] | Float[Tensor, "B T D"],
        tuple[Float[Tensor, "B H T T"], ...] | None,
    ]:
        """images (B, C, height, width) -> logits (B, V), or vectors (B, T, D) without n_classes.

        T = 1 + N: the class token, then the patches, row by row from the top left.

        Args:
            images: all of the configuration's size, whatever is padding in them.
            keep: the places (B, K) of the patches that are looked at, of 0 … N - 1; then
                T = 1 + K. All unless given; see `attnbook.objectives.masked_patches`.
            real: True at a real patch, False at padding, (B, N), as for utterances of different
                lengths. All are real unless given.
            need_weights: whether to return the attention weights.

        Returns:
            The logits or vectors, and the weights (B, H, T, T) of each layer or None.

        Raises:
            TypeError: images that are not of the weights' dtype, a `keep` that is not integer, a
                `real` that is not boolean.
            ValueError: images of another size, a place outside 0 … N - 1, or shapes that do not
                fit.
        """
        c = self.config
        checks.floating(images=images, weights=self.embed.weight)
        if images.ndim != 4 or checks.shape(images)[1:] != (c.n_channels, *c.image_size):
            size = ", ".join(map(str, (c.n_channels, *c.image_size)))
            raise ValueError(
                f"images must have the shape (B, {size}) of the config, not {checks.shape(images)}"
            )
        x = self.embed(images).flatten(2).transpose(1, 2)  # (B, D, rows, columns) -> (B, N, D)
        B, N = x.shape[:2]
        if real is not None:
            checks.boolean("real", real)
            if checks.shape(real) != (B, N):
                raise ValueError(
                    f"real must have the shape (B, N) = ({B}, {N}), not {checks.shape(real)}"
                )
            x = x.masked_fill(~real[..., None], 0)  # a weight of 0 leaves a NaN a NaN
        places = None
        if keep is not None:
            checks.ids("keep", keep, N)
            if keep.ndim != 2 or len(keep) != B:
                raise ValueError(
                    f"keep must have the shape (B, K) with B = {B}, not {checks.shape(keep)}"
                )
            keep = keep.long()
            x = torch.take_along_dim(x, keep[..., None], dim=1)  # (B, N, D) -> (B, K, D)
            real = None if real is None else torch.take_along_dim(real, keep, dim=1)  # (B, K)
            places = F.pad(keep + 1, (1, 0))  # (B, T): the class token's is 0

        x = torch.cat((self.class_token.expand(B, 1, -1), x), dim=1)  # (B, T, D)
        x = self.dropout(x if self.positions is None else self.positions(x, places))
        mask = None if real is None else F.pad(real, (1, 0), value=True)[:, None]  # (B, 1, T)
        vectors, weights = super().forward(x, mask, need_weights=need_weights)
        if self.output is None:
            return vectors, weights
        return self.output(self.pool(vectors)), weights  # (B, D) -> (B, V)

    def pool(self, vectors: Float[Tensor, "B T D"]) -> Float[Tensor, "B D"]:
        """The vector of the image: the class token's, through tanh(pooler) where there is one."""
        first = vectors[:, 0]
        return first if self.pooler is None else self.pooler(first).tanh()
