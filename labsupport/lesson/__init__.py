"""How a notebook of this lab is made: the guide for authors, and the rooms that they use. Notebook 00 is the pattern.

Write `NN-name.py` in jupytext's percent format outside the repository, then

    python -m labsupport.lesson.execute --from /path/to/NN-name.py      # writes notebooks/NN-name.ipynb, executed
    pytest -n0 tests/test_notebooks.py tests/test_notebooks_run.py -k NN    # they say what is missing
    pytest -n0 --nbval notebooks/NN-name.ipynb                          # every output, strictly

Committed are the notebook, `labsupport/lesson/nbNN.py` and `tests/wrong_answers/nbNN.py`. The percent file opens with

    # ---
    # jupyter:
    #   lab: {minutes: 35, world: bank, level: core, builds_on: ["02"]}
    # ---

**The anatomy.** Headings as written (a test reads them; `…` is yours):

    # NN · Title                        one bold sentence of promise; "By the end you can" and a list of three testable things;
                                        *35 minutes · bank · builds on 02: one fact that is needed*
                                        from 01 on: "## Before you start", two questions, each answer folded
    the set-up cell                     the first code cell: imports from labsupport, a world; six lines at most
    readers(world)                      the second code cell: who may read what, folded
    ## The incident                     people and days
    ## Move 1 · …  to  ## Move 3 · …    (05 has four) predict, run, read; Move 1 is the incident, reproduced and asserted
    ## Switch the principal             a cell that ends in a `Switch`; the next code cell is `side_by_side(switch, caption)`
    ## The tempting fix                 built, run, asserted to fail
    ### The sceptic                     the best objection and its honest answer, one paragraph
    ## Prove it                         one property: it fails on the wrong design, it holds on the right one, both run
    ## Your turn                        exercises NN.1, NN.2; "### If you have ten minutes more", NN.3 (NN.4)
    ## Check yourself                   three to five questions, answers folded
    ## Go deeper                        everything else; executed and tested, outside the stated minutes
    ## What this does not prove         the limits, and the wrong calls that a green test will not catch; then the cells
                                        `surprises()` and `leak_log("NN")`; the last cell begins "**Next:**"

"Folded" is `<details><summary>…</summary>`, a blank line, markdown, a blank line, `</details>`.

**Cells.** One idea a code cell: at most 20 lines, the median at most 6 that are not blank. Nearly every cell ends in a value
or an `assert`; no `print` where a value does, no trailing `;`. The cell that asserts the incident is tagged `leak-shown` and
begins `# red: …`; the one that asserts the repair is tagged `leak-closed` and begins `# green: …`; they come in pairs:

    # %% tags=["leak-shown"]
    # red: the pay page is the first source, and the status is 200
    assert …

Only the set-up cell imports (and "Go deeper" may). Running a cell twice changes nothing: what changes an index builds that
index in the same cell. Round what you show, sort sets, show work counts and never times. `lab.track` (core or deeper) is set
from the headings by `execute`.

A cell that needs a server or an optional package carries the tag `needs-<what>`.

**Prose.** A screen, not a page: a markdown cell holds at most 220 words that are not folded. No words that age or sell.

**Minutes.** words/180 + 1.5 a prediction + 0.5 a code cell + 3.5 for each of the first two exercises, over the core track and
without what is folded, may not exceed the stated minutes.

**A prediction** is three cells: markdown that holds the question and every option as "(a) label", letter for letter as
`nbNN.PREDICTIONS` has them (a test compares); then a code cell with `guess = None` and `predict("NN.1", guess)`; after the run a
cell that ends in `reveal("NN.1", fact)`, where `fact` is computed and knows nothing of the guess. At most four in the core.
Options are numbers or short choices. An option's sentence ends "If you said b: …" and speaks to whoever chose b.

**An exercise** is two cells: the stub with `TODO`, which runs as it stands, its last line `check("NN.1", answer)`; then
markdown that ends in a folded block whose summary is `Solution` and that holds one ```python block: it replaces all that
stands above the `check` line. The judge in `nbNN.EXERCISES` tests behaviour and returns `right(sentence)` or
`wrong(sentence)` with the counter-example. It calls a learner's function freely: a `TODO`, an exception, an endless loop in
there become verdicts (`except Endless` where you have a better sentence for that). The usual wrong answers stand in
`tests/wrong_answers/nbNN.py`:

    WRONG = {"NN.1": [('reader = "eli"', "Eli, employee, may read")]}    # source in the stub's place, words of its message

**A widget** is a `Switch` over named stops, two to ten for each selector, and a pure renderer that returns HTML text or a
`Shown`. `Switch(render, design=[…], question={label: value})` calls `render(design=…, question=…)`.

The widget that an instructor shows gets `<a id="stage"></a>` on a line of its own above its section's heading.

**Tables** come from `show_table` (a caption that states the finding; a bare DataFrame has an empty header), **figures** from
`new_figure(title)` and `show_figure(figure, alt)`: pixels are never compared, the alt text is, so it holds the numbers.

**The game** is `two_worlds(Seen(hits_a), Seen(hits_b), reader="Ines", scale="BM25")` in a renderer over design × question.

**Rooms.** `predictions` (predict, reveal, surprises) · `checks` (check, TODO, right, wrong) · `switch` (Switch, side_by_side) ·
`tables` (show_table) · `hits` (show_hits) · `figures` (new_figure, show_figure, PALETTE, HATCHES, MARKERS, LINES) · `two_worlds`
(two_worlds, Seen, differences) · `readers` · `assistant` (serve, compare_designs) · `leak_log` · `shown` (Shown, show_source,
folded) · `execute` · `nbNN`, one for each notebook (08's is in three: `nb08`, `desk`, `strips`).
"""
