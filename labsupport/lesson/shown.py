"""What a lesson cell displays: one text and one piece of HTML that say the same, the same on every run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Shown:
    """A result to look at. `text` is its plain form (terminals, nbval), `html` its page form.

    No ids, no addresses, no clock: two runs give the same bytes, so both forms can be compared strictly.
    """

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def as_html(piece: object) -> str:
    """The HTML of what a renderer returned: text as it stands, a `Shown` or a DataFrame by its own page form."""
    if isinstance(piece, str):
        return piece
    page_form = getattr(piece, "_repr_html_", None)
    return page_form() if page_form else f"<pre>{escape(repr(piece))}</pre>"


def box(body: str, *, kind: str, colour: str = "#767676", role: str | None = None) -> str:
    """A block with a bar at its left. The colour is decoration: the words inside carry the meaning."""
    role_attribute = f' role="{role}"' if role else ""
    style = f"border-left:4px solid {colour};padding:2px 0 2px 12px;margin:4px 0;max-width:60em"
    return f'<div class="lab-{kind}"{role_attribute} style="{style}">{body}</div>'


def prose(text: str) -> str:
    """A sentence as HTML: escaped, with `backticks` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def folded(summary: str, body: str) -> str:
    """A block that opens on demand and that a page without a kernel shows too."""
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def show_source(function) -> Shown:
    """The source of a function of the lab, where the lesson *is* the source."""
    from inspect import getsource

    source = getsource(function).rstrip()
    return Shown(source, f'<pre class="lab-source" style="line-height:1.4">{escape(source)}</pre>')


def brief(value: object) -> str:
    """A short, repeatable form of a value for a message: no addresses, sets in order, 80 characters at most."""
    try:
        if isinstance(value, (set, frozenset)):
            return brief_text("{" + ", ".join(sorted(map(repr, value))) + "}") if value else "set()"
        if callable(value):
            return f"your {getattr(value, '__name__', type(value).__name__)}"
        return brief_text(repr(value))
    except Exception:
        return f"a {type(value).__name__}"


def brief_text(text: str) -> str:
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(text.split()))
    return text if len(text) <= 80 else text[:77] + "..."
