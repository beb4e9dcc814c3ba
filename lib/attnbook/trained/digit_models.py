"""How many digits does a ViT need? Three models, four training sizes, with and without jitter."""

from collections.abc import Callable
from typing import Any

from torch import nn

from attnbook import digits, runtime
from attnbook.models.vit import ViT, ViTConfig
from attnbook.optimizers import muon
from attnbook.trained.recipe import Experiment
from attnbook.training import cosine_decay, train

COUNTS = (100, 400, 1000, 4000)  # the first images of the training side
SEEDS = (1, 2)
PATCH, PATCHES = 7, (28, 14, 7, 4)
STEPS, LONG_STEPS = 300, 3000  # LONG_STEPS: as many as those of `vit_mnist5k`


def small_vit(patch_size: int = PATCH) -> ViT:
    """The ViT of the comparison: 3 layers, 48 wide, about 60,000 parameters.

    Chapter: 16_vit
    """
    return ViT(
        ViTConfig(
            image_size=digits.IMAGE_SIZE,
            patch_size=patch_size,
            n_channels=1,
            n_classes=digits.N_DIGITS,
            d_model=48,
            n_heads=4,
            d_ff=96,
            n_layers=3,
        )
    )


# How each is made, and its learning rate: the best tried on the validation images.
MODELS: dict[str, tuple[Callable[[], nn.Module], float]] = {
    "ViT": (small_vit, 3e-3),
    "CNN": (digits.DigitCNN, 3e-3),
    "logistic regression": (digits.PixelRegression, 1e-2),
}


def score_once(
    make: Callable[[], nn.Module],
    lr: float,
    task: digits.DigitTask,
    *,
    n_images: int,
    augment: bool,
    seed: int,
    steps: int = STEPS,
    use_muon: bool = False,
) -> float:
    """Train a new model on the first `n_images`, and measure it on the test images.

    Args:
        make: gives the model with random weights.
        lr: highest learning rate.
        task: where the images come from.
        n_images: how many of the training images are used.
        augment: whether they are jittered.
        seed: of the weights and of the batches.
        steps: batches of 64 images, whatever n_images is.
        use_muon: Muon for the matrices inside; AdamW has the rest, or all.

    Returns:
        The share of right answers.

    Chapter: 16_vit
    """
    runtime.seed(seed)
    model = make()
    images, labels = (side[:n_images] for side in task.train)
    batches = digits.DigitBatches(images, labels, steps=steps, seed=seed, augment=augment)
    settings = {"optimizer": muon(model, leave=(model.output,))} if use_muon else {}
    settings |= {"steps": steps, "lr": lr, "schedule": cosine_decay(0.1)}
    train(model, batches, digits.digits_loss, **settings)
    return digits.digits_accuracy(model, task.test)


def _run() -> dict[str, Any]:
    task = digits.load()

    def scores(name: str, n_images: int, augment: bool, patch_size: int = PATCH) -> list[float]:
        make, lr = MODELS[name]
        make = make if patch_size == PATCH else lambda: small_vit(patch_size)
        return [
            score_once(make, lr, task, n_images=n_images, augment=augment, seed=seed)
            for seed in SEEDS
        ]

    grid = {
        way: {name: {str(n): scores(name, n, augment) for n in COUNTS} for name in MODELS}
        for way, augment in (("plain", False), ("augmented", True))
    }
    patches = {str(p): scores("ViT", max(COUNTS), True, p) for p in PATCHES if p != PATCH}
    patches[str(PATCH)] = grid["augmented"]["ViT"][str(max(COUNTS))]
    make, lr = MODELS["CNN"]
    longer = score_once(
        make, lr, task, n_images=max(COUNTS), augment=True, seed=SEEDS[0], steps=LONG_STEPS
    )
    return {"accuracy": grid, "patches": patches, "longer_cnn": longer}


RECIPE = Experiment(name="digit_models", data=("mnist5k",), seed=1, run=_run)
