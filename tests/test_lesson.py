"""The teaching machinery: predictions, checks, the switch, tables, figures, the game, and how notebooks are written."""

from __future__ import annotations

import re
import subprocess
import sys

import nbformat
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labsupport.entitlement import can_read
from labsupport.guardrails import EMPTY_ANSWER
from labsupport.leaky import NoFilter
from labsupport.lesson import checks, nb00, predictions
from labsupport.lesson.assistant import compare_designs, serve
from labsupport.lesson.chapters import chapter, chapters
from labsupport.lesson.chapters import entry as chapter_entry
from labsupport.lesson.checks import TODO, Endless, Exercise, check, guarded, right, wrong
from labsupport.lesson.execute import main as execute
from labsupport.lesson.figures import new_figure, show_figure
from labsupport.lesson.hits import show_hits
from labsupport.lesson.leak_log import leak_log
from labsupport.lesson.predictions import Memory, Prediction, predict, reveal, surprises
from labsupport.lesson.readers import readers
from labsupport.lesson.shown import as_html, show_source
from labsupport.lesson.switch import Switch, side_by_side
from labsupport.lesson.tables import show_table
from labsupport.lesson.two_worlds import OBSERVABLES, Seen, differences, two_worlds
from labsupport.model import AccessLabel, Chunk, Hit
from labsupport.worlds import load_world

BIRDS = Prediction(
    "The twelve scores are …",
    {"a": ("all equal", "you thought of V(p)."), "b": ("falcon higher", "rare."), "c": ("falcon lower", "yes.")},
    "c",
)
ROWS = Prediction("How many rows?", {12: ("12 of 12", "whole is not usable."), 2: ("2 of 12", "that is it.")}, 2)


@pytest.fixture(autouse=True)
def lesson(monkeypatch):
    """A lesson of our own, and an empty memory, so that these tests do not depend on any notebook."""
    shelves = {"PREDICTIONS": {"05.3": BIRDS, "01.1": ROWS}, "EXERCISES": {}}
    monkeypatch.setattr(predictions, "entry", lambda id, shelf: shelves[shelf][id])
    monkeypatch.setattr(checks, "entry", lambda id, shelf: shelves[shelf][id])
    monkeypatch.setattr(predictions, "memory", Memory())
    return shelves


# --- predict and reveal ---------------------------------------------------------------------------------------------------


def test_no_guess_is_allowed_and_every_option_is_listed():
    shown = predict("05.3")
    assert "no guess yet, and that is allowed" in shown.text
    assert all(label in shown.text and label in shown.html for label, _ in BIRDS.options.values())


@pytest.mark.parametrize("spelling", ["b", "B", " b ", "(b)", "falcon higher"])
def test_a_guess_is_found_however_it_is_spelled(spelling):
    assert "your guess is b" in predict("05.3", spelling).text


def test_a_number_may_be_guessed_as_a_number_or_as_text():
    assert "your guess is 12" in predict("01.1", 12).text == predict("01.1", "12").text == predict("01.1", 12.0).text


@given(st.one_of(st.text(), st.integers(), st.lists(st.integers()), st.just(object()), st.floats(allow_nan=True)))
def test_no_guess_at_all_raises(guess):
    shown = predict("05.3", guess)
    assert "your guess is" in shown.text or "is none of the options; write 'a', 'b', 'c' or None" in shown.text


def test_reveal_answers_every_option_and_the_learners_first():
    predict("05.3", "b")
    lines = reveal("05.3", "c").text.splitlines()
    assert lines[0] == "prediction 05.3 · c is what happened: falcon lower"
    assert [line.split(":")[0].split()[-1] for line in lines[1:]] == ["b", "a", "c"] and "You said b" in lines[1]
    for _, sentence in BIRDS.options.values():
        assert sentence in "\n".join(lines)


def test_a_fact_that_is_no_option_says_that_the_lesson_is_wrong():
    assert "none of the options (a, b, c): the lesson is wrong here" in reveal("05.3", "z").text


def test_surprises_are_the_ones_that_the_run_did_not_give():
    assert "No guesses in this run" in surprises().text
    predict("05.3", "a"), reveal("05.3", "c"), predict("01.1", 2), reveal("01.1", 2)
    assert surprises().text == "You predicted 1 of 2; one surprised you: 05.3. Read it once more."


@given(st.lists(st.tuples(st.sampled_from(["05.3"]), st.sampled_from([None, "a", "b", "c"])), min_size=1, max_size=6))
def test_only_the_last_guess_counts_so_a_repeat_changes_nothing(guesses):
    predictions.memory.guesses.clear(), predictions.memory.facts.clear()
    for id, guess in guesses:
        predict(id, guess), reveal(id, "c")
    once = surprises().text
    predict(*guesses[-1]), reveal("05.3", "c")
    assert surprises().text == once
    assert ("No guesses" in once) == (guesses[-1][1] is None)


def test_a_prediction_without_a_sentence_or_with_a_foreign_key_is_refused():
    with pytest.raises(ValueError, match="'b' needs a label and a sentence"):
        Prediction("?", {"a": ("x", "y"), "b": ("x", " ")}, "a")
    with pytest.raises(ValueError, match="key must be one of"):
        Prediction("?", {"a": ("x", "y")}, "z")


# --- check ----------------------------------------------------------------------------------------------------------------


def double(answer):
    return right("Twice as much.") if answer(4) == 8 else wrong(f"For 4 yours gives {answer(4)}, twice 4 is 8.")


@pytest.fixture
def exercise(lesson):
    lesson["EXERCISES"]["05.1"] = Exercise("a function of one number", double)
    return "05.1"


def test_the_three_states_have_words_and_shapes(exercise):
    for answer, state, shape in [(TODO, "not tried yet", "○"), (lambda n: 2 * n, "right", "✔"), (lambda n: n, "wrong", "✘")]:
        shown = check(exercise, answer)
        assert shown.text.startswith(f"{shape} exercise 05.1 · {state}\n")
        assert f"{shape} exercise 05.1 · {state}" in shown.html and 'role="status"' in shown.html


def test_a_stub_is_not_tried_yet_in_any_of_its_forms(exercise):
    def raises(n):
        raise NotImplementedError

    for stub in [TODO, [1, TODO], {"q": TODO}, lambda n: TODO, lambda n: {"x": TODO}, raises]:
        assert "not tried yet" in check(exercise, stub).text


def spin(n):
    while True:
        n += 1


def swallow(n):
    while True:
        try:
            n += 1
        except:  # noqa: E722  what a learner may write
            pass


def count_up(n):
    while True:
        yield n


def leave(n):
    raise SystemExit


def deep(n):
    return deep(n)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (spin, "Called with (4), your function does not end. I stopped it after 500,000 lines."),
        (swallow, "does not end"),
        (count_up, "I stopped it after 1,000 items."),
        (leave, "raised SystemExit"),
        (deep, "raised RecursionError"),
        (lambda n: n / 0, "Called with (4), your function raised ZeroDivisionError: division by zero"),
        (lambda: 3, "raised TypeError"),
        (7, "I cannot read 7. This exercise expects a function of one number."),
        ("text", "I cannot read 'text'."),
        (None, "I cannot read None."),
    ],
)
def test_whatever_a_learner_writes_gets_a_sentence_and_never_an_exception(exercise, answer, words):
    text = check(exercise, answer).text
    assert "· wrong" in text and words in text
    assert text == check(exercise, answer).text, "a verdict must be the same each time"


@settings(deadline=None)
@given(
    st.recursive(
        st.one_of(st.none(), st.text(), st.integers(), st.floats(), st.just(object())),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_value_makes_check_raise(answer):
    checks_entry = Exercise("a function of one number", double)
    original, checks.entry = checks.entry, lambda id, shelf: checks_entry
    try:
        shown = check("05.1", answer)
    finally:
        checks.entry = original
    assert "· wrong" in shown.text and not re.search(r" at 0x[0-9a-f]{6,}", shown.text)


def test_a_judge_may_give_its_own_sentence_for_an_endless_answer(lesson):
    def judge(answer):
        try:
            answer(4)
        except Endless:
            return wrong("size 4, overlap 4: your list never ends.")
        return right("It ends.")

    lesson["EXERCISES"]["01.2"] = Exercise("a function", judge)
    assert "your list never ends" in check("01.2", spin).text


def test_the_guard_lets_a_right_answer_through_and_leaves_no_tracer():
    before = sys.gettrace()
    assert guarded(lambda n: n + 1)(1) == 2
    with pytest.raises(Endless):
        guarded(spin)(1)
    assert sys.gettrace() is before


# --- the switch -----------------------------------------------------------------------------------------------------------


def render(principal, question="?"):
    if principal == "broken":
        raise ValueError("no such reader <b>")
    return f"<p>{principal} asks {question}</p>"


def test_the_panel_shows_each_stop_exactly_as_the_fallback_and_the_table_do():
    switch = Switch(render, principal={"Eli": "eli", "Mo": "mo"}, question=["pay", "leave"])
    table, fallback = side_by_side(switch, "As each reader").html, switch.static_html()
    stops = switch.every_stop()
    assert len(stops) == 4
    for stop in stops:
        panel = switch.choose(**stop)
        assert panel == switch.shown_at(**stop)
        assert panel in fallback and panel in table
    assert switch.choose(principal="Eli", question="pay") == "<p>eli asks pay</p>"


def test_only_the_chosen_stop_is_open_in_the_fallback():
    switch = Switch(render, principal=["eli", "mo"])
    assert switch.static_html().count("<details") == 2 and switch.static_html().count("<details open>") == 1


def test_an_exception_in_the_renderer_is_shown_in_the_panel():
    switch = Switch(render, principal=["eli", "broken"])
    panel = switch.choose(principal="broken")
    assert 'role="alert"' in panel and "ValueError: no such reader &lt;b&gt;" in panel
    assert switch.choose(principal="eli") == "<p>eli asks ?</p>"


def test_the_bundle_holds_the_widget_the_text_and_every_stop():
    switch = Switch(render, principal=["eli", "mo"])
    bundle = switch._repr_mimebundle_()
    assert bundle["text/plain"] == "Switch · principal: eli, mo"
    assert bundle["text/html"] == switch.static_html()
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_the_controls_are_named_and_labelled():
    switch = Switch(render, principal=["eli", "mo"])
    (dropdown,) = switch.dropdowns.values()
    assert dropdown.description == "principal"
    assert "lab-switch" in dropdown._dom_classes and "lab-panel" in switch.panel._dom_classes


@pytest.mark.parametrize("selectors", [{}, {"principal": []}])
def test_a_switch_without_stops_is_refused(selectors):
    with pytest.raises(ValueError, match="at least one"):
        Switch(render, **selectors)


# --- tables and figures ---------------------------------------------------------------------------------------------------


def test_a_table_has_a_caption_scoped_headers_and_no_ids():
    frame = pd.DataFrame({"page": ["leave", "comp"], "Eli": ["reads", "closed"], "BM25": [1.66291, float("nan")]})
    shown = show_table(frame, "Eli may read one of two", hatch=("closed",))
    assert "<caption" in shown.html and shown.html.count('<th scope="col"') == 3 and shown.html.count('<th scope="row"') == 2
    assert "id=" not in shown.html and "<th></th>" not in shown.html
    assert "1.6629" in shown.text and "–" in shown.text
    assert shown.html.count("repeating-linear-gradient") == 1
    assert show_table(frame, "Eli may read one of two", hatch=("closed",)) == shown
    assert show_table(frame.set_index("page"), "Eli may read one of two", hatch=("closed",)) == shown
    assert show_table(frame.to_dict("records"), "Eli may read one of two", hatch=("closed",)) == shown


def test_what_a_page_holds_cannot_become_markup():
    shown = show_table([{"text": "<script>x</script>"}], "a & b")
    assert "<script>" not in shown.html and "a &amp; b" in shown.html


def test_a_set_in_a_table_is_in_order():
    assert "a, b, c" in show_table([{"groups": frozenset("cab")}], "groups").text


def test_an_empty_table_is_refused():
    with pytest.raises(ValueError, match="a table needs rows"):
        show_table([], "nothing")


def bars():
    figure, axes = new_figure("Two bars agree")
    axes.bar(["a", "b"], [1, 1])
    axes.set(xlabel="bird", ylabel="BM25")
    return figure


def test_a_figure_speaks_through_its_alt_text():
    shown = show_figure(bars(), "Both bars are 1.0 high.")
    assert 'alt="Two bars agree. Both bars are 1.0 high."' in shown.html and shown.text == "Two bars agree. Both bars are 1.0 high."
    assert show_figure(bars(), "Both bars are 1.0 high.") == shown, "the same figure must give the same bytes"


def test_a_figure_without_words_is_refused():
    unnamed = bars()
    unnamed.axes[0].set_ylabel("")
    for figure, alt, words in [
        (unnamed, "1", "without a name: y of panel 1"),
        (bars(), "no number", "must carry the figure's numbers"),
    ]:
        with pytest.raises(ValueError, match=words):
            show_figure(figure, alt)


def test_source_is_shown_as_it_is_written():
    shown = show_source(double)
    assert shown.text.startswith("def double(answer):") and as_html(shown) == shown.html


# --- the game -------------------------------------------------------------------------------------------------------------

LABEL = AccessLabel("t", "internal", None, frozenset({"everyone"}))


def hit(id, score=1.0, lexical=1, text="words"):
    return Hit(Chunk(id, id, 1, text, (), 0, len(text), LABEL, 0), score, lexical, None)


A = [hit("a", 2.0, 1), hit("b", 1.0, 2)]


@pytest.mark.parametrize(
    ("b", "work", "observable"),
    [
        (A, 7, []),
        (A[:1], 7, ["text", "count"]),
        ([hit("a", 2.0, 1, "other"), A[1]], 7, ["text"]),
        (A[::-1], 7, ["order"]),
        ([hit("a", 2.0 + 1e-15, 1), A[1]], 7, ["score"]),
        ([hit("a", 2.0, 3), A[1]], 7, ["rank"]),
        (A, 8, ["work"]),
    ],
)
def test_each_channel_has_a_word_of_its_own(b, work, observable):
    assert differences(Seen(A, work=7), Seen(b, work=work)) == observable
    last = two_worlds(Seen(A, work=7), Seen(b, work=work), reader="Ines", scale="BM25").text.splitlines()[-1]
    assert last == (f"DIFFERS in {', '.join(observable)}" if observable else f"SAME in {', '.join(OBSERVABLES)}")


def test_a_note_in_plain_sight_is_an_observable_too():
    a, b = Seen(A, notes={"status": "200 OK"}), Seen(A, notes={"status": "404"})
    assert differences(a, b) == ["status"] and differences(a, a) == []
    assert "200 OK" in two_worlds(a, b, reader="Ines", scale="BM25").html
    assert "–" in two_worlds(Seen(A, work=7), Seen(A), reader="Ines", scale="BM25").html


@given(st.lists(st.sampled_from("abcdef"), unique=True), st.lists(st.sampled_from("abcdef"), unique=True))
def test_nobody_can_win_where_the_answers_are_equal_and_the_game_is_fair(left, right_side):
    a, b = Seen([hit(id) for id in left]), Seen([hit(id) for id in right_side])
    assert differences(a, b) == differences(b, a)
    assert (differences(a, b) == []) == (left == right_side)


# --- quick to import, and the same bytes twice ----------------------------------------------------------------------------


def test_importing_the_lesson_loads_no_plotting_no_frames_and_no_widgets():
    code = (
        "import sys, labsupport, labsupport.lesson.predictions, labsupport.lesson.checks;"
        "import labsupport.lesson.tables, labsupport.lesson.figures;"
        "print(sorted({'pandas', 'matplotlib', 'ipywidgets'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# --- chapters, readers, the leak log, the assistant -----------------------------------------------------------------------


def test_every_chapter_is_whole():
    found = chapters()
    assert found
    for each in found:
        number = each.__name__[-2:]
        assert each.LEAK.notebook == number
        assert 2 <= len(each.PREDICTIONS) and 3 <= len(each.EXERCISES) <= 4
        for id, prediction in each.PREDICTIONS.items():
            assert id.startswith(f"{number}.") and 2 <= len(prediction.options) <= 5
            assert len({sentence for _, sentence in prediction.options.values()}) == len(prediction.options)


@pytest.mark.parametrize("id", ["99.1", "", "x", "5.3"])
def test_an_id_that_belongs_to_no_notebook_is_refused(id):
    with pytest.raises(ValueError, match="begins with the two digits of a notebook"):
        chapter(id)


def test_an_id_that_a_notebook_does_not_have_lists_those_that_it_has():
    with pytest.raises(ValueError, match="no prediction '00.9' in this notebook; there are: 00.1, 00.2, 00.3"):
        chapter_entry("00.9", "PREDICTIONS")


@pytest.fixture(scope="module")
def northline():
    return load_world("northline")


def test_the_matrix_of_readers_says_what_can_read_says(northline):
    table = readers(northline, caption="Who may read what").text.splitlines()[2:]
    assert len(table) == len(northline.documents)
    for line, page in zip(table, northline.documents, strict=True):
        expected = ["reads" if can_read(who, page.label) else "closed" for who in northline.principals.values()]
        assert line.split(" · ") == [f"  {page.doc_id}", *expected]
    assert readers(northline).html.startswith("<details><summary>Who may read what")


def test_the_leak_log_holds_every_line_in_order():
    lines = leak_log().text.splitlines()[2:]
    assert [line.strip()[:2] for line in lines] == [each.LEAK.notebook for each in chapters()]
    assert leak_log("00").text.splitlines()[2] == lines[0]


def test_the_assistant_refuses_a_blank_question_and_serves_every_other_with_200(northline):
    eli = northline.principals["eli"]
    assert serve(northline.retriever, "  ", eli).status == "400 Bad Request"
    nothing = serve(northline.retriever, "maternity", eli)
    assert (nothing.log_line, nothing.answer) == ("200 OK · 0 sources", EMPTY_ANSWER)
    found = serve(northline.retriever, "How many weeks is parental leave?", eli)
    assert found.status == "200 OK" and found.answer == found.hits[0].chunk.text


def test_two_designs_stand_side_by_side_and_a_closed_source_is_named_in_words(northline):
    both = compare_designs(northline, {"sloppy": NoFilter(northline.index), "safe": northline.retriever}, nb00.QUESTION, "eli")
    assert both.html.count("CLOSED to Eli") >= 1 and "Eli reads" in both.html
    assert "CLOSED" not in compare_designs(northline, {"safe": northline.retriever}, nb00.QUESTION, "eli").html
    assert "CLOSED" not in compare_designs(northline, {"sloppy": NoFilter(northline.index)}, nb00.QUESTION, "mo").html


def test_hits_are_shown_with_the_name_of_their_scale_or_without_a_number(northline):
    hits = northline.retriever.retrieve(nb00.QUESTION, northline.principals["eli"]).hits
    assert show_hits(hits, "Eli asks", scale="rerank").text.splitlines()[1] == "  place · chunk · text · rerank"
    assert "0." not in show_hits(hits, "Eli asks", words=0).text
    assert "nothing was returned" in show_hits([], "Eli asks").html


def test_pay_figures_are_the_amounts_and_nothing_else():
    text = "L5 is paid 15,000.00 each month, band L4 from 142000. Leave is 16 weeks; book by 2026; code IT-204; 250 euro."
    assert nb00.pay_figures(text) == ["15,000.00", "142000"]


# --- notebooks are written so that a second run changes nothing -----------------------------------------------------------

DRAFT = """# ---
# jupyter:
#   lab: {minutes: 20, world: northline, level: core, builds_on: []}
# ---

# %% [markdown]
# # 77 · A draft

# %% tags=["leak-shown"]
from labsupport import Switch
switch = Switch(lambda principal: f"<b>{principal}</b>", principal=["eli", "mo"])
switch

# %% [markdown]
# ## Go deeper

# %%
1 + 1

# %% [markdown]
# ## What this does not prove

# %%
2 + 2
"""


def test_a_draft_becomes_a_notebook_and_a_second_run_changes_no_byte(tmp_path):
    draft, made = tmp_path / "77-draft.py", tmp_path / "77-draft.ipynb"
    draft.write_text(DRAFT, encoding="utf-8")
    execute(["--from", str(draft), "--into", str(tmp_path)])
    first = made.read_bytes()
    execute([str(made)])
    assert made.read_bytes() == first
    notebook = nbformat.reads(first.decode(), 4)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "lab": {"minutes": 20, "world": "northline", "level": "core", "builds_on": []},
        "language_info": {"name": "python"},
    }
    assert [(cell.id, cell.metadata.lab.track) for cell in notebook.cells] == [
        ("c00", "core"), ("c01", "core"), ("c02", "deeper"), ("c03", "deeper"), ("c04", "core"), ("c05", "core")]  # fmt: skip
    assert notebook.cells[1].metadata.tags == ["leak-shown"]
    assert set(notebook.cells[1].outputs[0].data) == {"text/plain", "text/html"}, "a widget's random id must not be stored"
    assert "execution" not in notebook.cells[1].metadata, "times must not be stored"
