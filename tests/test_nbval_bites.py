"""Proof that strict nbval bites: in a small notebook every honest cell passes, and a copy of it that tells a small lie fails.

The notebook shows a number, a ranking and a refusal of the real package. All lies stand in one file, so that one kernel will do.
"""

from __future__ import annotations

import copy
import re
import subprocess
import sys

import nbformat
import pytest
from pages import ROOT

from labsupport.lesson.execute import run, write

SET_UP = "from labsupport import QueryRefused, load_world, show_hits\nnorthline = load_world('northline')\nlen(northline.documents)"
NUMBERS = (
    "hits = northline.retriever.retrieve('How many weeks is parental leave?', northline.principals['eli']).hits\n"
    "show_hits(hits, 'Eli asks', scale='rerank')"
)
RANKING = "[hit.chunk_id for hit in hits]"
REFUSAL = "northline.retriever.retrieve('   ', northline.principals['eli'])"
HONEST = [SET_UP, NUMBERS, RANKING, REFUSAL]


def a_number_is_changed(cell):
    cell.outputs[0].data["text/plain"] = re.sub(r"\d(?=\D*$)", _next_digit, cell.outputs[0].data["text/plain"], count=1)


def a_number_is_changed_in_the_page_form_alone(cell):
    cell.outputs[0].data["text/html"] = re.sub(r"(?<=0\.)\d", _next_digit, cell.outputs[0].data["text/html"], count=1)


def two_hits_are_swapped(cell):
    first, second = re.findall(r"'[^']+'", cell.outputs[0].data["text/plain"])[:2]
    swapped = cell.outputs[0].data["text/plain"].replace(first, "?").replace(second, first).replace("?", second)
    cell.outputs[0].data["text/plain"] = swapped


def a_closed_id_is_inserted(cell):
    cell.outputs[0].data["text/plain"] = cell.outputs[0].data["text/plain"].replace("[", "['comp#compensation/l5', ", 1)


def an_output_is_missing(cell):
    cell.outputs = []


def a_refusal_becomes_a_success(cell):
    cell.source = cell.source.replace("'   '", "'leave'")


def a_success_becomes_a_refusal(cell):
    cell.source += "\nraise QueryRefused('no')"


LIES = [
    (NUMBERS, a_number_is_changed),
    (NUMBERS, a_number_is_changed_in_the_page_form_alone),
    (RANKING, two_hits_are_swapped),
    (RANKING, a_closed_id_is_inserted),
    (RANKING, an_output_is_missing),
    (RANKING, a_success_becomes_a_refusal),
    (REFUSAL, a_refusal_becomes_a_success),
]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> list[str]:
    """What strict nbval says of each cell: the honest ones, then one for each lie, each lie a copy of an honest cell."""
    folder = tmp_path_factory.mktemp("lies")
    cells = [nbformat.v4.new_code_cell(source) for source in [*HONEST, *(source for source, _ in LIES)]]
    for cell in cells:
        cell.metadata["tags"] = ["raises-exception"] if cell.source == REFUSAL else []
    notebook = run(nbformat.v4.new_notebook(cells=cells), folder)
    for (_, lie), cell in zip(LIES, notebook.cells[len(HONEST) :], strict=True):
        before = copy.deepcopy(cell)
        lie(cell)
        assert cell != before, f"{lie.__name__} told no lie"
    write(notebook, folder / "lies.ipynb")
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-o", "addopts=", "-p", "no:cacheprovider"]
    command += ["--nbval-sanitize-with", str(ROOT / "nbval_sanitize.cfg"), "-v", "--color=no", "--tb=no", str(folder)]
    said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout
    found = re.findall(r"lies\.ipynb::Cell \d+ ([A-Z]+)", said)
    assert len(found) == len(cells), said
    return found


def test_the_honest_cells_pass(outcomes):
    assert outcomes[: len(HONEST)] == ["PASSED"] * len(HONEST)


@pytest.mark.parametrize("place", range(len(LIES)), ids=[lie.__name__ for _, lie in LIES])
def test_a_lie_fails(outcomes, place):
    assert outcomes[len(HONEST) + place] == "FAILED"


def test_only_pixels_are_ever_masked():
    """An id, a title, a rank, a score or a verdict must never be masked, so one rule is all that may stand here."""
    lines = (ROOT / "nbval_sanitize.cfg").read_text(encoding="utf-8").splitlines()
    rules = [line.partition(":")[2].strip() for line in lines if line.startswith("regex:")]
    assert len(rules) == 1 and rules[0].startswith("data:image/png;base64,")
    page = '<img alt="Eleven birds agree. 1.6629" src="data:image/png;base64,iVBORw0KGgo="> comp 0.5'
    assert re.sub(rules[0], "PIXELS", page) == '<img alt="Eleven birds agree. 1.6629" src="PIXELS"> comp 0.5'


def _next_digit(digit: re.Match) -> str:
    return str((int(digit[0]) + 1) % 10)
