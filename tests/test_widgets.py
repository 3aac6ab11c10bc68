"""Widgets as public reports know them to fail: callbacks that fire too often, pile up, or leave a page blank without a kernel."""

from __future__ import annotations

import pytest

from labsupport import Switch

CASES = {
    "H01": "test_one_change_renders_once",
    "H02": "test_running_the_cell_again_stacks_no_subscription",
    "H04": "test_one_result_is_shown_and_the_controls_stay",
    "H05": "test_notebooks.py::test_the_file_is_valid_small_and_says_nothing_of_the_machine_that_wrote_it",
    "H06": "test_notebooks_run.py::test_running_any_cell_twice_changes_nothing",
    "H07": "test_door.py::test_without_a_widget_library_everything_but_the_switch_is_there",
}

READERS = {"Eli": "eli", "Mo": "mo", "Ines": "ines"}


@pytest.fixture
def counted():
    """A pure renderer, and the list of what it was called with."""
    calls = []

    def render(principal, question="pay"):
        calls.append((principal, question))
        return f"<p>{principal} asks {question}</p>"

    return render, calls


def test_one_change_renders_once(counted):
    render, calls = counted
    switch = Switch(render, principal=READERS, question=["pay", "leave"])
    calls.clear()
    switch.dropdowns["principal"].value = "Mo"
    assert calls == [("mo", "pay")]
    switch.dropdowns["principal"].value = "Mo"
    assert len(calls) == 1, "the same stop again is no change"
    switch.dropdowns["question"].value = "leave"
    assert calls == [("mo", "pay"), ("mo", "leave")]


def test_running_the_cell_again_stacks_no_subscription(counted):
    """Each run of a cell makes controls of its own: three runs, one of them moved, one rendering."""
    render, calls = counted
    runs = [Switch(render, principal=READERS) for _ in range(3)]
    calls.clear()
    runs[-1].dropdowns["principal"].value = "Ines"
    assert calls == [("ines", "pay")]
    assert [run.panel.value for run in runs] == ["<p>eli asks pay</p>"] * 2 + ["<p>ines asks pay</p>"]


def test_one_result_is_shown_and_the_controls_stay(counted):
    switch = Switch(counted[0], principal=READERS, question=["pay", "leave"])
    children = switch.children
    for reader in ("Mo", "Ines", "Eli", "Mo"):
        panel = switch.choose(principal=reader)
        assert panel == switch.panel.value == switch.shown_at(principal=reader, question="pay") and panel.count("<p>") == 1
        assert switch.children == children == (*switch.dropdowns.values(), switch.panel)


def test_a_page_without_a_kernel_shows_every_stop_as_text(counted):
    """No widget manager, no comm, no click: the stored output alone holds what each reader gets."""
    render, calls = counted
    switch = Switch(render, principal=READERS, question=["pay", "leave"])
    stored = switch._repr_mimebundle_()
    for reader in READERS.values():
        for question in ("pay", "leave"):
            assert f"{reader} asks {question}" in stored["text/html"]
    assert stored["text/plain"] == "Switch · principal: Eli, Mo, Ines; question: pay, leave"
