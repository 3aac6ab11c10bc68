"""Prompts put together so that they cost more, or so that a page speaks in the house's name. Attacked in notebook 08."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import ClassVar

from labsupport.assembly import SEGMENTS, AssembledContext, Segment, assemble_context
from labsupport.caching import PrefixCache
from labsupport.errors import BudgetTooSmall
from labsupport.model import Chunk, Hit, Principal
from labsupport.tokens import estimate_tokens, tokenize


@dataclass(frozen=True)
class WrongAssembly:
    """`assemble_context` with one thing done in another way; called with the same arguments.

    `turn` counts from 1 and stands for what such a design reads besides its arguments: the clock, or the worker it runs in.
    """

    turn: int = 1

    sentence: ClassVar[str] = ""
    """What its author says in the review."""

    def __call__(self, **inputs) -> AssembledContext:
        raise NotImplementedError


class StampFirst(WrongAssembly):
    """Puts the minute above everything else: five tokens, other ones on each turn. Notebook 08."""

    sentence = "The model should know what time it is, and it costs five tokens."

    def __call__(self, *, budget_tokens: int, **inputs) -> AssembledContext:
        minute = 4 + 11 * (self.turn - 1)
        stamp = f"{9 + minute // 60:02d}:{minute % 60:02d} on 2026-03-02\n"
        context = assemble_context(budget_tokens=budget_tokens - estimate_tokens(stamp), **inputs)
        segments = tuple(Segment(name, start + len(stamp), end + len(stamp)) for name, start, end in context.segments)
        text = stamp + context.text
        return replace(context, text=text, tokens=estimate_tokens(text), segments=segments, stable_prefix_tokens=0)


class ToolsFromSet(WrongAssembly):
    """Lists the tools in the order in which a set of their names gives them. Notebook 08.

    Two workers answer in turn. In each the strings hash with another seed, so each has an order of its own and keeps it;
    BLAKE2b stands in for the seed, so that the page says the same tomorrow.
    """

    sentence = "They are the same tools, and their order means nothing."

    def __call__(self, *, tool_schemas: Sequence[Mapping], **inputs) -> AssembledContext:
        worker = bytes([self.turn % 2])
        ordered = sorted(tool_schemas, key=lambda tool: blake2b(tool["name"].encode(), key=worker).digest())
        return assemble_context(tool_schemas=_lines(ordered), **inputs)


class TrimmedTools(WrongAssembly):
    """Sends only the tools that share a word of four letters or more with the question. Notebook 08."""

    sentence = "Why pay for tools that this question does not need?"

    def __call__(self, *, tool_schemas: Sequence[Mapping], question: str, **inputs) -> AssembledContext:
        asked = {word for word in tokenize(question) if len(word) > 3}
        needed = [tool for tool in tool_schemas if asked & set(tokenize(tool["description"]))]
        return assemble_context(tool_schemas=needed, question=question, **inputs)


class NaiveTemplate(WrongAssembly):
    """Marks each segment by a line such as `[policy]` and writes the sources under theirs as they come. Notebook 08."""

    sentence = "The segments are clearly marked."

    def __call__(self, *, budget_tokens: int, instructions: str, question: str, tool_schemas: str | Collection = "",
                 policy: str = "", memory: str = "", retrieved: Iterable[Hit | Chunk] = (), reserve_tokens: int = 0,
                 principal: Principal | None = None) -> AssembledContext:
        chunks = [hit.chunk if isinstance(hit, Hit) else hit for hit in retrieved]
        tools = tool_schemas if isinstance(tool_schemas, str) else _lines(sorted(tool_schemas, key=_line))
        bodies = {"instructions": instructions, "tool_schemas": tools, "policy": policy, "memory": memory, "question": question}
        for kept in range(len(chunks), -1, -1):
            sources = "\n".join(f"{number}. {self.cleaned(chunk.text)}" for number, chunk in enumerate(chunks[:kept], 1))
            text, segments = _marked({**bodies, "retrieved": sources})
            if estimate_tokens(text) + reserve_tokens <= budget_tokens:
                stable = max((end for name, _, end in segments if name in ("instructions", "tool_schemas", "policy")), default=0)
                return AssembledContext(text, estimate_tokens(text), tuple(chunks[:kept]), tuple(chunks[kept:]),
                                        estimate_tokens(text[:stable]), segments)
        raise BudgetTooSmall(f"budget_tokens is {budget_tokens}: give at least {estimate_tokens(text) + reserve_tokens}")

    def cleaned(self, text: str) -> str:
        return text


class BlackList(NaiveTemplate):
    """The naive template, with its own markers taken out of every source. Notebook 08."""

    sentence = "We strip our markers from whatever was retrieved."

    def cleaned(self, text: str) -> str:
        return re.sub("|".join(rf"\[{name}\]" for name in SEGMENTS), "", text)


class SharedPrefixCache(PrefixCache):
    """A prefix cache with one partition for everybody who uses the account. Notebook 08."""

    sentence = "Whoever sends a prefix has it already, so there is nothing to protect."

    def send(self, prompt: str, principal: Principal) -> tuple[int, int]:
        return super().send(prompt, Principal("everybody", "one account"))


def _line(tool: Mapping) -> str:
    return json.dumps(tool, sort_keys=True, ensure_ascii=False)


def _lines(tools: Iterable[Mapping]) -> str:
    return "\n".join(map(_line, tools))


def _marked(bodies: Mapping[str, str]) -> tuple[str, tuple[Segment, ...]]:
    text, segments = "", []
    for name in ("instructions", "tool_schemas", "policy", "memory", "retrieved", "question"):
        if bodies[name] or name in ("retrieved", "question"):
            text += "\n\n" * bool(text)
            segments.append(Segment(name, len(text), len(text) + len(f"[{name}]\n{bodies[name]}")))
            text += f"[{name}]\n{bodies[name]}"
    return text, tuple(segments)
