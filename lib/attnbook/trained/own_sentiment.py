"""Is our own small BERT worth anything on sentences about films? The comparison of chapter 13.

The checkpoint of chapter 12, `bert_sotu`, against the same sizes with random weights.
"""

from typing import Any

from attnbook import blank_filling, checks, runtime, sentiment, trained
from attnbook.data import movies
from attnbook.models.bert import Bert
from attnbook.trained import bert_sotu
from attnbook.trained.recipe import Experiment

STARTS = ("own", "own sizes, random")
RATES = (3e-4, 1e-3, 3e-3)  # each start takes the best on the validation side with 400 labels
EPOCHS = {100: 10, 400: 10, 1600: 6, 8000: 2}


def fine_tuned(start: str, n: int, lr: float, seed: int = 0) -> tuple[float, float]:
    """The shares of validation and test sentences judged right after fine-tuning on n labels.

    Args:
        start: one of `STARTS`.
        n: labelled sentences, one of `EPOCHS`, which says how often each is seen.
        lr: the learning rate.
        seed: of the sentences drawn, of their order and of all new weights.

    Raises:
        ValueError: another start.
        KeyError: another n.

    Chapter: 13_bert_finetuning
    """
    checks.choice("start", start, STARTS)
    learn, *asked = (movies.polar(side) for side in movies.split(movies.load()))
    tokenizer = blank_filling.load_tokenizer()
    runtime.seed(seed)
    bert = Bert(bert_sotu.CONFIG)
    if start == "own":
        bert.load_state_dict(trained.load(bert_sotu.RECIPE).bert.state_dict())
    drawn = sentiment.draw_snippets(learn, n, seed)
    model = sentiment.fine_tune(bert, drawn, tokenizer, epochs=EPOCHS[n], lr=lr, seed=seed)
    valid, test = (sentiment.share_right(model, side, tokenizer) for side in asked)
    return valid, test


def _run() -> dict[str, Any]:
    """The rate that each start takes, and a row for each start and number of labels.

    Chapter: 13_bert_finetuning
    """
    rates, rows = {}, []
    for start in STARTS:
        rates[start] = max(RATES, key=lambda lr: fine_tuned(start, 400, lr)[0])
        for n in EPOCHS:
            _, accuracy = fine_tuned(start, n, rates[start])
            rows.append({"start": start, "labels": n, "accuracy": accuracy})
    return {"rates": rates, "rows": rows}


RECIPE = Experiment(name="own_sentiment", data=("sotu", "movies"), seed=0, run=_run)
