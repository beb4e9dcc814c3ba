"""A ViT on 4,000 digits, trained until it reads them well: 49 patches of 4 x 4 pixels."""

from pathlib import Path

from torch import nn

from attnbook import digits
from attnbook.models.vit import ViT, ViTConfig
from attnbook.optimizers import muon
from attnbook.trained.recipe import Recipe
from attnbook.training import cosine_decay, train

CONFIG = ViTConfig(
    image_size=digits.IMAGE_SIZE,
    patch_size=4,
    n_channels=1,
    n_classes=digits.N_DIGITS,
    d_model=64,
    n_heads=4,
    d_ff=192,
    n_layers=4,
)
SEED, STEPS, BATCH = 0, 3000, 64
LR = 1e-2  # better after 300 steps than 4e-3, on the validation images


def _fit(model: nn.Module, checkpoint: Path) -> list[float]:
    batches = digits.DigitBatches(
        *digits.load().train, steps=STEPS, size=BATCH, seed=SEED, augment=True
    )
    return train(
        model,
        batches,
        digits.digits_loss,
        steps=STEPS,
        lr=LR,
        optimizer=muon(model, leave=(model.output,)),
        schedule=cosine_decay(warmup=0.05),
        checkpoint=checkpoint,
    )


def _measure(model: nn.Module) -> dict[str, float]:
    task = digits.load()
    return {
        "accuracy_valid": digits.digits_accuracy(model, task.valid),
        "accuracy_test": digits.digits_accuracy(model, task.test),
    }


RECIPE = Recipe(
    name="vit_mnist5k",
    data=("mnist5k",),
    seed=SEED,
    build=lambda: ViT(CONFIG),
    fit=_fit,
    measure=_measure,
)
