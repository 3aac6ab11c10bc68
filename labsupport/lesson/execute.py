"""Runs the notebooks and writes them back so that a second run changes no byte.

    python -m labsupport.lesson.execute notebooks/*.ipynb           # re-execute in place
    python -m labsupport.lesson.execute --from drafts/05-pre-filter.py --into notebooks

The second form takes jupytext's percent format, so that an author can write in an editor. Only the notebook is committed.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

TRACKS = ("core", "deeper")
DEEPER = re.compile(r"^(## Go deeper|### If you have ten minutes more)", re.MULTILINE)
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def run(notebook, folder: Path, *, timeout: int = 120):
    """Execute every cell in a fresh kernel, in `folder`, and tidy what a second run could not repeat. Returns the notebook."""
    from nbclient import NotebookClient

    tidy_sources(notebook)
    NotebookClient(notebook, timeout=timeout, record_timing=False, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_VIEW, None)  # a random model id; the text and HTML beside it stay
            output.get("metadata", {}).clear()
    notebook.metadata = about(notebook)
    return notebook


def about(notebook) -> dict:
    """The notebook's metadata: the lab's own, and a kernel that every machine has. No widget state, no editor's notes."""
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {"kernelspec": kernel, "lab": notebook.metadata.get("lab", {}), "language_info": {"name": "python"}}


def tidy_sources(notebook) -> None:
    """Stable ids, and the track of each cell, read from the headings. No source and no output is touched."""
    notebook.metadata = about(notebook)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    track = "core"
    for place, cell in enumerate(notebook.cells):
        cell["id"] = f"c{place:02}"
        if cell.cell_type == "markdown" and DEEPER.search(cell.source):
            track = "deeper"
        elif cell.cell_type == "markdown" and re.search(r"^## ", cell.source, re.MULTILINE):
            track = "core"
        tags = cell.metadata.get("tags", [])
        cell.metadata = ({"tags": tags} if tags else {}) | {"lab": {"track": track}}


def write(notebook, path: Path) -> None:
    import nbformat

    nbformat.validate(notebook)
    nbformat.write(notebook, path)


def from_percent(source: Path):
    """A notebook without outputs from a percent file. Its `lab` metadata stands in the file's header, under `jupyter:`."""
    import jupytext

    return jupytext.read(source, fmt="py:percent")


def main(arguments: list[str] | None = None) -> None:
    import nbformat

    parser = argparse.ArgumentParser(prog="python -m labsupport.lesson.execute", description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="notebooks to re-execute in place")
    parser.add_argument(
        "--from", dest="drafts", nargs="+", type=Path, default=[], metavar="X.py", help="percent files to turn into notebooks"
    )
    parser.add_argument("--into", type=Path, default=Path("notebooks"), help="the folder for notebooks made from percent files")
    chosen = parser.parse_args(arguments)
    for path in chosen.notebooks:
        write(run(nbformat.read(path, 4), path.resolve().parent), path)
        print(f"executed {path}")
    for draft in chosen.drafts:
        path = chosen.into / f"{draft.stem}.ipynb"
        write(run(from_percent(draft), chosen.into.resolve()), path)
        print(f"made {path} from {draft.name}")


if __name__ == "__main__":
    main()
