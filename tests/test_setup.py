"""The two commands and JupyterLab's settings: what they start, what they never touch, what they say where something is missing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from labsupport.lesson.launch import arguments, bring_missing, page_of, renew, settings

ROOT = Path(__file__).resolve().parents[1]
ETC = ROOT / ".jupyter" / "etc" / "jupyter"


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture
def notebooks(tmp_path) -> Path:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for name in ("00-start.ipynb", "05-pre-filter.ipynb"):
        (folder / name).write_text(f"as published: {name}", encoding="utf-8")
    return folder


def test_a_working_copy_is_filled_and_never_written_over(notebooks, tmp_path):
    copy = tmp_path / "my-lab"
    assert bring_missing(notebooks, copy) == ["00-start.ipynb", "05-pre-filter.ipynb"]
    (copy / "00-start.ipynb").write_text("my answers", encoding="utf-8")
    (copy / "05-pre-filter.ipynb").unlink()
    (notebooks / "12-gallery.ipynb").write_text("as published", encoding="utf-8")
    assert bring_missing(notebooks, copy) == ["05-pre-filter.ipynb", "12-gallery.ipynb"]
    assert (copy / "00-start.ipynb").read_text(encoding="utf-8") == "my answers"
    assert bring_missing(notebooks, copy) == []


@pytest.mark.parametrize("answer", ["", "no", "y", "Yes please"])
def test_a_working_copy_is_renewed_only_by_a_plain_yes(notebooks, tmp_path, answer):
    copy = tmp_path / "my-lab"
    bring_missing(notebooks, copy)
    (copy / "00-start.ipynb").write_text("my answers", encoding="utf-8")
    assert renew(notebooks, copy, answer=answer) is False
    assert (copy / "00-start.ipynb").read_text(encoding="utf-8") == "my answers"
    assert renew(notebooks, copy, answer="yes\n") is True
    assert (copy / "00-start.ipynb").read_text(encoding="utf-8") == "as published: 00-start.ipynb"


def test_reset_changes_nothing_where_nobody_can_answer(notebooks, tmp_path):
    copy = tmp_path / "my-lab"
    bring_missing(notebooks, copy)
    (copy / "00-start.ipynb").write_text("my answers", encoding="utf-8")
    command = [sys.executable, "-m", "labsupport.lesson.launch", "--reset", "--copy", str(copy)]
    said = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    assert "Nothing was changed." in said
    assert (copy / "00-start.ipynb").read_text(encoding="utf-8") == "my answers"


def test_the_lab_opens_on_the_notebook_that_was_asked_for(notebooks):
    assert page_of(notebooks, "00") == "/lab/tree/00-start.ipynb"
    assert page_of(notebooks, "05") == "/lab/tree/05-pre-filter.ipynb"
    assert page_of(notebooks, "07") == "/lab"


def test_root_is_allowed_only_where_root_starts_it(notebooks):
    assert "--allow-root" in arguments(notebooks, "00", as_root=True)
    assert "--allow-root" not in arguments(notebooks, "00", as_root=False)
    assert "--ServerApp.ip=127.0.0.1" in arguments(notebooks, "00", as_root=False)


def test_what_jupyterlab_saves_stays_in_the_working_copy(tmp_path):
    assert len(settings(tmp_path)) == 3
    assert all(Path(folder).is_relative_to(tmp_path) for folder in settings(tmp_path).values())


def test_my_lab_and_the_environments_are_never_committed():
    assert {"my-lab/", ".venv/", ".uv/"} <= set(text(".gitignore").splitlines())


def test_nothing_asks_for_news_updates_or_extensions():
    lab = json.loads((ETC / "jupyter_lab_config.json").read_text(encoding="utf-8"))["LabApp"]
    assert lab == {
        "news_url": None,
        "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "extension_manager": "readonly",
    }
    disabled = json.loads((ETC / "labconfig" / "page_config.json").read_text(encoding="utf-8"))["disabledExtensions"]
    assert disabled["@jupyterlab/apputils-extension:announcements"] and disabled["@jupyterlab/extensionmanager-extension"]


def holds(whole: object, part: object) -> bool:
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(key in whole and holds(whole[key], value) for key, value in part.items())
    return whole == part


def test_the_environment_holds_the_settings_that_the_repository_states():
    files = sorted(path.relative_to(ETC) for path in ETC.rglob("*.json"))
    assert len(files) == 3
    for file in files:
        stated = json.loads((ETC / file).read_text(encoding="utf-8"))
        installed = json.loads((Path(sys.prefix) / "etc" / "jupyter" / file).read_text(encoding="utf-8"))
        # JupyterLab itself adds to page_config.json when it starts.
        assert holds(installed, stated), f"{file} changed since it was installed: run `make env`"


def test_every_key_pressed_in_a_list_goes_to_the_list():
    """JupyterLab's command mode takes ↓ and single letters from a focused dropdown (ipywidgets issue 3912): `m` turns the cell
    into prose. The settings state each such shortcut again, for everything but a list."""
    focus = ".jp-Notebook.jp-mod-commandMode:not(.jp-mod-readWrite) :focus"
    schemas = sorted((Path(sys.prefix) / "share" / "jupyter" / "lab" / "schemas").rglob("*.json"))
    shortcuts = [one for path in schemas for one in json.loads(path.read_text(encoding="utf-8")).get("jupyter.lab.shortcuts", [])]
    in_command_mode = [one for one in shortcuts if one["selector"] == focus and one["keys"]]
    plain = [one for one in in_command_mode if not re.search("Accel|Ctrl|Alt", " ".join(one["keys"]))]
    assert {"ArrowDown", "ArrowUp", "M", "D"} <= {one["keys"][0] for one in plain}
    wanted = [entry for one in plain for entry in ({**one, "disabled": True}, {**one, "selector": f"{focus}:not(select)"})]
    stated = json.loads((ETC / "labconfig" / "default_setting_overrides.json").read_text(encoding="utf-8"))
    stated = stated["@jupyterlab/shortcuts-extension:shortcuts"]["shortcuts"]
    assert sorted(map(json.dumps, stated)) == sorted(map(json.dumps, wanted)), "JupyterLab's shortcuts changed: state them as above"


def test_the_suite_is_strict_and_keeps_a_notebook_in_one_worker():
    options = tomllib.loads(text("pyproject.toml"))["tool"]["pytest"]["ini_options"]
    assert options["testpaths"] == ["tests", "notebooks"]
    line = " ".join(options["addopts"])
    assert "-n 2 --dist loadscope" in line
    for option in ("current-env", "cell-timeout=120", "sanitize-with=nbval_sanitize.cfg"):
        assert f"--nbval-{option}" in line
    assert "--nbval-lax" not in text("pyproject.toml") + text("Makefile") + text(".ci/run")


def test_what_ci_runs_is_what_the_readme_tells_a_newcomer_to_run():
    targets = set(re.findall(r"^([a-z-]+):.*##", text("Makefile"), re.MULTILINE))
    in_readme = set(re.findall(r"^make ([a-z-]+)", text("README.md"), re.MULTILINE))
    in_ci = set(re.findall(r"^make ([a-z-]+)", text(".ci/run"), re.MULTILINE))
    assert {"lab", "test"} <= in_readme <= targets
    assert {"test", "test-browser"} <= in_ci <= targets
    assert "$(PY) -m pytest --nbval $(ARGS)" in text("Makefile")


@pytest.fixture
def checkout(tmp_path) -> Path:
    """The files that set-up reads, in a folder without an environment."""
    for name in (".ci", ".jupyter"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def set_up(folder: Path, **variables: str) -> subprocess.CompletedProcess:
    without_make = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "PYTHON", "INSTALLER"))}
    return subprocess.run(["/bin/sh", ".ci/setup"], cwd=folder, env=without_make | variables, capture_output=True, text=True)


def test_set_up_says_that_there_is_no_python(checkout, tmp_path):
    (tmp_path / "tools").mkdir()
    for tool in ("cat", "cksum", "find", "sort", "sed"):
        (tmp_path / "tools" / tool).symlink_to(shutil.which(tool))
    done = set_up(checkout, PATH=str(tmp_path / "tools"))
    assert done.returncode == 1
    assert "no Python 3.11 or later was found (python3 here: none)" in done.stderr and "make lab PYTHON=" in done.stderr


def a_python(folder: Path, body: str) -> str:
    path = folder / "a-python"
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_set_up_says_that_a_python_is_too_old(checkout, tmp_path):
    old = a_python(tmp_path, 'case "$1" in --version) echo Python 3.9.6;; *) exit 1;; esac')
    done = set_up(checkout, PYTHON=old)
    assert done.returncode == 1
    assert f"PYTHON={old} is no Python 3.11 or later (it says: Python 3.9.6)" in done.stderr


def test_set_up_says_that_the_venv_module_is_missing(checkout, tmp_path):
    bare = a_python(tmp_path, f'case "$2" in *ensurepip*) exit 1;; *) exec "{sys.executable}" "$@";; esac')
    done = set_up(checkout, PYTHON=bare)
    assert done.returncode == 1
    assert "has no venv module" in done.stderr and "python3-venv" in done.stderr
    assert not (checkout / ".venv").exists()


def test_set_up_says_that_there_is_no_network(checkout, tmp_path):
    """The address is this machine's own, and nobody listens there. (The environment borrows pip: making one takes seconds.)"""
    borrow = f'case "$2" in venv) exec "{sys.executable}" -m venv --without-pip --system-site-packages .uv;; esac'
    python = a_python(tmp_path, f'{borrow}\nexec "{sys.executable}" "$@"')
    closed = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": "", "PIP_RETRIES": "0"}
    done = set_up(checkout, PYTHON=python, PIP_CONFIG_FILE=os.devnull, PIP_NO_CACHE_DIR="1", **closed)
    assert done.returncode == 1
    assert "needs a network" in done.stderr and "run the same command again" in done.stderr


def test_set_up_touches_no_folder_that_is_not_an_environment(checkout):
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "mine.txt").write_text("mine", encoding="utf-8")
    done = set_up(checkout)
    assert done.returncode == 1 and ".venv exists and is no Python environment" in done.stderr
    assert (checkout / ".venv" / "mine.txt").read_text(encoding="utf-8") == "mine"


def test_a_second_set_up_has_nothing_to_do_until_something_changes(checkout):
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (checkout / ".venv" / "pyvenv.cfg").touch()
    noted = re.search("^made_from=.*", text(".ci/setup"), re.MULTILINE).group() + '; printf "%s\\n" "$made_from" >.venv/.made-from'
    subprocess.run(["/bin/sh", "-c", noted], cwd=checkout, check=True)
    done = set_up(checkout)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for file in ("pyproject.toml", "requirements.lock", ".jupyter/etc/jupyter/jupyter_lab_config.json"):
        before = (checkout / file).read_bytes()
        (checkout / file).write_bytes(before + b"\n")
        # Nothing may be installed here: the interpreter that is named for fetching the installer is none.
        assert "Filling .venv" in set_up(checkout, PYTHON="/bin/false").stderr, file
        (checkout / file).write_bytes(before)


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no git checkout: which files are committed is not known")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_committed_file_names_a_machine_or_a_package_registry():
    machine = re.compile(rb"/(root|home/\w+|Users/\w+|work/(main|shared))/")
    registry = re.compile(rb"\b(pypi|pythonhosted|npmjs|anaconda|debian)\.(org|com|net)\b")
    files = tracked()
    assert len(files) > 50
    named = {f"{path.relative_to(ROOT)}: {hit.group().decode()}" for path in files for rule in (machine, registry)
             for hit in [rule.search(path.read_bytes())] if hit}
    assert named == set()


def test_ruff_has_nothing_to_say():
    command = [sys.executable, "-m", "ruff", "check", "--output-format=concise", "."]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout
