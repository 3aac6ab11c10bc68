"""Reads a notebook the way its tests talk about it: sections, tracks, predictions, exercises, and prose without what is folded."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
NAME = re.compile(r"(\d\d)-[a-z0-9-]+\.ipynb")
FOLD = re.compile(r"<details>.*?</details>", re.S)


@dataclass(frozen=True)
class Page:
    """One notebook as committed."""

    path: Path

    @cached_property
    def notebook(self):
        return nbformat.read(self.path, nbformat.NO_CONVERT)

    @property
    def number(self) -> str:
        return self.path.name[:2]

    @cached_property
    def story(self):
        """The notebook's own module: predictions, exercises, leak-log line."""
        return import_module(f"labsupport.lesson.nb{self.number}")

    @property
    def lab(self) -> dict:
        return self.notebook.metadata["lab"]

    @cached_property
    def cells(self) -> list:
        return self.notebook.cells

    @cached_property
    def code(self) -> list:
        return [cell for cell in self.cells if cell.cell_type == "code"]

    @cached_property
    def markdown(self) -> list:
        return [cell for cell in self.cells if cell.cell_type == "markdown"]

    @cached_property
    def headings(self) -> list[tuple[int, str]]:
        """(level, text) of every heading outside code fences and folds."""
        prose = "\n".join(without_fences(unfolded(cell.source)) for cell in self.markdown)
        return [(len(marks), text.strip()) for marks, text in re.findall(r"^(#{1,6}) +(.+)$", prose, re.M)]

    def section(self, begins: str) -> list:
        """The cells from the `## ` heading that begins so, up to the next `## ` heading."""
        found, inside = [], False
        for cell in self.cells:
            if cell.cell_type == "markdown":
                for heading in re.findall(r"^## +(.+)$", without_fences(cell.source), re.M):
                    inside = heading.startswith(begins)
            if inside:
                found.append(cell)
        return found

    def calls(self, function: str) -> Iterator[tuple[int, str, object]]:
        """(index of the cell, first argument, cell) of every call of `function` with a text as first argument."""
        for place, cell in enumerate(self.cells):
            if cell.cell_type != "code":
                continue
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == function:
                    yield place, node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else "", cell


PAGES = [Page(path) for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]-*.ipynb"))]


def unfolded(source: str) -> str:
    return FOLD.sub("", source)


def without_fences(source: str) -> str:
    return re.sub(r"^```.*?^```", "", source, flags=re.M | re.S)


def words(source: str) -> int:
    """Words of prose that a reader must read: no folds, no fences, no tags, no link addresses."""
    plain = re.sub(r"<[^>]+>|\]\([^)]*\)", " ", without_fences(unfolded(source)))
    return len(re.findall(r"[^\W_][\w'’.,%-]*", plain))


def shown(cell) -> str:
    """Every text that a cell's stored outputs hold, plain and HTML."""
    return "\n".join(str(text) for output in cell.outputs for text in [output.get("text", ""), *output.get("data", {}).values()])


def plain(cell) -> str:
    """The plain text of a cell's last output."""
    return cell.outputs[-1].get("data", {}).get("text/plain", cell.outputs[-1].get("text", "")) if cell.outputs else ""


def html(cell) -> str:
    return "\n".join(output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {}))


def tags(cell) -> list[str]:
    return cell.metadata.get("tags", [])


def track(cell) -> str:
    return cell.metadata["lab"]["track"]


def stub_and_check(cell) -> tuple[str, str]:
    """An exercise's cell, cut before its last line: what the learner edits, and the call of `check`."""
    stub, _, call = cell.source.rstrip().rpartition("\n")
    return stub, call


def solution(cell) -> str:
    """The code in the fold named `Solution`."""
    fold = re.search(r"<details>\s*<summary>Solution</summary>(.*?)</details>", cell.source, re.S)
    blocks = re.findall(r"^```python\n(.*?)^```", fold.group(1), re.M | re.S) if fold else []
    assert len(blocks) == 1, f"one folded Solution with one python block expected after the check, found {len(blocks)}"
    return blocks[0].rstrip()
