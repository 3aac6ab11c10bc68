"""Every public report of a real fault is held by a test that exists, or by a reason why it is none of ours."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
REPORTS = TESTS.parents[1] / "shared" / "cases" / "public_reports.jsonl"
LISTED = (TESTS / "case_ids.txt").read_text(encoding="utf-8")
IDS = [name for line in LISTED.splitlines() if not line.startswith("#") for name in line.split()]


@cache
def parsed() -> dict[str, ast.Module]:
    return {path.name: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(TESTS.glob("test_*.py"))}


@cache
def mapped() -> dict[str, list[tuple[str, str]]]:
    """By case id: (file, what its `CASES` says). Read, not imported: a test file may need what is not installed here."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, tree in parsed().items():
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
            if [getattr(target, "id", "") for target in targets] == ["CASES"]:
                for case, where in ast.literal_eval(node.value).items():
                    found.setdefault(case, []).append((name, where))
    return found


def defined_in(name: str) -> set[str]:
    assert name in parsed(), f"no test file {name}"
    return {node.name for node in parsed()[name].body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_there_are_reports_and_none_is_listed_twice():
    assert len(IDS) == len(set(IDS)) == 98


@pytest.mark.skipif(not REPORTS.is_file(), reason="the public reports are not here; their committed ids are used")
def test_the_committed_ids_are_those_of_the_reports():
    assert [json.loads(line)["id"] for line in REPORTS.read_text(encoding="utf-8").splitlines()] == IDS


@pytest.mark.parametrize("area", sorted({name[0] for name in IDS}))
def test_every_report_of_the_area_is_held(area):
    missing = [case for case in IDS if case[0] == area and case not in mapped()]
    assert not missing, f"no test holds {', '.join(missing)}"


def test_what_is_named_exists():
    """A test of the same file, `test_other.py::test_name`, or `exempt: ` and a reason."""
    assert mapped()
    for case, places in mapped().items():
        assert case in IDS, f"{case} in {places} is no report that we know"
        for file, where in places:
            if where.startswith("exempt: "):
                assert len(where.split()) > 4, f"{case} in {file} is exempt without a reason"
                continue
            other, _, name = where.rpartition("::")
            assert re.fullmatch(r"test_\w+", name) and name in defined_in(other or file), f"{case} in {file}: no test {where}"
