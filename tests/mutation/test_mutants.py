"""Put a wrong design into a copy of the project: a test and a notebook must go red. `make test-mutants`.

A lesson whose notebook stays green while the rule that it teaches is broken teaches nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = tomllib.loads(Path(__file__).with_name("mutants.toml").read_text(encoding="utf-8"))["mutant"]
PARTS = ("labsupport", "data", "tests", "notebooks", "pyproject.toml", "nbval_sanitize.cfg")

pytestmark = pytest.mark.mutants


def mutated(tmp_path: Path, changes: list[list[str]]) -> Path:
    """A copy of the project with these changes; each replaced text must stand exactly once, or the mutant is stale."""
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
        else:
            shutil.copy(source, tmp_path / part)
    for name, old, new in changes:
        file = tmp_path / "labsupport" / name
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{name} holds {text.count(old)} times: {old}"
        file.write_text(text.replace(old, new), encoding="utf-8")
    return tmp_path


def outcome(copy: Path, *args: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-n0", "-q", "-x", "-p", "no:cacheprovider", "-m", "not browser and not mutants"]
    run = subprocess.run([*command, *args], cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)}, capture_output=True, text=True)
    return run.returncode, run.stdout[-2000:]


def test_the_copy_is_green_where_nothing_is_changed(tmp_path):
    """Else every mutant below would be killed by the copying."""
    copy = mutated(tmp_path, [])
    assert MUTANTS
    code, said = outcome(copy, "tests/test_entitlement.py")
    assert code == 0, said
    code, said = outcome(copy, "--nbval", str(notebook(copy, "00")))
    assert code == 0, said


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant["name"])
def test_a_wrong_design_turns_a_test_and_a_notebook_red(mutant, tmp_path):
    copy = mutated(tmp_path, mutant["change"])
    for where, args in (("tests", mutant["tests"]), ("notebook", ["--nbval", str(notebook(copy, mutant["notebook"]))])):
        code, said = outcome(copy, *args)
        assert code == 1, f"{where} stayed green (pytest's exit code {code}) with: {mutant['name']}\n{said}"


def notebook(copy: Path, number: str) -> Path:
    found, = (copy / "notebooks").glob(f"{number}-*.ipynb")
    return found.relative_to(copy)
