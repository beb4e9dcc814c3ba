"""Each chapter stands alone: a reader who has one notebook and nothing else can run it."""

import os
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

from alone import copy_chapters, left_behind
from setup_cell import ADDRESS, SETUP

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent


def test_each_chapter_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    book, alone = tmp_path / "book", tmp_path / "alone"
    book.mkdir()
    for name in ("01_a.ipynb", "02_b.ipynb", "intro.md", "notes.ipynb"):
        (book / name).write_text(name, encoding="utf-8")
    (alone / "old").mkdir(parents=True)
    copy_chapters(book, alone)
    assert sorted(p.name for p in alone.iterdir()) == ["01_a", "02_b"]
    assert (alone / "01_a" / "01_a.ipynb").read_text(encoding="utf-8") == "01_a.ipynb"
    assert left_behind(alone) == []
    (alone / "02_b" / "model.pt").touch()
    (alone / "02_b" / "01_a.ipynb").touch()
    assert left_behind(alone) == ["02_b/01_a.ipynb", "02_b/model.pt"]


def test_every_chapter_of_the_book_is_copied(tmp_path: Path) -> None:
    copy_chapters(alone=tmp_path / "alone")
    found = sorted(path.name for path in tmp_path.rglob("*.ipynb"))
    assert found == sorted(path.name for path in (ROOT / "book").glob("[0-9]*.ipynb"))
    assert found


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
