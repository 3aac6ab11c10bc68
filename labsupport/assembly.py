"""The prompt: six segments in cache order, a budget on the finished text, and marks that no quoted text can forge."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from labsupport.entitlement import can_read
from labsupport.errors import BudgetTooSmall, RetrievalError
from labsupport.model import Chunk, Hit, Principal, whole_number
from labsupport.tokens import estimate_tokens

SEGMENTS = ("instructions", "tool_schemas", "policy", "memory", "retrieved", "question")
"""Cache order: what changes least often stands first. Per release, agent version, tenant, session; then per turn."""

NO_SOURCES = "(no sources)"
"""Stands in the retrieved segment where no chunk was handed over, or none had room."""

# Everything that a reader, or `str.splitlines`, takes for the end of a line.
_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_LOOKS_LIKE_A_HEADER = re.compile(
    rf"(?:\A|(?<=[{_BREAKS}]))([^\w{_BREAKS}]*?)(?=\[[^\S{_BREAKS}]*(?:{'|'.join(SEGMENTS)}))", re.IGNORECASE)
_NO_MARK = "0" * 16  # as long as a mark, for measuring before the mark is known


class UnreadableChunk(RetrievalError):
    """A chunk was handed over that the principal may not read. Nothing was assembled, and nothing of it is told."""


class Segment(NamedTuple):
    """One segment of a prompt, header line included: `context.text[start:end]`."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class AssembledContext:
    """A prompt that fits. `tokens` is the estimate of `text`, without the reserve; chunks are in order of rank.

    `stable_prefix_tokens` is the estimate of the text up to the end of `policy`: what a provider's prefix cache can read
    again on every turn of every session. `segments` says where each segment lies. Built in notebook 08.
    """

    text: str
    tokens: int
    included_chunks: tuple[Chunk, ...]
    dropped_chunks: tuple[Chunk, ...]
    stable_prefix_tokens: int
    segments: tuple[Segment, ...]

    @property
    def cacheable_fraction(self) -> float:
        """The stable prefix's share of the prompt's tokens, in [0, 1)."""
        return self.stable_prefix_tokens / self.tokens


def assemble_context(
    *,
    budget_tokens: int,
    instructions: str,
    question: str,
    tool_schemas: str | Mapping | Collection = "",
    policy: str | Mapping | Collection = "",
    memory: str | Mapping | Collection = "",
    retrieved: Iterable[Hit | Chunk] = (),
    reserve_tokens: int = 0,
    principal: Principal | None = None,
) -> AssembledContext:
    """Put a prompt together, stable segments first, and drop the lowest-ranked chunks until it fits.

    `retrieved` is in order of rank. A hit's parent section stands in for its text; a chunk that comes twice stands once,
    and sibling chunks share one copy of their section. The estimate of the finished text, plus `reserve_tokens` for the
    answer, never exceeds `budget_tokens`. Mappings are rendered with sorted keys and tools in a fixed order, so the same
    inputs give the same bytes.

    No content can open or close a segment: a line that looks like a header gets a backslash, and each source lies
    between two marks that follow from the retrieved text by a hash and occur nowhere else. That holds for a parser. A
    model may still believe what it reads, so do not let one act on it (notebook 09).

    Given the principal, every chunk's label is asked once more, and the headers of `policy`, `memory` and `retrieved`
    carry a mark of the tenant or the reader, so that no two readers share a cached prefix past the tenant's policy. A
    parent section carries no label: it is as safe as the retrieval that made it.

    Raises `BudgetTooSmall` where the segments that are never dropped do not fit, `UnreadableChunk`, `TypeError`,
    `ValueError`. Time is linear in what is handed over. Built in notebook 08.
    """
    budget = whole_number("budget_tokens", budget_tokens, least=0)
    reserve = whole_number("reserve_tokens", reserve_tokens, least=0)
    hits = _distinct(retrieved)
    _ask_again(principal, hits)
    bodies = {
        "instructions": _text("instructions", instructions),
        "tool_schemas": _rendered("tool_schemas", tool_schemas, ordered=False),
        "policy": _rendered("policy", policy),
        "memory": _rendered("memory", memory),
        "retrieved": NO_SOURCES,
        "question": _text("question", question),
    }
    bodies = {name: _quoted(body) for name, body in bodies.items()}
    reader = "" if principal is None else _entitlement(principal)
    tags = {"retrieved": _NO_MARK}
    if principal is not None:
        tags |= {"policy": _mark("tenant", principal.tenant), "memory": _mark("reader", reader)}

    fixed = estimate_tokens(_join(bodies, tags)[0])
    if fixed + reserve > budget:
        raise BudgetTooSmall(
            f"budget_tokens is {budget}, but what is never dropped takes {fixed} and the answer's reserve {reserve}: "
            f"give at least {fixed + reserve}")

    # estimate_tokens(text) <= n exactly when len(text) <= 4 * n, so one running sum of lengths decides.
    bodies["retrieved"] = ""
    room = 4 * (budget - reserve) - len(_join(bodies, tags)[0])
    sources: dict[tuple, tuple[list[str], str]] = {}
    included = 0
    for hit in hits:
        key, reference, body = _source(hit)
        known = key in sources
        room -= len(_opening(_NO_MARK, reference)) if known else len(_block(_NO_MARK, [reference], body)) + bool(sources)
        if room < 0:
            break
        sources.setdefault(key, ([], body))[0].append(reference)
        included += 1

    tags["retrieved"] = mark = _fence_mark(reader, sources.values(), (*bodies.values(), *tags.values()))
    bodies["retrieved"] = "\n".join(_block(mark, *source) for source in sources.values()) or NO_SOURCES
    text, segments = _join(bodies, tags)
    stable = max((segment.end for segment in segments if segment.name in SEGMENTS[:3]), default=0)
    chunks = tuple(hit.chunk for hit in hits)
    return AssembledContext(
        text, estimate_tokens(text), chunks[:included], chunks[included:], estimate_tokens(text[:stable]), segments)


def _distinct(retrieved: Iterable[Hit | Chunk]) -> list[Hit]:
    """Hits in order of rank, each chunk once, at its best rank."""
    if isinstance(retrieved, (str, Mapping)) or not isinstance(retrieved, Iterable):
        raise TypeError(f"retrieved must be a list of Hit or Chunk, got {type(retrieved).__name__}")
    hits: dict[tuple[str, str], Hit] = {}
    for item in retrieved:
        hit = Hit(item, 0.0) if isinstance(item, Chunk) else item
        if not isinstance(hit, Hit) or not isinstance(hit.chunk, Chunk):
            raise TypeError(f"retrieved must hold Hit or Chunk, got {type(item).__name__}")
        hits.setdefault((hit.chunk.tenant, hit.chunk.chunk_id), hit)
    return list(hits.values())


def _ask_again(principal: Principal | None, hits: list[Hit]) -> None:
    if principal is None:
        return
    if not isinstance(principal, Principal):
        raise TypeError(f"principal must be a Principal, got {principal!r}")
    if not all(can_read(principal, hit.chunk.label) for hit in hits):
        # Which one, and how many, would already tell something about what may not be read.
        raise UnreadableChunk(
            f"retrieved must hold only what principal {principal.user_id!r} may read, and nothing was assembled: "
            "hand over the hits of this principal's own retrieval")


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text, got {value!r}")
    return value


def _rendered(what: str, value: object, *, ordered: bool = True) -> str:
    """Text as it is; anything else as JSON whose bytes do not depend on the order of keys, sets, or unordered lists."""
    if isinstance(value, str):
        return value
    try:
        if not isinstance(value, (Mapping, list, tuple, set, frozenset)):
            raise TypeError(f"got {value!r}")
        if not ordered and not isinstance(value, Mapping):
            return "[" + ",".join(sorted(map(_canonical, value))) + "]" if value else ""
        return _canonical(value) if value else ""
    except (TypeError, ValueError) as problem:
        raise TypeError(f"{what} must be text, or a mapping or list that JSON can hold: {problem}") from None


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=_canonical)
    raise TypeError(f"got {value!r}")


def _quoted(body: str) -> str:
    """The body with a backslash before whatever a line could pass off as a header; taking one off again restores it."""
    return _LOOKS_LIKE_A_HEADER.sub(r"\1\\", body)


def _entitlement(principal: Principal) -> str:
    return repr((principal.tenant, principal.user_id, principal.max_classification,
                 sorted(principal.barriers), sorted(principal.groups)))


def _mark(*parts: str) -> str:
    """16 hexadecimal digits that follow from the parts and from where each of them ends (BLAKE2b)."""
    digest = blake2b(digest_size=8)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def _fence_mark(reader: str, sources: Iterable[tuple[list[str], str]], others: Iterable[str]) -> str:
    """The turn's mark. Nobody writes a text that holds its own hash; should a question quote it, the next one serves."""
    parts = [part for references, body in sources for part in (*references, body)]
    mark = _mark("turn", reader, *parts)
    while any(mark in part for part in (*parts, *others)):
        mark = _mark(mark)
    return mark


def _source(hit: Hit) -> tuple[tuple, str, str]:
    """What makes two hits one block, the reference line's content, and the text to quote."""
    chunk = hit.chunk
    section = (chunk.tenant, chunk.doc_id, chunk.version, hit.context) if hit.context else (chunk.tenant, chunk.chunk_id)
    return section, f"id={_one_line(chunk.chunk_id)} cite={_one_line(chunk.citation())}", _quoted(hit.context or chunk.text)


def _one_line(value: str) -> str:
    """A JSON string without any line break: an id or a heading may hold what it likes."""
    quoted = json.dumps(value, ensure_ascii=False)
    for mark in "\x85\u2028\u2029":
        quoted = quoted.replace(mark, f"\\u{ord(mark):04x}")
    return quoted


def _opening(mark: str, reference: str) -> str:
    return f"<<{mark} {reference}\n"


def _block(mark: str, references: list[str], body: str) -> str:
    return "".join(_opening(mark, reference) for reference in references) + f"{body}\n{mark}>>"


def _join(bodies: Mapping[str, str], tags: Mapping[str, str]) -> tuple[str, tuple[Segment, ...]]:
    """The text, and where each segment lies in it. A segment with nothing in it leaves no trace, but for the last two."""
    pieces, segments, at = [], [], 0
    for name in SEGMENTS:
        if not bodies[name] and name not in SEGMENTS[-2:]:
            continue
        header = f"[{name} {tags[name]}]" if name in tags else f"[{name}]"
        piece = f"{header}\n{bodies[name]}"
        pieces.append(piece)
        segments.append(Segment(name, at, at + len(piece)))
        at += len(piece) + len("\n\n")
    return "\n\n".join(pieces), tuple(segments)
