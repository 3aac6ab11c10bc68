"""What every notebook must do when it is run: the same twice, each stop of each widget, each exercise right and wrong.

One kernel for each notebook runs every cell twice; then the exercises are tried in that kernel, as a learner would.
"""

from __future__ import annotations

import copy
import re
from importlib.util import module_from_spec, spec_from_file_location

import nbformat
import pytest
from nbclient import NotebookClient
from pages import PAGES, ROOT, Page, plain, solution, stub_and_check, tags

DRIVE = """
from labsupport.lesson.switch import Switch
for name, switch in [(n, s) for n, s in sorted(globals().items()) if isinstance(s, Switch) and not n.startswith("_")]:
    fallback, stops = switch.static_html(), switch.every_stop()
    for stop in stops:
        panel = switch.choose(**stop)
        assert panel == switch.shown_at(**stop), stop
        assert panel in fallback, stop
        assert "This stop could not be shown" not in panel, stop
    for selector in switch.stops:
        assert 2 <= len(switch.stops[selector]) <= 18, selector
    panels = {switch.choose(**stop) for stop in stops}
    assert len(panels) > 1, f"{name}: every stop shows the same"
    print(name, len(stops))
"""


class Ran:
    """A notebook that was executed here, with its kernel still alive."""

    def __init__(self, page: Page):
        self.page, self.notebook = page, copy.deepcopy(page.notebook)
        self.skipped = [tag for cell in page.code for tag in tags(cell) if tag.startswith("needs-")]
        self.client = NotebookClient(
            self.notebook, timeout=120, record_timing=False, resources={"metadata": {"path": page.path.parent}}
        )
        self.outputs: dict[int, tuple[list, list]] = {}

    def run_every_cell_twice(self) -> None:
        for place, cell in enumerate(self.notebook.cells):
            if cell.cell_type == "code" and not any(tag.startswith("needs-") for tag in tags(cell)):
                once = comparable(self.client.execute_cell(cell, place).outputs)
                self.outputs[place] = once, comparable(self.client.execute_cell(cell, place).outputs)

    def run(self, source: str):
        """Run some lines in the notebook's kernel; returns the cell."""
        self.notebook.cells.append(nbformat.v4.new_code_cell(source))
        return self.client.execute_cell(self.notebook.cells[-1], len(self.notebook.cells) - 1)


@pytest.fixture(scope="module")
def ran(request):
    run = Ran(request.param)
    with run.client.setup_kernel():
        run.run_every_cell_twice()
        if run.skipped:
            print(f"{run.page.path.name}: not run here: {', '.join(run.skipped)}")
        yield run


each_notebook = pytest.mark.parametrize("ran", PAGES, indirect=True, ids=lambda page: page.path.stem)


def comparable(outputs) -> list:
    """What nbval would compare: no widget ids, no counts, no pixels."""
    kept = []
    for output in copy.deepcopy(outputs):
        data = {
            kind: re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]+", "PNG", text) if isinstance(text, str) else text
            for kind, text in output.get("data", {}).items()
            if "widget-view" not in kind
        }
        kept.append((output.output_type, data, output.get("text", ""), output.get("ename", "")))
    return kept


def wrong_answers(number: str) -> dict[str, list[tuple[str, str]]]:
    path = ROOT / "tests" / "wrong_answers" / f"nb{number}.py"
    spec = spec_from_file_location(f"wrong_answers_nb{number}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.WRONG


def test_there_is_something_to_run():
    assert PAGES


@each_notebook
def test_running_any_cell_twice_changes_nothing(ran: Ran):
    assert ran.outputs
    for place, (once, twice) in ran.outputs.items():
        cell = ran.page.cells[place]
        assert once == comparable(cell.outputs), f"not what is stored under:\n{cell.source}"
        assert twice == once, f"the second run differs under:\n{cell.source}"


@each_notebook
def test_every_stop_of_every_switch_shows_what_the_page_without_a_kernel_shows(ran: Ran):
    driven = ran.run(DRIVE)
    said = "".join(output.text for output in driven.outputs)  # a slow machine sends what is printed in pieces
    stops = dict(line.split() for line in said.splitlines())
    displayed = [cell for cell in ran.page.code if plain(cell).startswith("Switch · ")]
    assert len(stops) == len(displayed), "give each Switch a name of its own"
    for name in stops:
        for table in re.findall(rf"side_by_side\({name}, .*\)", "\n".join(cell.source for cell in ran.page.code)):
            proof = f"_t = {table}.html\nassert all({name}.shown_at(**stop) in _t for stop in {name}.every_stop())"
            ran.run(proof)


@each_notebook
def test_each_solution_is_right_in_the_place_of_its_stub(ran: Ran):
    exercises = list(ran.page.calls("check"))
    assert exercises
    for place, id, cell in exercises:
        stub, call = stub_and_check(cell)
        assert f"exercise {id} · not tried yet" in plain(ran.run(f"{stub}\n{call}"))
        verdict = plain(ran.run(f"{solution(ran.page.cells[place + 1])}\n{call}"))
        assert f"exercise {id} · right" in verdict, verdict


@each_notebook
def test_each_usual_mistake_is_told_wrong_in_a_sentence_of_its_own(ran: Ran):
    mistakes = wrong_answers(ran.page.number)
    assert list(mistakes) == list(ran.page.story.EXERCISES)
    for _, id, cell in ran.page.calls("check"):
        assert len(mistakes[id]) >= 3, f"{id}: three usual mistakes at least"
        call, heard = stub_and_check(cell)[1], []
        for source, sentence in mistakes[id]:
            verdict = plain(ran.run(f"{source}\n{call}"))
            assert f"exercise {id} · wrong" in verdict and sentence in verdict, f"{source}\n→ {verdict}\nexpected: {sentence}"
            heard.append(verdict)
        assert len(set(heard)) == len(heard), f"{id}: two mistakes get the same sentence"
