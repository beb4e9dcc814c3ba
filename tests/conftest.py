"""What all tests share: the checker of annotations, one thread, stable draws, no windows."""

import os
import tempfile
from pathlib import Path

import matplotlib
import pytest
import torch
from hypothesis import configuration, settings
from jaxtyping import config, install_import_hook

# Before anything imports attnbook: every annotated shape is checked in every test.
install_import_hook("attnbook", "beartype.beartype")
matplotlib.use("Agg")
torch.set_num_threads(1)  # small tensors; two workers side by side use both cores

configuration.set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "attnbook-hypothesis")
settings.register_profile(
    "book",
    max_examples=25,
    deadline=None,  # a busy machine is not a fault of the code
    database=None,
    derandomize="CI" in os.environ,  # the same examples on each run of the same commit
)
settings.load_profile("book")


@pytest.fixture(autouse=True)
def seeded():
    """Each test starts from the same random numbers, whichever ran before it."""
    torch.manual_seed(0)


@pytest.fixture
def plain():
    """Without the checker of annotations, as readers run the library: its own errors show."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)
