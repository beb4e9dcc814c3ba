"""Each chapter stands alone: a reader who has one notebook and nothing else can run it."""

import asyncio
import os
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

import execute
from setup_cell import ADDRESS, SETUP

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]_*.ipynb"))
# What a chapter leaves in its folder on purpose.
LEFT_BEHIND: dict[str, set[str]] = {}
# Another order of sets than in `make chapters`, so that no output depends on it.
ELSEWHERE = {"PYTHONPATH": "", "PYTHONHASHSEED": "1"}


def shown(cell: dict) -> list:
    """A cell's outputs but for pictures, whose bytes move between machines."""
    for output in cell["outputs"]:
        output.get("data", {}).pop("image/png", None)
    return cell["outputs"]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_runs_alone_in_an_empty_folder(path: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copy(path, tmp_path))
    stored = execute.read(alone).cells
    nb = asyncio.run(execute.run(execute.read(alone), tmp_path, ELSEWHERE))
    said = execute.clean(nb)
    assert said == []
    for before, now in zip(stored, nb.cells, strict=True):
        if now.cell_type == "code" and "nbval-ignore-output" not in now.metadata.get("tags", []):
            assert shown(now) == shown(before)
    left = {file.name for file in tmp_path.iterdir()} - {path.name}
    assert left == LEFT_BEHIND.get(path.stem, set())


def local_copy(folder: Path) -> Path:
    """The files as they stand, committed or not, as a repository that git can clone."""
    names = subprocess.run(
        [
            "git",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "lib",
            "*.*",
            "LICENSE",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file() and not name.startswith(("book/", "tests/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run([*git, "init", "-q"], cwd=folder, check=True)
    subprocess.run([*git, "add", "-A", "-f"], cwd=folder, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "as it stands"], cwd=folder, check=True)
    return folder


def test_the_setup_cell_installs_the_library(tmp_path: Path) -> None:
    """As on Colab: an environment with torch and the rest, but without the library."""
    fresh = tmp_path / "fresh"
    venv.create(fresh, with_pip=True)
    python = fresh / "bin" / "python"
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    # Only the named folder is added: its own .pth files, such as that of an editable install of
    # the library, are not followed.
    (Path(site) / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    env = {
        **{k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{local_copy(tmp_path / 'copy').as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": ADDRESS,
        "IPYTHONDIR": str(tmp_path / "ipython"),
    }
    find = "import importlib.util as u; print(u.find_spec('attnbook'), u.find_spec('torch').name)"
    before = subprocess.run(
        [python, "-c", find], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert before.stdout.split() == ["None", "torch"]

    show = "import attnbook.attention, torch; print(attnbook.__file__, torch.__file__, sep='\\n')"
    (tmp_path / "cell.ipy").write_text(f"{SETUP}\n{show}\n", encoding="utf-8")
    after = subprocess.run(
        [python, "-m", "IPython", "--no-banner", "cell.ipy"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    assert after.returncode == 0, after.stdout + after.stderr
    library, torch = after.stdout.splitlines()[-2:]
    assert Path(library).is_relative_to(site)
    assert not Path(torch).is_relative_to(fresh)  # there was one, and it was kept
