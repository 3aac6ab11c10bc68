"""Figures that can be read without seeing them: a picture whose alt text carries the finding and its numbers.

`new_figure` makes a matplotlib `Figure` without pyplot, so no state is left behind; `show_figure` embeds it as an `<img>`.
Pixels are never compared by a test, the alt text is: put there whatever must stay true.
"""

from __future__ import annotations

import base64
import io
from html import escape

from labsupport.lesson.shown import Shown

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, told apart by colour-blind readers. Always together with a second cue:"""

HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++", "oo")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))

DPI = 110


def new_figure(title: str, *, panels: int = 1, size: tuple[float, float] = (7.2, 3.6), sharey: bool = False):
    """`(figure, axes)`: a figure under a title that states the finding; `axes` is one, or an array where `panels` > 1."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=11, fontweight="bold")
    axes = figure.subplots(1, panels, sharey=sharey)
    for each in figure.axes:
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes


def show_figure(figure, alt: str) -> Shown:
    """The figure as an image with a real alt text. Raises `ValueError` where a reader would be left without words:
    no title, an axis without a name, an alt text without a number."""
    title = figure.get_suptitle()
    unnamed = [
        f"{which} of panel {i}"
        for i, axes in enumerate(figure.axes, 1)
        if axes.axison
        for which in ("x", "y")
        if not getattr(axes, f"get_{which}label")() and getattr(axes, f"get_{which}ticks")().size
    ]
    if not title:
        raise ValueError("a figure needs a title that states its finding: new_figure(title)")
    if unnamed:
        raise ValueError(f"name each axis, with its unit (or remove its ticks); without a name: {', '.join(unnamed)}")
    if not any(letter.isdigit() for letter in alt):
        raise ValueError(f"the alt text must carry the figure's numbers, got {alt!r}")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=DPI, metadata={"Software": None})
    data = base64.b64encode(picture.getvalue()).decode()
    words = f"{title}. {alt}"
    return Shown(words, f'<img class="lab-figure" style="max-width:100%" alt="{escape(words)}" src="data:image/png;base64,{data}">')
