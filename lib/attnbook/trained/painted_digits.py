"""A masked autoencoder on 4,000 digits: it sees 12 of 49 patches, and paints the other 37."""

from pathlib import Path

from torch import nn

from attnbook import digits
from attnbook.models.masked_autoencoder import MaskedAutoencoder, MaskedAutoencoderConfig
from attnbook.optimizers import muon
from attnbook.painting import PaintBatches, paint_error, paint_loss
from attnbook.trained.recipe import Recipe
from attnbook.training import cosine_decay, train

CONFIG = MaskedAutoencoderConfig(
    image_size=digits.IMAGE_SIZE,
    patch_size=4,
    n_channels=1,
    d_model=64,
    n_heads=4,
    d_ff=128,
    n_layers=3,
    decoder_d_model=48,
    decoder_n_heads=4,
    decoder_d_ff=96,
    decoder_n_layers=2,
)
SEED, STEPS, BATCH = 0, 1500, 64
LR = 1e-2


def _fit(model: nn.Module, checkpoint: Path) -> list[float]:
    images, _ = digits.load().train
    return train(
        model,
        PaintBatches(images, CONFIG.n_patches, steps=STEPS, size=BATCH, seed=SEED),
        paint_loss,
        steps=STEPS,
        lr=LR,
        optimizer=muon(model, leave=(model.output,)),
        schedule=cosine_decay(warmup=0.05),
        checkpoint=checkpoint,
    )


def _measure(model: nn.Module) -> dict[str, float]:
    task = digits.load()
    return {
        "error_valid": paint_error(model, task.valid[0]),
        "error_test": paint_error(model, task.test[0]),
    }


RECIPE = Recipe(
    name="painted_digits",
    data=("mnist5k",),
    seed=SEED,
    build=lambda: MaskedAutoencoder(CONFIG),
    fit=_fit,
    measure=_measure,
)
