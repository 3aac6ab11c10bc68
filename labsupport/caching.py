"""Two caches, both walled: one for results, keyed by all that decides them, and a model of a provider's prefix cache.

Prices stand here, dated and sourced, and nowhere else.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from labsupport.assembly import SEGMENTS
from labsupport.guardrails import check_query
from labsupport.model import AccessLabel, Principal, whole_number
from labsupport.retriever import AuditRecord, AuthorizedRetriever, RetrievalPolicy, RetrievalResult
from labsupport.tokens import estimate_tokens

# --- Results ----------------------------------------------------------------------------------------------------------


def cache_key(principal: Principal, query: str, policy: RetrievalPolicy, now_tick: int,
              generations: Iterable[tuple[AccessLabel, int]]) -> tuple:
    """Everything that decides a result, as a tuple: a joined string would make ('ab', 'c') and ('a', 'bc') one key.

    `generations` are `engine.open_labels(principal)`: one number for each shelf that is open to this reader. One for the
    whole index would move with every hidden edit, and tell of it. The principal stands in the key as a whole, who asks
    included: two colleagues who may read the same still do not learn what the other asked. Built in notebook 04.
    """
    return (principal.tenant, principal, frozenset(generations), query, policy, now_tick)


@dataclass(frozen=True)
class CacheStatistics:
    """What one principal may know of a cache: counts of their own questions, and how many results are kept for them."""

    hits: int = 0
    misses: int = 0
    kept: int = 0


@dataclass
class _Partition:
    generations: tuple = ()
    entries: dict[tuple, tuple[RetrievalResult, AuditRecord]] = field(default_factory=dict)
    hits: int = 0
    misses: int = 0


class ResultCache:
    """Stands before an `AuthorizedRetriever` and answers a repeat without a search. Built in notebook 04.

    Each principal has a partition of their own: entries, statistics and room. Nobody's question warms, fills or empties
    another's, so neither a flag nor a clock tells what others asked. A degraded result is never kept, nor a refused
    question. An answer from the cache is audited like any other, with no work done.

    `max_entries`: results kept for each principal; the one that was not used for longest goes first. After an edit on a
    shelf of theirs, what was kept goes at their next question; `forget` drops everything at once, dead text too.
    """

    def __init__(self, retriever: AuthorizedRetriever, *, max_entries: int = 128):
        whole_number("max_entries", max_entries)
        if not hasattr(retriever.engine, "open_labels"):
            kind = type(retriever.engine).__name__
            raise TypeError(f"a cache needs an engine that tells the generations of its shelves (open_labels), got {kind}")
        self.retriever = retriever
        self.max_entries = max_entries
        self._partitions: dict[Principal, _Partition] = {}

    def retrieve(
        self, query: str, principal: Principal, *, now_tick: int = 0,
        policy: RetrievalPolicy = RetrievalPolicy(),  # noqa: B008 (frozen, so one serves for all)
    ) -> RetrievalResult:
        """What `AuthorizedRetriever.retrieve` answers, from the cache where nothing that decides it has changed."""
        query = check_query(query)
        # Read before the search: an edit in between files the result under generations that never come back.
        generations = self.retriever.engine.open_labels(principal)
        key = cache_key(principal, query, policy, now_tick, generations)
        partition = self._partitions.setdefault(principal, _Partition())
        if partition.generations != generations:
            partition.generations, partition.entries = generations, {}
        kept = partition.entries.pop(key, None)
        if kept is not None:
            partition.hits += 1
            partition.entries[key] = kept  # used last, so dropped last
            self._audit(replace(kept[1], postings_read=0, vectors_read=0,
                                excluded_by_entitlement=self.retriever.engine.closed_to(principal)))
            return kept[0]
        partition.misses += 1
        result, record = self._search(query, principal, now_tick, policy)
        self._audit(record)
        if not result.degraded:
            partition.entries[key] = (result, record)
            if len(partition.entries) > self.max_entries:
                del partition.entries[next(iter(partition.entries))]
        return result

    def statistics(self, principal: Principal) -> CacheStatistics:
        """This principal's own counts: the same whatever anybody else asked. All zero before the first question."""
        partition = self._partitions.get(principal, _Partition())
        return CacheStatistics(partition.hits, partition.misses, len(partition.entries))

    def forget(self) -> None:
        """The operator's: drop every kept result, so that no dead text stays in memory. Counts stay."""
        for partition in self._partitions.values():
            partition.entries = {}

    def _search(self, *question) -> tuple[RetrievalResult, AuditRecord]:
        query, principal, now_tick, policy = question
        records: list[AuditRecord] = []
        asking = copy.copy(self.retriever)
        asking.audit = records.append
        return asking.retrieve(query, principal, now_tick=now_tick, policy=policy), records[0]

    def _audit(self, record: AuditRecord) -> None:
        if self.retriever.audit is not None:
            self.retriever.audit(record)


# --- Prompts ----------------------------------------------------------------------------------------------------------


def shared_prefix(a: str, b: str) -> int:
    """How many characters two texts share before their first difference: all that a prefix cache can reuse. Notebook 08."""
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@dataclass(frozen=True)
class PromptPrices:
    """What a provider takes for a token of a prompt, in units of one token at full price, and what its cache holds.

    `read`: a token read from the cache. `write_surcharge`: on top of full price, for a token written to it.
    `minimum_prefix`: the shortest prefix that is kept, in tokens. `step`: reuse is counted in whole steps, in tokens.
    """

    name: str
    read: float
    write_surcharge: float = 0.0
    minimum_prefix: int = 0
    step: int = 1
    source: str = ""
    as_of: str = ""

    def __post_init__(self):
        if not 0 <= self.read <= 1:
            raise ValueError(f"read must lie between 0 and 1, a share of the full price, got {self.read!r}")
        if self.write_surcharge < 0 or self.minimum_prefix < 0 or self.step < 1:
            raise ValueError(f"write_surcharge and minimum_prefix must be at least 0 and step at least 1, got {self!r}")


LAB_PRICES = PromptPrices("the lab's round figures", read=0.1)
"""A tenth for reading, no surcharge, no minimum: so that the arithmetic of notebook 08 shows."""

PROVIDER_PRICES = (
    PromptPrices("OpenAI, GPT-4o", read=0.5, minimum_prefix=1024, step=128,
                 source="https://openai.com/index/api-prompt-caching/", as_of="2024-10-01"),
    PromptPrices("Anthropic, Claude 3.5 Sonnet, kept for 5 minutes", read=0.1, write_surcharge=0.25, minimum_prefix=1024,
                 source="https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching", as_of="2024-08-14"),
)
"""Published prices on their date. They change: read the source before you sign for a figure."""


@dataclass(frozen=True)
class Bill:
    """What a row of prompts took: `turns` holds (tokens, of which reused) for each. Costs are in tokens at full price."""

    turns: tuple[tuple[int, int], ...]
    prices: PromptPrices

    @property
    def tokens(self) -> int:
        return sum(tokens for tokens, _ in self.turns)

    @property
    def reused(self) -> int:
        return sum(reused for _, reused in self.turns)

    @property
    def reused_share(self) -> float:
        return self.reused / self.tokens if self.tokens else 0.0

    @property
    def cost(self) -> float:
        """Full price for what is not reused, with the surcharge where a prompt is long enough to be written."""
        written = sum(tokens - reused for tokens, reused in self.turns if tokens >= self.prices.minimum_prefix)
        return self.tokens - self.reused + written * self.prices.write_surcharge + self.reused * self.prices.read


class PrefixCache:
    """A model of a provider's prefix cache: a prompt is read from it up to the first byte that changed.

    Partitioned by principal, tenant and entitlement included: nobody is credited with a prefix that another sent, or the
    price and the delay would confirm a guess at their text. `prompts_held` is how many earlier prompts of a principal
    are still there: 1 is a cache that keeps the last turn alone, and real ones keep what was used in the last minutes.
    Built in notebook 08.
    """

    def __init__(self, prices: PromptPrices = LAB_PRICES, *, prompts_held: int = 1):
        whole_number("prompts_held", prompts_held)
        self.prices = prices
        self.prompts_held = prompts_held
        self._sent: dict[Principal, deque[str]] = {}

    def send(self, prompt: str, principal: Principal) -> tuple[int, int]:
        """(tokens, of which reused). Only whole tokens, whole steps, and prefixes of the least length count as reused."""
        if not isinstance(principal, Principal):
            raise TypeError(f"send needs a Principal, whose prefixes may be reused; got {principal!r}")
        sent = self._sent.setdefault(principal, deque(maxlen=self.prompts_held))
        reused = max((shared_prefix(prompt, earlier) // 4 for earlier in sent), default=0)
        reused -= reused % self.prices.step
        sent.append(prompt)
        return estimate_tokens(prompt), reused if reused >= self.prices.minimum_prefix else 0


def simulate(prompts: Iterable[str], *, principal: Principal, prices: PromptPrices = LAB_PRICES, prompts_held: int = 1) -> Bill:
    """The bill for one principal's prompts, sent one after the other to a cold cache. Built in notebook 08."""
    cache = PrefixCache(prices, prompts_held=prompts_held)
    return Bill(tuple(cache.send(prompt, principal) for prompt in prompts), prices)


def break_even_read_price(longer: Bill, shorter: Bill) -> float | None:
    """The read price at which two bills cost the same, surcharges for writes left out; `None` if at none from 0 to 1.

    Above it the bill with fewer tokens is the cheaper one. From t1 - (1 - r)·u1 = t2 - (1 - r)·u2, with t tokens of
    which u are reused. Met in notebook 08.
    """
    if longer.reused == shorter.reused:
        return None
    price = 1 - (longer.tokens - shorter.tokens) / (longer.reused - shorter.reused)
    return price if 0 <= price <= 1 else None


# --- The conversation of notebook 08 ----------------------------------------------------------------------------------

SIZES = {"instructions": 400, "tool_schemas": 600, "policy": 200, "memory": 150, "retrieved": 800, "question": 40}
"""Tokens of each segment, 2,190 in all, in each of ten turns. Memory changes once, at turn 6."""

LAYOUTS = {
    "cache order": {},
    "time stamp last": {"stamp": "last"},
    "time stamp first": {"stamp": "first"},
    "tools in alternating order": {"tools": "alternating"},
    "tools on every second turn": {"tools": "every second turn"},
    "memory before policy": {"order": ("instructions", "tool_schemas", "memory", "policy", "retrieved", "question")},
    "retrieved before policy": {"order": ("instructions", "tool_schemas", "retrieved", "policy", "memory", "question")},
    "question first": {"order": ("question", *SEGMENTS[:-1])},
}
"""What people do to a prompt, by name: the arguments of `conversation`."""

_TOOLS = ("ask", "book", "cancel", "delay", "extend", "find")


def conversation(*, order: Sequence[str] = SEGMENTS, stamp: str | None = None, tools: str = "steady") -> list[str]:
    """Ten prompts of exact sizes, without headers or separators, so that every token of the bill can be counted by hand.

    `order`: the six segments. `stamp`: five tokens of time, `"first"` or `"last"`. `tools`: `"steady"`, `"alternating"`
    (the same tools, reversed on every second turn) or `"every second turn"` (left out in between). Met in notebook 08.
    """
    if sorted(order) != sorted(SEGMENTS):
        raise ValueError(f"order must hold each of {', '.join(SEGMENTS)} once, got {order!r}")
    if stamp not in (None, "first", "last"):
        raise ValueError(f"stamp must be None, 'first' or 'last', got {stamp!r}")
    if tools not in ("steady", "alternating", "every second turn"):
        raise ValueError(f"tools must be 'steady', 'alternating' or 'every second turn', got {tools!r}")
    prompts = []
    for turn in range(1, 11):
        texts = {
            "instructions": _sized("Answer from the sources alone.", SIZES["instructions"]),
            "tool_schemas": _tool_texts(turn, tools),
            "policy": _sized("Quote amounts letter for letter.", SIZES["policy"]),
            "memory": _sized("The talk is of leave." if turn < 6 else "Since then it is of pay.", SIZES["memory"]),
            "retrieved": _sized(f"{turn}: found for this turn's question.", SIZES["retrieved"]),
            "question": _sized(f"{turn}. And what of that?", SIZES["question"]),
        }
        minute = 4 + 11 * (turn - 1)
        time = f"{9 + minute // 60:02d}:{minute % 60:02d} on 2026-03-02\n"
        prompt = "".join(texts[name] for name in order)
        prompts.append(time + prompt if stamp == "first" else prompt + time if stamp == "last" else prompt)
    return prompts


def _tool_texts(turn: int, tools: str) -> str:
    texts = [_sized(f"{name}: takes a date, gives a text.", SIZES["tool_schemas"] // len(_TOOLS)) for name in _TOOLS]
    if turn % 2 == 0 and tools == "every second turn":
        return ""
    return "".join(reversed(texts) if turn % 2 == 0 and tools == "alternating" else texts)


def _sized(sentence: str, tokens: int) -> str:
    return (f"{sentence} " * tokens)[: 4 * tokens - 1] + "\n"
