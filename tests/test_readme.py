"""The README, the Makefile and the servers' files say the same."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from setup_cell import ADDRESS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def public_targets() -> set[str]:
    """Those with a line in `make help`."""
    return set(re.findall(r"^([a-z-]+):.*##", MAKEFILE, re.MULTILINE))


def named_targets(text: str) -> set[str]:
    """Those that a text names in a command: `make book`, not "make sure"."""
    code = re.findall(r"^```.*?^```|`[^`\n]+`", text, re.DOTALL | re.MULTILINE)
    return set(re.findall(r"\bmake +([a-z-]+)", "\n".join(code)))


def test_the_readme_names_the_targets_that_there_are() -> None:
    assert named_targets(README) == public_targets()


def test_contributing_names_targets_that_there_are() -> None:
    named = named_targets((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert named
    assert named <= public_targets()


def test_every_target_that_is_no_file_is_phony() -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    assert targets == set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split())


def test_the_readme_and_contributing_are_short() -> None:
    assert len(README.splitlines()) <= 80
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 10


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_to_files(name: str) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", (ROOT / name).read_text(encoding="utf-8"))
    files = [link.partition("#")[0] for link in links if not link.startswith("https://")]
    assert [file for file in files if file and not (ROOT / file).exists()] == []
    assert not [link for link in links if link.startswith("http://")]


def test_pictures_have_alternative_text() -> None:
    pictures = re.findall(r"!\[(.*?)\]\((.*?)\)", README)
    assert [path for _, path in pictures] == ["book/_static/page.png"]
    assert all(len(alt) >= 40 for alt, _ in pictures)


def test_the_readmes_python_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_the_readme_says_the_address_and_the_pythons() -> None:
    assert f'pip install "attnbook @ git+{ADDRESS}"' in README
    matrix = workflow("test")["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert matrix == ["3.11", "3.12", "3.13"]
    assert "Python 3.11, 3.12 or 3.13" in README


# The servers' files


def workflow(name: str) -> dict:
    return yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_targets_that_there_are_and_may_do_little(path: Path) -> None:
    flow = workflow(path.stem)
    assert flow[True]  # YAML 1.1 reads the key `on` so
    assert flow["permissions"] == {"contents": "read"}
    steps = [step for job in flow["jobs"].values() for step in job["steps"]]
    runs = "\n".join(step["run"] for step in steps if "run" in step)
    assert named_targets(f"`{runs}`".replace("\n", "`\n`")) <= public_targets()
    for step in steps:
        assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/none@v1"))


def test_the_workflows_are_these() -> None:
    assert [path.stem for path in WORKFLOWS] == ["publish", "test", "weekly"]
    assert workflow("publish")["jobs"]["deploy"]["permissions"] == {
        "pages": "write",
        "id-token": "write",
    }
    for name in ("test", "weekly"):
        (job,) = workflow(name)["jobs"].values()
        assert job["steps"][-1] == {"run": "make test"}


def test_the_weekly_workflow_lifts_the_bounds(tmp_path: Path) -> None:
    (job,) = workflow("weekly")["jobs"].values()
    (sed,) = (s["run"] for s in job["steps"] if s.get("run", "").startswith("sed "))
    asked = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    # -i is written in another way on macOS.
    command = [part for part in shlex.split(sed) if part not in ("-i", "requirements.txt")]
    lifted = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout

    def lines(text: str) -> list[str]:
        return [s for line in text.splitlines() if (s := line.partition("#")[0].strip())]

    assert len(lines(lifted)) == len(lines(asked))
    for before, after in zip(lines(asked), lines(lifted), strict=True):
        if before.startswith(("jupyter-book", "sphinx")):
            assert after == before
        else:
            assert re.fullmatch(r"[a-z-]+(>=[\d.]+)?", after)
            assert before.startswith(after)


def test_ci_run_is_the_test_command_and_needs_no_browser_twice() -> None:
    path = ROOT / ".ci" / "run"
    assert os.access(path, os.X_OK)
    text = path.read_text(encoding="utf-8")
    assert text.splitlines()[0] == "#!/usr/bin/env bash"
    assert "set -euo pipefail" in text
    assert text.rstrip().splitlines()[-1] == "make test"


def fake(folder: Path, name: str, then: str = "") -> None:
    """A program that only writes down how it was called."""
    path = folder / name
    path.write_text(f'#!/bin/sh\necho {name} "$@" >> "$LOG"\n{then}\n')
    path.chmod(0o755)


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("rc", [0, 3])
def test_ci_run_installs_chromium_only_where_there_is_none(tmp_path, there, rc) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "dirname", "env"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    fake(programs, "id", "echo 0")
    fake(programs, "apt-get")
    fake(programs, "make", f"exit {rc}")
    if there:
        fake(programs, "chromium")
    log = tmp_path / "log"
    env = {"PATH": str(programs), "LOG": str(log)}
    run = subprocess.run([ROOT / ".ci" / "run"], env=env, cwd=tmp_path, check=False)
    called = [line for line in log.read_text().splitlines() if not line.startswith("id")]
    assert run.returncode == rc
    assert called[-1] == "make test"
    assert [" ".join(line.split()[:2]) for line in called[:-1]] == (
        [] if there else ["apt-get update", "apt-get install"]
    )[: len(called) - 1]
    assert len(called) == (1 if there else 3)
