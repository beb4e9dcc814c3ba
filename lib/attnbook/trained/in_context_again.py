"""The GPT of `in_context` once more, from another seed: what of chapter 15 holds?"""

from functools import partial

from attnbook.trained import in_context
from attnbook.trained.recipe import Recipe

SEED = 16

RECIPE = Recipe(
    name="in_context_again",
    data=(),
    seed=SEED,
    build=in_context.RECIPE.build,
    fit=partial(in_context.train_on_examples, seed=SEED),
    measure=in_context.RECIPE.measure,
)
