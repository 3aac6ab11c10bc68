"""What every notebook must be before it is run: whole, compared, honest in its minutes, told in the same order.

nbval compares outputs; these tests look at what nbval cannot see or would pass for nothing. Running them is in
`test_notebooks_run.py`.
"""

from __future__ import annotations

import ast
import re
from statistics import median

import nbformat
import pytest
from pages import NAME, PAGES, ROOT, Page, html, plain, shown, solution, stub_and_check, tags, track, unfolded, words

from labsupport.lesson.execute import TRACKS

each_notebook = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.stem)

FORBIDDEN = {
    "an Output widget or interact": r"\b(Output|interact|interactive_output|interact_manual)\(",
    "clear_output or update_display": r"\b(clear_output|update_display|display_id)\b",
    "a magic or a shell line": r"^\s*[%!]",
    "a warning on stderr": r"\bwarnings\.|\bfilterwarnings\b|\bsys\.stderr\b",
    "a clock": r"\b(time|datetime)\.|\bperf_counter\b",
    "randomness of its own": r"\brandom\.(?!Random\(\d|default_rng\(\d)|\bdefault_rng\(\)",
    "pyplot, which keeps state": r"\bpyplot\b|\bplt\.",
    "the network": r"https?://|\b(requests|urllib|httpx|socket|aiohttp)\b",
    "a way round nbval": r"NBVAL_|nbval-",
    "input from a keyboard": r"\binput\(",
}
AGES = r"recently|nowadays|currently|cutting-edge|state-of-the-art|modern|latest|up-to-date|brand-new|soon|these days"
EMPTY = r"crucial|simply|seamless(?:ly)?|leverag\w+|delve\w*|robust\w*|powerful|blazing\w*|effortless\w*|game-chang\w+|obviously"
SECTIONS = ["The incident", "Move 1", "Switch the principal", "The tempting fix", "Prove it", "Your turn", "Check yourself",
            "What this does not prove"]  # fmt: skip
CORE_MOVES = {"05": 4}


def test_there_are_notebooks_and_their_numbers_are_their_order():
    names = [path.name for path in (ROOT / "notebooks").iterdir() if path.name[:1].isdigit()]
    assert names, "no notebook was found: every test of this file would pass for nothing"
    assert all(NAME.fullmatch(name) for name in names), names
    assert len({name[:2] for name in names}) == len(names) == len(PAGES)


# --- the file -------------------------------------------------------------------------------------------------------------


@each_notebook
def test_the_file_is_valid_small_and_says_nothing_of_the_machine_that_wrote_it(page: Page):
    nbformat.validate(page.notebook)
    assert (page.notebook.nbformat, page.notebook.nbformat_minor) == (4, 5)
    assert set(page.notebook.metadata) == {"kernelspec", "language_info", "lab"}, "no widget state, no editor's notes"
    assert page.notebook.metadata.kernelspec.name == "python3"
    assert dict(page.notebook.metadata.language_info) == {"name": "python"}
    assert page.path.stat().st_size < 1_500_000
    assert [cell.id for cell in page.cells] == [f"c{place:02}" for place in range(len(page.cells))], "ids follow the order"
    assert all(track(cell) in TRACKS for cell in page.cells)


@each_notebook
def test_every_code_cell_was_run_in_order_because_nbval_never_compares_one_that_was_not(page: Page):
    assert [cell.execution_count for cell in page.code] == list(range(1, len(page.code) + 1))


@each_notebook
def test_no_stored_output_could_differ_on_the_next_run(page: Page):
    for cell in page.code:
        for output in cell.outputs:
            assert output.get("name") != "stderr", f"stderr under:\n{cell.source}"
            assert output.output_type != "error" or "raises-exception" in tags(cell), f"an error under:\n{cell.source}"
            assert "application/vnd.jupyter.widget-view+json" not in output.get("data", {}), "a widget's random id is stored"
            assert "image/png" not in output.get("data", {}), "a bare PNG has no alt text: use show_figure"
        assert not re.search(r" at 0x[0-9a-f]{6,}", shown(cell)), f"a memory address under:\n{cell.source}"
        assert "This stop could not be shown" not in shown(cell), f"a renderer raises under:\n{cell.source}"


@each_notebook
def test_no_cell_uses_what_cannot_be_repeated_or_compared(page: Page):
    for cell in page.code:
        assert cell.source.strip() and not cell.source.rstrip().endswith(";"), f"empty, or ends with ';':\n{cell.source}"
        for what, pattern in FORBIDDEN.items():
            assert not re.search(pattern, cell.source, re.M), f"{what}:\n{cell.source}"
        assert not [tag for tag in tags(cell) if "nbval" in tag or "skip" in tag or "lax" in tag], tags(cell)


# --- cells ----------------------------------------------------------------------------------------------------------------


@each_notebook
def test_cells_are_short(page: Page):
    for cell in page.code:
        assert len(cell.source.splitlines()) <= 20, f"{len(cell.source.splitlines())} lines:\n{cell.source}"
    assert median(len([line for line in cell.source.splitlines() if line.strip()]) for cell in page.code) <= 6
    for cell in page.markdown:
        assert words(cell.source) <= 220, f"{words(cell.source)} words are a page, not a screen:\n{cell.source[:200]}"


@each_notebook
def test_nine_of_ten_code_cells_are_compared_or_assert(page: Page):
    held = [cell for cell in page.code if cell.outputs or re.search(r"^\s*assert ", cell.source, re.M)]
    assert len(held) > 0.9 * len(page.code), [cell.source for cell in page.code if cell not in held]


@each_notebook
def test_the_set_up_is_the_first_code_cell_and_the_only_one_that_imports(page: Page):
    first, second = page.code[:2]
    assert len(first.source.splitlines()) <= 6 and "from labsupport" in first.source and "load_world(" in first.source
    assert re.search(r"\breaders\(", second.source), "under the set-up: who may read what, folded"
    for cell in page.code[1:]:
        if track(cell) == "core" and "check(" not in cell.source:
            assert not any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in ast.walk(ast.parse(cell.source))), cell.source


# --- the anatomy ----------------------------------------------------------------------------------------------------------


@each_notebook
def test_the_header_promises_three_things_and_states_minutes_world_and_what_it_builds_on(page: Page):
    header = page.cells[0]
    assert header.cell_type == "markdown" and header.source.startswith(f"# {page.number} · ")
    assert "By the end you can" in header.source and len(re.findall(r"^(?:-|\d\.) +\S", header.source, re.M)) == 3
    assert re.search(rf"^\*{page.lab['minutes']} minutes · {page.lab['world']} · builds on ", header.source, re.M), header.source
    assert set(page.lab) >= {"minutes", "world", "level", "builds_on"}
    assert 15 <= page.lab["minutes"] <= 60
    for earlier in page.lab["builds_on"]:
        assert earlier < page.number and earlier in header.source


@each_notebook
def test_the_sections_stand_in_the_order_that_every_notebook_has(page: Page):
    sections = [text for level, text in page.headings if level == 2]
    places = [next((i for i, text in enumerate(sections) if text.startswith(wanted)), None) for wanted in SECTIONS]
    assert None not in places, f"missing: {[name for name, place in zip(SECTIONS, places, strict=True) if place is None]}"
    assert places == sorted(places), sections
    assert (3, "The sceptic") in page.headings and len([text for _, text in page.headings if text == "Go deeper"]) <= 1
    moves = [int(move) for text in sections for move in re.findall(r"^Move (\d) · ", text)]
    assert moves == list(range(1, len(moves) + 1)) and 2 <= len(moves) <= CORE_MOVES.get(page.number, 3)


@each_notebook
def test_headings_go_down_one_level_at_a_time_under_one_title(page: Page):
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(next_level <= level + 1 for level, next_level in zip(levels, levels[1:], strict=False)), page.headings


@each_notebook
def test_two_questions_from_earlier_notebooks_come_first(page: Page):
    if page.number == "00":
        return  # nothing came before it
    opening = "\n".join(cell.source for cell in page.section("Before you start"))
    assert opening.count("<details>") == 2, "two questions, each answer folded"


@each_notebook
def test_check_yourself_folds_three_to_five_answers(page: Page):
    folds = "\n".join(cell.source for cell in page.section("Check yourself")).count("<details>")
    assert 3 <= folds <= 5


@each_notebook
def test_the_end_names_its_limits_then_the_surprises_the_leak_and_the_next_notebook(page: Page):
    ending = page.section("What this does not prove")
    calls = [cell.source for cell in ending if cell.cell_type == "code"]
    assert calls == ["surprises()", f'leak_log("{page.number}")']
    assert page.cells[-1].source.startswith("**Next:**") and "\n" not in page.cells[-1].source.strip()
    assert page.story.LEAK.notebook == page.number
    for text in (page.story.LEAK.name, page.story.LEAK.sounded_reasonable, page.story.LEAK.observed, page.story.LEAK.closed_by):
        assert text.strip() and text in shown(ending[-2])


@each_notebook
def test_every_leak_that_is_shown_is_closed(page: Page):
    coloured = [(tag, cell) for cell in page.code for tag in tags(cell) if tag.startswith("leak-")]
    assert coloured, "the incident must be asserted"
    assert [tag for tag, _ in coloured] == ["leak-shown", "leak-closed"] * (len(coloured) // 2), "shown, closed, shown, closed"
    for tag, cell in coloured:
        assert cell.source.startswith("# red: " if tag == "leak-shown" else "# green: "), cell.source
        assert re.search(r"^assert ", cell.source, re.M), f"{tag} without an assertion:\n{cell.source}"
    assert "leak-shown" in [tag for cell in page.section("Move 1") if cell.cell_type == "code" for tag in tags(cell)]


@each_notebook
def test_the_prose_does_not_age_and_does_not_sell(page: Page):
    for cell in page.markdown:
        for pattern in (AGES, EMPTY):
            found = re.search(rf"\b({pattern})\b", cell.source, re.I)
            assert not found, f"{found.group(0)!r} in:\n{cell.source}"
        assert not re.search(r"—[^\n]*—", cell.source), f"a chain of dashes in:\n{cell.source}"


@each_notebook
def test_the_stated_minutes_are_enough(page: Page):
    core = [cell for cell in page.cells if track(cell) == "core"]
    prose = sum(words(cell.source) for cell in core if cell.cell_type == "markdown")
    guesses = [id for _, id, cell in page.calls("predict") if track(cell) == "core"]
    code = len([cell for cell in core if cell.cell_type == "code"])
    needed = prose / 180 + 1.5 * len(guesses) + 0.5 * code + 3.5 * 2
    assert needed <= page.lab["minutes"], f"{prose} words, {len(guesses)} predictions, {code} code cells: {needed:.1f} minutes"


# --- predictions ----------------------------------------------------------------------------------------------------------


@each_notebook
def test_each_prediction_is_asked_once_and_revealed_once_after_it(page: Page):
    asked, revealed = [list(page.calls(name)) for name in ("predict", "reveal")]
    ids = [id for _, id, _ in asked]
    assert ids == [f"{page.number}.{n}" for n in range(1, len(ids) + 1)] == list(page.story.PREDICTIONS), "numbered as they come"
    assert sorted(id for _, id, _ in revealed) == ids
    where = {id: place for place, id, _ in revealed}
    assert all(place < where[id] for place, id, _ in asked)
    assert 1 <= len([cell for _, _, cell in asked if track(cell) == "core"]) <= 4


@each_notebook
def test_no_guess_is_committed(page: Page):
    for _, id, cell in page.calls("predict"):
        assert cell.source.splitlines()[0].startswith("guess = None"), cell.source
        assert cell.source.rstrip().endswith(f'predict("{id}", guess)')
        assert "no guess yet, and that is allowed" in plain(cell)


@each_notebook
def test_the_question_and_its_options_stand_before_the_guess(page: Page):
    for place, id, _ in page.calls("predict"):
        before, prediction = " ".join(page.cells[place - 1].source.split()), page.story.PREDICTIONS[id]
        assert prediction.question in before, f"{id}: the cell before must ask: {prediction.question}"
        for option, (label, _) in prediction.options.items():
            assert f"({option}) {label}" in before, f"{id}: the cell before must offer: ({option}) {label}"


@each_notebook
def test_the_run_gives_the_option_that_the_story_relies_on(page: Page):
    for _, id, cell in page.calls("reveal"):
        prediction = page.story.PREDICTIONS[id]
        assert plain(cell).startswith(f"prediction {id} · {prediction.key} is what happened"), plain(cell)
        for _, sentence in prediction.options.values():
            assert sentence in plain(cell)
        fact = next(
            node.args[1] for node in ast.walk(ast.parse(cell.source)) if getattr(getattr(node, "func", None), "id", "") == "reveal"
        )
        assert not isinstance(fact, ast.Constant) and "guess" not in ast.unparse(fact), f"{id}: the fact must come from the run"


# --- exercises ------------------------------------------------------------------------------------------------------------


@each_notebook
def test_three_or_four_exercises_two_of_them_in_the_stated_minutes(page: Page):
    checked = list(page.calls("check"))
    ids = [id for _, id, _ in checked]
    assert ids == [f"{page.number}.{n}" for n in range(1, len(ids) + 1)] == list(page.story.EXERCISES)
    assert 3 <= len(ids) <= 4
    assert [track(cell) for _, _, cell in checked] == ["core", "core", "deeper", "deeper"][: len(ids)]


@each_notebook
def test_each_exercise_is_a_stub_that_is_not_tried_yet_and_a_folded_solution(page: Page):
    for place, id, cell in page.calls("check"):
        stub, call = stub_and_check(cell)
        assert "TODO" in stub and call.startswith(f'check("{id}"'), cell.source
        assert f"exercise {id} · not tried yet" in plain(cell)
        following = page.cells[place + 1]
        assert following.cell_type == "markdown" and "TODO" not in solution(following)


# --- pictures and switches ------------------------------------------------------------------------------------------------


@each_notebook
def test_every_picture_has_a_title_and_numbers_in_words(page: Page):
    for cell in page.code:
        assert html(cell).count("<img") == len(re.findall(r"\bshow_figure\(", cell.source)) or "<details" in html(cell), cell.source
        for alt in re.findall(r'<img[^>]*?alt="([^"]*)"', html(cell)):
            assert ". " in alt and re.search(r"\d", alt), f"the alt text must hold the title and the numbers: {alt!r}"
    for source in (cell.source for cell in page.markdown):
        assert "<img" not in source and "![" not in source, "a picture in markdown is not made by the run"


@each_notebook
def test_every_table_has_a_caption_and_named_headers(page: Page):
    for cell in page.code:
        assert html(cell).count("<table") == html(cell).count("<caption"), f"use show_table, not a bare DataFrame:\n{cell.source}"
        for head in re.findall(r"<th\b[^>]*>", html(cell)):
            assert 'scope="' in head, f"a header without a scope under:\n{cell.source}"
        assert not re.search(r"<th\b[^>]*>\s*</th>", html(cell)), f"an empty header under:\n{cell.source}"


@each_notebook
def test_the_principal_can_be_switched_and_a_table_says_the_same(page: Page):
    code = [cell for cell in page.section("Switch the principal") if cell.cell_type == "code"]
    widgets = [place for place, cell in enumerate(code) if plain(cell).startswith("Switch · ")]
    assert widgets, "the section must hold a Switch"
    assert re.search(r"\bside_by_side\(", code[widgets[0] + 1].source), "the next cell is the table"
    for cell in page.code:
        if plain(cell).startswith("Switch · "):
            assert 2 <= html(cell).count("<details"), "every stop is folded under the widget"
            assert html(cell).count("<details open>") == 1


@each_notebook
def test_folds_are_closed_and_have_a_summary(page: Page):
    for cell in page.markdown:
        assert (
            cell.source.count("<details>")
            == cell.source.count("</details>")
            == len(re.findall(r"<details>\s*<summary>[^<]", cell.source))
        )
        assert "<details" not in unfolded(cell.source)
