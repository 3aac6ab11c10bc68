"""A notebook open in JupyterLab in a real browser: run it, work its switchers, read what it shows.

The driver knows JupyterLab's page and nothing of the lessons. A switcher is any cell output that holds dropdowns of the class
`lab-switch` and a panel of the class `lab-panel` (`labsupport.lesson.switch`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

SLOW = 60_000  # milliseconds: a busy machine, not a hung one
ERRORS = ", ".join(f".jp-OutputArea [data-mime-type='application/vnd.jupyter.{kind}']" for kind in ("stderr", "error"))


def words(text: str | None) -> str:
    """Text as it is read: runs of blanks are one blank."""
    return re.sub(r"\s+", " ", text or "").strip()


@dataclass(frozen=True)
class Switcher:
    """One live switcher: its cell, and what the page without a kernel says at each of its stops (summary -> text)."""

    cell: Locator
    fallback: dict[str, str]

    @property
    def dropdowns(self) -> list[Locator]:
        return self.cell.locator(".lab-switch select").all()

    @property
    def panel(self) -> Locator:
        return self.cell.locator(".lab-panel")

    def options(self) -> list[list[str]]:
        return [[words(text) for text in dropdown.locator("option").all_text_contents()] for dropdown in self.dropdowns]

    def names(self) -> list[str]:
        return [words(text) for text in self.cell.locator(".lab-switch label, .lab-switch .widget-label").all_text_contents()]

    def stop(self, labels: tuple[str, ...]) -> str:
        """The summary under which the static page keeps the stop with these labels."""
        return " · ".join(f"{name}: {label}" for name, label in zip(self.names(), labels, strict=True))

    def chosen(self) -> tuple[str, ...]:
        return tuple(words(dropdown.locator("option:checked").text_content()) for dropdown in self.dropdowns)

    def shows(self, labels: tuple[str, ...]) -> str:
        """Wait until the panel reads exactly as the static page does at this stop, and return the stop."""
        stop = self.stop(labels)
        expect(self.panel).to_have_text(self.fallback[stop], timeout=SLOW / 4)
        return stop

    def point_at(self, place: int) -> None:
        """Choose an option of the first dropdown with the mouse alone.

        A list that the operating system draws lies outside the page, where a test's mouse cannot reach; drawn by the page
        itself, the same element opens and takes the same clicks.
        """
        dropdown = self.dropdowns[0]
        drawn = self.cell.page.add_style_tag(content=".lab-switch select, ::picker(select) { appearance: base-select }")
        dropdown.click()
        dropdown.locator("option").nth(place).click()
        drawn.evaluate("style => style.remove()")

    def walk(self) -> Iterator[tuple[str, ...]]:
        """Choose every combination of options in turn, ending where it began; yield the labels after each choice."""
        began = self.chosen()
        for labels in [*itertools.product(*self.options()), began]:
            for dropdown, now, label in zip(self.dropdowns, self.chosen(), labels, strict=True):
                if now != label:
                    dropdown.select_option(label=label)
            yield labels


class OpenNotebook:
    """One notebook in single-document mode, and all that its page asks for from the first moment on.

    `fallbacks` is read before anything runs: the page without a kernel, cell by cell, summary by summary.
    """

    def __init__(self, page: Page, url: str, token: str, name: str):
        self.page, self.name = page, name
        self.requests: list[str] = []
        self.page_errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", lambda socket: self.requests.append(socket.url))
        page.on("pageerror", lambda error: self.page_errors.append(str(error)))
        page.goto(f"{url}/doc/tree/{name}?token={token}&reset")
        page.locator(".jp-Notebook").wait_for(timeout=SLOW)
        # The indicator says idle already while there is no kernel: wait for the kernel's name too.
        expect(page.locator(".jp-NotebookPanel-toolbar .jp-KernelName")).to_contain_text("Python 3", timeout=SLOW)
        self._idle()
        self.fallbacks = page.evaluate(
            """() => Object.fromEntries([...document.querySelectorAll('.jp-Notebook .jp-Cell')].map((cell, place) => [place,
                 Object.fromEntries([...cell.querySelectorAll('.jp-OutputArea-output > details')].map(fold => {
                   const summary = fold.querySelector(':scope > summary').textContent;
                   return [summary, fold.textContent.slice(summary.length)];
                 }))]).filter(([, folds]) => Object.keys(folds).length))"""
        )

    def _idle(self) -> None:
        self.page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').wait_for(timeout=SLOW)

    def run_all(self) -> None:
        """Run > Run All Cells, and wait until each code cell has its number and the kernel is idle."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_text("Run All Cells", exact=True).click()
        self.page.wait_for_function(
            """() => { const cells = [...document.querySelectorAll('.jp-CodeCell')];
                 return cells.length && cells.every(cell => /\\[\\d+\\]/.test(cell.querySelector('.jp-InputPrompt')?.textContent))
                   && document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'; }""",
            timeout=4 * SLOW,
        )

    def cell_kinds(self) -> list[str]:
        """Markdown or code, from top to bottom."""
        is_code = "cells => cells.map(cell => cell.classList.contains('jp-CodeCell'))"
        return ["code" if code else "markdown" for code in self.page.locator(".jp-Notebook .jp-Cell").evaluate_all(is_code)]

    def errors(self) -> list[str]:
        return [words(text) for text in self.page.locator(ERRORS).all_text_contents()]

    def too_wide(self) -> list[str]:
        """Outputs that must be scrolled sideways: the cell's number, the width that they need and the width that they have."""
        wide = """outputs => outputs.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => {
            const number = one.closest('.jp-Cell').querySelector('.jp-InputPrompt').textContent;
            return `${number} ${one.scrollWidth} > ${one.clientWidth}`; })"""
        return self.page.locator(".jp-OutputArea-output").evaluate_all(wide)

    def switchers(self) -> list[Switcher]:
        found = []
        for place, cell in enumerate(self.page.locator(".jp-Notebook .jp-Cell").all()):
            if cell.locator(".lab-switch select").count():
                folds = self.fallbacks.get(str(place), {})
                found.append(Switcher(cell, {words(summary): words(text) for summary, text in folds.items()}))
        return found
