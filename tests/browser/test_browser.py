"""Every notebook in JupyterLab as `make lab` starts it, in a real browser: run, switch, read, and nothing leaves the machine.

A notebook joins by being there. `make test-browser ARGS="-k 05"` drives one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from jupyterlab_driver import OpenNotebook, Switcher
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
HERE = re.compile(r"(https?|wss?)://127\.0\.0\.1:\d+/|(data|blob|about):")
LOOPBACK = re.compile(r"(127\.[\d.]+|::1|localhost)$")


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def ran(request, browser, lab) -> Iterator[OpenNotebook]:
    """One notebook, opened and run from top to bottom."""
    notebook = OpenNotebook(browser.new_page(viewport={"width": 1280, "height": 1000}), lab.url, lab.token, request.param.name)
    notebook.run_all()
    yield notebook
    notebook.page.close()
    lab.end_kernels()


def test_there_are_notebooks_to_drive():
    assert any(path.name.startswith("05-") for path in NOTEBOOKS), "notebook 05 is the one that must be driven"


def test_every_cell_runs_and_none_complains(ran):
    assert ran.errors() == []
    assert ran.page_errors == []


def the_switchers(notebook: OpenNotebook) -> list[Switcher]:
    found = notebook.switchers()
    assert found, f"{notebook.name} has no switcher: each notebook lets the learner switch the principal"
    assert all(len(options) > 1 for switcher in found for options in switcher.options())
    return found


def test_every_stop_of_every_switcher_reads_as_on_the_page_without_a_kernel(ran):
    for switcher in the_switchers(ran):
        stops = {switcher.shows(labels) for labels in switcher.walk()}
        assert stops == set(switcher.fallback), "a stop of the static page cannot be reached"


def test_the_principal_is_switched_by_mouse(ran):
    for switcher in the_switchers(ran):
        switcher.point_at(1)
        switcher.shows(switcher.chosen())
        assert switcher.chosen()[0] == switcher.options()[0][1]


def test_the_principal_is_switched_by_keyboard_alone(ran):
    """JupyterLab takes ↓ and letters pressed in a list for its own shortcuts; our settings leave them to the list."""
    cells = ran.cell_kinds()
    for switcher in the_switchers(ran):
        first, second = switcher.options()[0][:2]
        dropdown = switcher.dropdowns[0]
        dropdown.select_option(label=first)
        dropdown.focus()
        for key, label in (("ArrowDown", second), ("ArrowUp", first), ("End", switcher.options()[0][-1]), ("Home", first)):
            ran.page.keyboard.press(key)
            expect(dropdown).to_be_focused()
            assert switcher.chosen()[0] == label, f"after {key}"
            switcher.shows(switcher.chosen())
        ran.page.keyboard.press("m")  # in command mode this would turn the cell into prose
    assert ran.cell_kinds() == cells


def test_the_outputs_are_accessible(ran):
    found = Axe().run(ran.page, context={"include": [[".jp-OutputArea"]]}).response
    assert found["passes"], "axe looked at nothing"
    faults = [f"{rule['id']} ({rule['impact']}): {node['html'][:200]}" for rule in found["violations"] for node in rule["nodes"]]
    assert not faults, "\n".join(faults)


def test_no_output_is_wider_than_a_laptop_shows(ran):
    """Whatever must be scrolled sideways is not read: not from the back of a room, not by a screen magnifier, not in print."""
    assert ran.too_wide() == []


def test_the_page_asks_nobody_but_this_machine(ran):
    """It has been opened, run and switched by now."""
    assert len(ran.requests) > 10, "the page's requests were not seen"
    assert [url for url in ran.requests if not HERE.match(url)] == []


def test_the_server_and_the_kernels_ask_nobody_but_this_machine(ran, lab):
    heard = lab.heard()
    assert heard.count("witness here") >= 2, "the server and a kernel write down what they connect to"
    assert [line for line in heard if line != "witness here" and not LOOPBACK.search(line)] == []


def test_no_news_is_fetched_or_asked_for(ran):
    assert ran.page.locator(".Toastify__toast, .jp-toast").all_text_contents() == []
    assert ran.page.locator("[data-id='extensionmanager.main-view']").count() == 0
