"""The masked autoencoder: a ViT that sees a few patches, and a small decoder that paints the rest.

What is hidden, and the loss, are `attnbook.objectives.masked_patches`; the right answers are
`attnbook.models.patches.cut_patches`.
"""

from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.models.inputs import ADDED
from attnbook.models.stack import EncoderStack, StackConfig
from attnbook.models.vit import ViT, ViTConfig


@dataclass(frozen=True, kw_only=True)
class MaskedAutoencoderConfig(ViTConfig):
    """The sizes and choices of a `MaskedAutoencoder`: those of its encoder, and four more.

    Args:
        decoder_d_model, decoder_n_heads, decoder_d_ff, decoder_n_layers: sizes of the decoder's
            stack, which is otherwise as the encoder's. The decoder is thrown away after the
            training: the paper makes it narrower and shallower than the encoder.

    Raises:
        TypeError, ValueError: as `ViTConfig`; decoder_n_heads that does not divide
            decoder_d_model, or n_classes or a pooler, for which there is no use.

    Source: He et al. 2022 (MAE), section 3.
    Chapter: 17_beyond_text
    """

    decoder_d_model: int
    decoder_n_heads: int
    decoder_d_ff: int
    decoder_n_layers: int

    def __post_init__(self) -> None:
        super().__post_init__()
        names = ("decoder_d_model", "decoder_n_heads", "decoder_d_ff", "decoder_n_layers")
        checks.positive(**{name: getattr(self, name) for name in names})
        if self.decoder_d_model % self.decoder_n_heads:
            raise ValueError(
                f"decoder_n_heads must divide decoder_d_model, but {self.decoder_n_heads} does "
                f"not divide {self.decoder_d_model}"
            )
        if self.n_classes is not None or self.pooler:
            raise ValueError(
                f"a masked autoencoder needs n_classes None and pooler False, not "
                f"{self.n_classes} and {self.pooler}"
            )

    def encoder(self) -> ViTConfig:
        """The configuration of the encoder alone."""
        return ViTConfig(**{f.name: getattr(self, f.name) for f in fields(ViTConfig)})

    def decoder(self) -> StackConfig:
        """The configuration of the decoder's stack."""
        sizes = {f.name: getattr(self, f.name) for f in fields(StackConfig)}
        for name in ("d_model", "n_heads", "d_ff", "n_layers"):
            sizes[name] = getattr(self, f"decoder_{name}")
        return StackConfig(**sizes)


class MaskedAutoencoder(nn.Module):
    """A `ViT` over the visible patches, then a stack over all places, which predicts every patch.

    Use, for images, or for frames of speech as images of one channel (see `ViT`)::

        keep, restore, hidden = mask_patches(B, config.n_patches, generator=generator)
        predicted = model(images, keep, restore)
        loss = patch_loss(predicted, cut_patches(images, config.patch_size), hidden)

    Where utterances are padded, pass `real` to the model, and `hidden & real` to the loss.

    Args:
        config: its sizes and choices.

    Attributes:
        config: as given.
        encoder: the `ViT`, which is what is kept after the training.
        narrow: the linear layer from the encoder's width to the decoder's.
        mask_token: the learned vector (1, decoder_d_model) that stands for each hidden patch.
        positions: of the decoder, which adds its own; or None.
        decoder: its `EncoderStack`.
        output: the linear layer from the decoder's width to the P numbers of a patch.

    Source: He et al. 2022 (MAE), section 3.
    Chapter: 17_beyond_text
    """

    def __init__(self, config: MaskedAutoencoderConfig) -> None:
        super().__init__()
        c = self.config = config
        self.encoder = ViT(c.encoder())
        self.narrow = nn.Linear(c.d_model, c.decoder_d_model)
        self.mask_token = nn.Parameter(torch.empty(1, c.decoder_d_model))
        nn.init.normal_(self.mask_token, std=0.02)
        added = ADDED.get(c.positions)
        self.positions = added and added(c.decoder_d_model, 1 + c.n_patches)
        self.decoder = EncoderStack(c.decoder())
        self.output = nn.Linear(c.decoder_d_model, c.d_patch)

    def forward(
        self,
        images: Float[Tensor, "B C height width"],
        keep: Int[Tensor, "B K"],
        restore: Int[Tensor, "B N"],
        real: Bool[Tensor, "B N"] | None = None,
    ) -> Float[Tensor, "B N P"]:
        """The images (B, C, height, width), of which K patches are seen -> all patches (B, N, P).

        Args:
            images: as `ViT.forward`.
            keep, restore: those of `attnbook.objectives.masked_patches.mask_patches`.
            real: True at a real patch, False at padding, (B, N): nothing attends to padding.

        Returns:
            What the model makes of every patch, hidden or not.

        Raises:
            TypeError, ValueError: as `ViT.forward`; a `restore` that does not fit.
        """
        vectors, _ = self.encoder(images, keep=keep, real=real)  # (B, 1 + K, D)
        B, K, N = *keep.shape, self.config.n_patches
        checks.ids("restore", restore, N)
        if checks.shape(restore) != (B, N):
            raise ValueError(
                f"restore must have the shape (B, N) = ({B}, {N}), not {checks.shape(restore)}"
            )
        if not torch.compiler.is_compiling():  # see checks.ids
            order = torch.arange(N, device=restore.device)
            kept = torch.take_along_dim(restore.long(), keep.long(), dim=1)  # (B, K)
            if not (restore.long().sort(dim=1).values == order).all() or not torch.equal(
                kept, order[:K].expand(B, K)
            ):
                raise ValueError("restore must bring the patches of keep back to their places")
        x = self.narrow(vectors)  # (B, 1 + K, d)
        copies = self.mask_token.expand(B, N - K, -1)  # (B, N - K, d)
        everything = torch.cat((x[:, 1:], copies), dim=1)  # (B, N, d), out of order
        everything = torch.take_along_dim(everything, restore.long()[..., None], dim=1)  # in order
        x = torch.cat((x[:, :1], everything), dim=1)  # (B, 1 + N, d)
        x = x if self.positions is None else self.positions(x)
        mask = None if real is None else F.pad(real, (1, 0), value=True)[:, None]  # (B, 1, 1 + N)
        x, _ = self.decoder(x, mask)
        return self.output(x[:, 1:])  # (B, N, d) -> (B, N, P)
