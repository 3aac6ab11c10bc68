"""Choose a stop, see what it gives: one or more dropdowns over a pure renderer. The only widget of the course.

A `Switch` holds no state but the chosen stops. Every stop's rendering stands beside the live widget as static HTML: a page
without a kernel shows it, nbval compares it, a test drives the widget through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from itertools import product

import ipywidgets as W

from labsupport.lesson.shown import Shown, as_html, box
from labsupport.lesson.tables import table_html

Stops = Mapping[str, object] | Iterable[str]


class Switch(W.VBox):
    """`Switch(render, principal={"Eli": eli, "Mo": mo}, question=["…", "…"])` calls `render(principal=…, question=…)`.

    Each keyword is one dropdown, labelled with its name; its stops are a mapping of label to value, or labels alone.
    `render` is pure and returns HTML text or a `Shown`. If it raises, the panel says so in place of an answer.
    """

    def __init__(self, render: Callable, **selectors: Stops):
        self._render = render
        self.stops = {name: _labelled(stops) for name, stops in selectors.items()}
        if not self.stops or not all(self.stops.values()):
            raise ValueError(f"a Switch needs at least one selector with at least one stop, got {selectors!r}")
        self.dropdowns = {name: _dropdown(name, stops) for name, stops in self.stops.items()}
        self.panel = W.HTML().add_class("lab-panel").add_class("jp-RenderedHTMLCommon")
        for dropdown in self.dropdowns.values():
            dropdown.observe(self._on_change, names="value")
        super().__init__(children=[*self.dropdowns.values(), self.panel])
        self._on_change(None)

    def choose(self, **labels: str) -> str:
        """Move the dropdowns to these labels, as a learner would, and return what the panel then shows."""
        for name, label in labels.items():
            self.dropdowns[name].value = label
        return self.panel.value

    def every_stop(self) -> list[dict[str, str]]:
        """All combinations of labels, in order: the stops that the fallback shows and a test visits."""
        return [dict(zip(self.stops, labels, strict=True)) for labels in product(*self.stops.values())]

    def shown_at(self, **labels: str) -> str:
        """The pure rendering of one stop; no widget is touched."""
        try:
            return as_html(self._render(**{name: self.stops[name][label] for name, label in labels.items()}))
        except Exception as error:
            return box(f"This stop could not be shown: {escape(f'{type(error).__name__}: {error}')}", kind="error", role="alert")

    def static_html(self) -> str:
        """Every stop, folded, the chosen one open: the page without a kernel."""
        chosen = self._chosen()
        return "".join(
            f"<details{' open' if stop == chosen else ''}><summary>{escape(_caption(stop))}</summary>"
            f"{self.shown_at(**stop)}</details>"
            for stop in self.every_stop()
        )

    def _chosen(self) -> dict[str, str]:
        return {name: dropdown.value for name, dropdown in self.dropdowns.items()}

    def _on_change(self, _) -> None:
        self.panel.value = self.shown_at(**self._chosen())

    def __repr__(self) -> str:
        stops = "; ".join(f"{_spoken(name)}: {', '.join(labels)}" for name, labels in self.stops.items())
        return f"Switch · {stops}"

    def _repr_mimebundle_(self, **kwargs) -> dict:
        """The live widget, and beside it the text and the folded HTML that hold every stop."""
        return {**super()._repr_mimebundle_(**kwargs), "text/plain": repr(self), "text/html": self.static_html()}


def side_by_side(switch: Switch, caption: str) -> Shown:
    """The same as the live widget, for print and for screen readers: a column for each stop of the first selector
    (the principal), a row for each stop of the others, and in each cell exactly what the panel shows there."""
    first, *others = switch.stops
    rows = [dict(zip(others, labels, strict=True)) for labels in product(*(switch.stops[name] for name in others))]
    head = [" · ".join(map(_spoken, others))] * bool(others) + [_caption({first: label}) for label in switch.stops[first]]
    body = [
        [_caption(row)] * bool(others) + [Shown("", switch.shown_at(**{first: label}, **row)) for label in switch.stops[first]]
        for row in rows
    ]
    text = f"{caption} · {_spoken(first)}: {', '.join(switch.stops[first])}"
    return Shown(text, table_html(head, body, caption, row_heads=bool(others)))


def _labelled(stops: Stops) -> dict[str, object]:
    return dict(stops) if isinstance(stops, Mapping) else {str(label): label for label in stops}


def _dropdown(name: str, stops: dict[str, object]) -> W.Dropdown:
    wide = W.Layout(width="max-content", max_width="100%")
    return W.Dropdown(
        options=list(stops), description=_spoken(name), style={"description_width": "initial"}, layout=wide
    ).add_class("lab-switch")


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def _caption(stop: dict[str, str]) -> str:
    return " · ".join(f"{_spoken(name)}: {label}" for name, label in stop.items())
