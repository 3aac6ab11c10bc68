"""Prompts drawn for notebook 08: segments as lettered strips, bills as tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from labsupport.assembly import AssembledContext, Segment
from labsupport.caching import LAYOUTS, SIZES, Bill, PromptPrices, conversation, shared_prefix, simulate
from labsupport.lesson.desk import CACHE_ORDER, instruction_segments, shown_segments
from labsupport.lesson.figures import HATCHES, PALETTE, new_figure
from labsupport.lesson.shown import Shown
from labsupport.lesson.tables import show_table
from labsupport.model import Principal
from labsupport.tokens import estimate_tokens

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LETTERS = dict(zip((*CACHE_ORDER, "time"), "ABCDEFT", strict=True))
CHANGES = {
    "instructions": "with a release",
    "tool_schemas": "with a version of the agent",
    "policy": "from tenant to tenant, wholesale or retail",
    "memory": "within a session, here at turn 6",
    "retrieved": "on each turn",
    "question": "on each turn",
}


# ---- tables --------------------------------------------------------------------------------------------------------------


def segment_table() -> Shown:
    rows = [{"letter": LETTERS[name], "segment": name, "tokens": SIZES[name], "changes": CHANGES[name]} for name in CACHE_ORDER]
    return show_table(rows, f"One turn: {sum(SIZES.values()):,} tokens, of about four characters each, in six segments")


def bill_table(bills: Mapping[str, Bill], caption: str) -> Shown:
    return show_table([_bill_row(name, bill) for name, bill in bills.items()], caption)


def _bill_row(name: str, bill: Bill) -> dict:
    return {
        "prompt": name,
        "tokens": f"{bill.tokens:,}",
        "read from the cache": f"{bill.reused:,} ({bill.reused_share:.0%})",
        f"cost (cached × {bill.prices.read})": f"{bill.cost:,.0f}",
    }


def pairs_table(pairs: Mapping[int, tuple[Bill, Bill]]) -> Shown:
    """Two bills for each number of prompts that a cache holds."""
    rows = [
        {
            "prompts held": held,
            "all six tools": f"{whole.cost:,.0f}",
            "tools that fit": f"{fitting.cost:,.0f}",
            "more": f"{fitting.cost / whole.cost - 1:+.0%}",
        }
        for held, (whole, fitting) in pairs.items()
    ]
    whole, fitting = next(iter(pairs.values()))
    return show_table(
        rows,
        f"Cost of ten real turns: {1 - fitting.tokens / whole.tokens:.0%} of the tokens saved, and dearer with all three caches",
    )


def prices_table(whole: Sequence[str], trimmed: Sequence[str], prices: Sequence[PromptPrices], reader: Principal) -> Shown:
    """Two rows of prompts under several prices, each with its date."""
    rows = []
    for price in prices:
        a, b = (simulate(prompts, principal=reader, prices=price).cost for prompts in (whole, trimmed))
        rows.append(
            {
                "prices": price.name,
                "as of": price.as_of or "made up",
                "whole": f"{a:,.0f}",
                "trimmed": f"{b:,.0f}",
                "trimming costs": f"{b / a - 1:+.0%}",
            }
        )
    return show_table(rows, "The same two rows of prompts, under prices with a date")


def lifetimes_table(reader: Principal) -> Shown:
    """What one changed byte takes down with it, by the segment in which it stands: changed once, from turn 4 on."""
    base = simulate(conversation(), principal=reader).reused
    rows, at = [], 0
    for name in CACHE_ORDER[:4]:  # the last two change on each turn anyway
        prompts = [
            text[:at] + ("*" + text[at + 1 :] if number >= 4 else text[at:]) for number, text in enumerate(conversation(), 1)
        ]
        lost = base - simulate(prompts, principal=reader).reused
        rows.append({"letter": LETTERS[name], "segment": name, "changes": CHANGES[name], "one change costs": f"{lost:,} tokens"})
        at += 4 * SIZES[name]
    return show_table(rows, "One byte changes once: what stands behind it in the prompt goes with it")


# ---- figures -------------------------------------------------------------------------------------------------------------


def reuse_figure(bills: Mapping[str, Bill]) -> tuple[Figure, str]:
    """One bar for each prompt: tokens over ten turns, read from the cache and paid in full. With its alt text."""
    figure, axes = new_figure("Five tokens at the front cost twelve thousand", size=(8, 2.9))
    for y, bill in enumerate(bills.values()):
        axes.barh(
            y,
            bill.reused,
            0.6,
            color="#CFE3F1",
            edgecolor=PALETTE[0],
            hatch=HATCHES[1],
            label="read from the cache" if y == 0 else None,
        )
        axes.barh(y, bill.tokens - bill.reused, 0.6, left=bill.reused, color=PALETTE[1], label="paid in full" if y == 0 else None)
        axes.text(bill.tokens + 200, y, f"{bill.reused:,} read, {bill.reused_share:.0%}", va="center", fontsize=9)
    axes.set_yticks(range(len(bills)), bills)
    axes.invert_yaxis()
    axes.set_xlim(0, 28_500)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("tokens over ten turns")
    axes.set_ylabel("prompt")
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.28), ncols=2, frameon=False)
    said = "; ".join(f"{name} {bill.reused:,} of {bill.tokens:,}" for name, bill in bills.items())
    return figure, f"Tokens read from the cache over ten turns: {said}."


def cost_figure(whole: Bill, trimmed: Bill, even: float) -> tuple[Figure, str]:
    """The cost of two bills against the price of a cached token, and where they meet. With its alt text."""
    figure, axes = new_figure(
        f"Fewer tokens are cheaper only where a cached one costs over {even:.2f} of a full one", size=(8, 3.2)
    )
    read = [step / 100 for step in range(101)]
    cost = {
        name: [bill.tokens - (1 - price) * bill.reused for price in read] for name, bill in (("whole", whole), ("trimmed", trimmed))
    }
    for (name, line), colour, style in zip(cost.items(), PALETTE, ("-", "--"), strict=False):
        axes.plot(
            read, line, color=colour, linestyle=style, label=f"{name}: {(whole if name == 'whole' else trimmed).tokens:,} tokens"
        )
    meet = whole.tokens - (1 - even) * whole.reused
    axes.plot(even, meet, "D", color="black")
    axes.annotate(
        f"break even at {even:.3f}", (even, meet), xytext=(even - 0.3, meet + 2_600), arrowprops={"arrowstyle": "->"}, fontsize=9
    )
    axes.set_ylim(8_000, 23_000)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("price of a cached token (share of the full price)")
    axes.set_ylabel("cost of ten turns\n(tokens at full price)")
    axes.legend(loc="lower right")
    return figure, (
        f"At a read price of {whole.prices.read} the whole prompt costs {whole.cost:,.0f} and the trimmed one {trimmed.cost:,.0f}; "
        f"the lines meet at {even:.3f}; at 1 they cost {whole.tokens:,} and {trimmed.tokens:,}."
    )


# ---- strips --------------------------------------------------------------------------------------------------------------

_COLOURS = dict(zip(LETTERS, ("#A6CBE3", "#F2C9A5", "#A8DCCB", "#E9C9DA", "#F5DFA3", "#CDE9F8", "#D0D0D0"), strict=True))
_READ = "repeating-linear-gradient(45deg,rgba(0,0,0,.28) 0 2px,transparent 2px 7px)"
CHUNK = SIZES["retrieved"] // 5
BUDGETS = {"2,200 tokens": 2_200, "2,000 tokens": 2_000, "1,800 tokens": 1_800, "1,600 tokens": 1_600, "1,400 tokens": 1_400}
DRAWN = (
    "cache order",
    "time stamp last",
    "time stamp first",
    "tools in alternating order",
    "tools on every second turn",
    "retrieved before policy",
)


def laid_out(layout: str, number: int) -> list[Segment]:
    """Where the segments of one prompt of `conversation` lie, in characters."""
    how, segments, at = LAYOUTS[layout], [], 0
    order = list(how.get("order", CACHE_ORDER))
    order = ["time", *order] if how.get("stamp") == "first" else [*order, "time"] if how.get("stamp") == "last" else order
    for name in order:
        absent = name == "tool_schemas" and how.get("tools") == "every second turn" and number % 2 == 0
        length = 0 if absent else 4 * (SIZES | {"time": 5})[name]
        segments += [Segment(name, at, at + length)] * (not absent)
        at += length
    return segments


def fitted(layout: str, budget_tokens: int) -> list[tuple[str, list[Segment], int]]:
    """Ten prompts under a budget: (text, segments, chunks kept of five). The lowest-ranked chunks go first."""
    prompts = []
    for number, text in enumerate(conversation(**LAYOUTS[layout]), 1):
        segments = laid_out(layout, number)
        assert segments[-1].end == len(text)
        found = next(segment for segment in segments if segment.name == "retrieved")
        kept = max(0, min(5, (4 * budget_tokens - len(text)) // (4 * CHUNK) + 5))
        cut = 4 * CHUNK * (5 - kept)
        moved = [Segment(name, start - cut * (start >= found.end), end - cut * (end >= found.end)) for name, start, end in segments]
        prompts.append((text[: found.end - cut] + text[found.end :], moved, kept))
    return prompts


def dials(layout: str, budget: int) -> Shown:
    """Turn 2 beside turn 1 as a strip, first changed byte marked; what was dropped; the bill of ten turns."""
    prompts = fitted(layout, budget)
    (before, _, _), (text, segments, kept) = prompts[:2]
    same = shared_prefix(before, text)
    name = next(segment.name for segment in segments if segment.end > same)
    bill = simulate([prompt for prompt, _, _ in prompts], principal=Principal("desk", "wholesale"))
    dropped = ", ".join(f"rank {rank}" for rank in range(5, kept, -1)) or "none"
    lines = [
        f"▲ first changed byte: in {LETTERS[name]} {name}, after {same // 4:,} of {estimate_tokens(text):,} tokens",
        f"chunks dropped at turn 2: {dropped}",
        f"ten turns: {bill.tokens:,} tokens, {bill.reused:,} read from the cache ({bill.reused_share:.0%}), cost {bill.cost:,.0f}",
    ]
    legend = " · ".join(f"{LETTERS[segment.name]} {segment.name}" for segment in segments)
    return Shown("\n".join(lines), strip(segments, same) + f"<p>{'<br>'.join(map(escape, [legend, *lines]))}</p>")


def strip(segments: Sequence[Segment], same: int) -> str:
    """A prompt as coloured, lettered blocks as wide as they are long; hatched up to the first changed byte, which ▲ marks."""
    blocks = []
    for name, start, end in segments:
        parts = [(start, min(end, same), True), (max(start, same), end, False)]
        if start <= same < end:
            parts.insert(1, (same, same, None))
        for begin, finish, read in parts:
            if read is None:
                blocks.append('<span style="flex:0 0 auto;padding:0 2px;font-weight:bold">▲</span>')
            elif begin < finish:
                pattern = f"background-image:{_READ};" if read else ""
                blocks.append(
                    f'<span style="flex:{finish - begin} 1 0;min-width:1em;overflow:hidden;text-align:center;'
                    f'background-color:{_COLOURS[name]};{pattern}border-right:1px solid #555">'
                    f'<b style="background:#fff;color:#000;padding:0 2px">{LETTERS[name]}</b></span>'
                )
    return f'<div style="display:flex;max-width:56em;border:1px solid #555;line-height:1.8">{"".join(blocks)}</div>'


def as_read(context: AssembledContext) -> Shown:
    """The visible segments of one prompt, lettered; a line that the assembler did not write is hatched and says FORGED."""
    written = {segment.start for segment in context.segments}
    lines, text = [], []
    for segment in shown_segments(context.text):
        header, _, body = context.text[segment.start : segment.end].partition("\n")
        forged = segment.start not in written
        pages = ", ".join(dict.fromkeys(chunk.doc_id for chunk in context.included_chunks)) or "no sources"
        told = "FORGED: " + " ".join(body.split()[:6]) + " …" if forged else pages if segment.name == "retrieved" else ""
        pattern = f"background-image:{_READ};" if forged else ""
        lines.append(
            f'<div style="margin:2px 0;border-left:14px solid {_COLOURS[segment.name]};padding-left:6px;{pattern}">'
            f"<b>{LETTERS[segment.name]}</b> <code>{escape(header)}</code>"
            f"{'<br>' * bool(told)}{f'<b>{escape(told)}</b>' if forged else escape(told)}</div>"
        )
        text.append(f"{LETTERS[segment.name]} {header} {told}".rstrip())
    count = f"instruction segments: {instruction_segments(context)}"
    return Shown("\n".join([*text, count]), "".join(lines) + f"<p><b>{count}</b></p>")


def as_quoted(context: AssembledContext, doc_id: str) -> Shown:
    """How one source stands in our prompt, between its two marks, letter for letter."""
    at = context.text.index(f'id="{doc_id}#')
    end = context.text.index(">>", at) + 2
    source = context.text[context.text.rindex("<<", 0, at) : end]
    return Shown(source, f'<pre class="lab-source" style="line-height:1.4">{escape(source)}</pre>')
