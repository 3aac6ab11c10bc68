"""Notebook 02, BM25 vs dense: its predictions, its judges, the two lists with their reasons, and the crowd of strangers."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labsupport.bm25 import idf
from labsupport.embedding import Embedder
from labsupport.index import Index
from labsupport.leaky import classic_idf
from labsupport.lesson.checks import Exercise, Failed, Verdict, right, wrong
from labsupport.lesson.figures import LINES, MARKERS, PALETTE, new_figure
from labsupport.lesson.leak_log import LeakLine
from labsupport.lesson.predictions import Prediction
from labsupport.lesson.shown import Shown
from labsupport.lesson.tables import show_table
from labsupport.model import Hit, Principal
from labsupport.tokens import ranked_text, tokenize
from labsupport.vectors import committed_vectors
from labsupport.worlds import World, load_world

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INCIDENT = "PMT-771 alert closed?"
KEPT = "Was the alert on PMT-771 closed?"



class Asked(NamedTuple):
    """Where a question is asked, by whom in the story, and the right page; `None` where no page is."""

    house: str
    reader: str
    page: str | None


SIX = {
    INCIDENT: Asked("bank", "wes", "pmt-771"),
    "time off for a new child": Asked("northline", "eli", "leave"),
    "How long can I stay home with my newborn": Asked("northline", "eli", "leave"),
    "maternity": Asked("northline", "eli", "leave"),
    "wire fee": Asked("bank", "wes", "fees"),
    "zebra xylophone": Asked("northline", "eli", None),
}

MEASURED = ("BM25, default", "dense, hash embedder", "hybrid (RRF), hash embedder", "dense, all-MiniLM-L6-v2",
            "hybrid (RRF), all-MiniLM-L6-v2")
"""The rows of data/benchmarks/retrieval_quality.json that the notebook shows."""

PREDICTIONS = {
    "02.1": Prediction(
        "By words, where is the parental leave page?",
        {
            "a": ("first", "two chunks about days off share `time` and `off` with the question. The leave page has neither."),
            "b": ("not in the list", "you read the words that carry meaning. BM25 reads all of them, and the leave page says `for every employee`."),
            "c": ("third", "it shares one word with the question, `for`. The right page for a wrong reason: a hit is not yet understanding."),
        },
        "c",
    ),
    "02.2": Prediction(
        "BM25's share for this word grows by a factor of",
        {
            "a": ("10", "ten mentions are not ten times the evidence. The first says that the chunk is about the word; the tenth says it again."),
            "b": ("about 2.2", "the count is damped: 2.5 · 10 / 11.5 against 2.5 · 1 / 2.5."),
            "c": ("1, a word counts once", "a second mention does add something, and each further one adds less."),
        },
        "b",
    ),
    "02.3": Prediction(
        "The average cosine of two such texts is",
        {
            "a": ("0", "no word is shared, but slots are: 20 words on 96 slots meet 20 others. Without a sign each meeting adds."),
            "b": ("about 0.2", "strangers look alike: each of them has many words on few slots, and every meeting counts plus one."),
            "c": ("about 0.5", "that is what fewer than 32 slots give. With 96 there is more room, and still not enough."),
        },
        "b",
    ),
    "02.4": Prediction(
        "By words, which payment is first now?",
        {
            "a": ("PMT-771", "its reference is the heaviest word, and one word. `On`, `closed` and `was` are lighter, and together they weigh more."),
            "b": ("PMT-717", "the page of the other payment holds more of the small words, and BM25 adds them up."),
            "c": ("neither of them", "no third page holds as many words of the sentence as these two."),
        },
        "b",
    ),
}

LEAK = LeakLine(
    notebook="02",
    name="one list for every question",
    sounded_reasonable="Embeddings understand, so they subsume keywords.",
    observed="another payment's page, first in the list, read out to a client; nothing failed",
    closed_by="two lists, the question as it was typed, and a reference as a condition: a page without it is no answer",
)


# ---- two lists and their reasons -----------------------------------------------------------------------------------------


def shared_words(question: str, hit: Hit) -> list[str]:
    """The tokens that a question and a chunk have in common, in the order of the question."""
    held = set(tokenize(ranked_text(hit.chunk)))
    return [word for word in dict.fromkeys(tokenize(question)) if word in held]


def why(question: str, hit: Hit) -> str:
    return ", ".join(shared_words(question, hit)) or "no shared word"


def place(page: str, hits: Iterable[Hit]) -> int | None:
    """Where the first chunk of a page stands in a list, from 1; `None` where the list does not hold it."""
    return next((rank for rank, hit in enumerate(hits, 1) if hit.chunk.doc_id == page), None)


def three_ways(index: Index, questions: Sequence[str], reader: Principal, page: str) -> Shown:
    """For each question: what BM25 has first and why, where it has the right page, and what the model has first."""
    rows = []
    for question, way in zip(questions, ("right by luck", "wrong, with confidence", "empty"), strict=True):
        words, meaning = index.lexical(question, principal=reader), index.dense(question, principal=reader, limit=1)
        found = place(page, words)
        rows.append({
            "question": question,
            "first by words": f"{words[0].chunk.doc_id} ({why(question, words[0])})" if words else "nothing",
            f"{page} by words": f"place {found} ({why(question, words[found - 1])})" if found else "–",
            "words fail": way,
            "first by meaning": meaning[0].chunk.doc_id,
        })
    return show_table(rows, "Three ways in which words fail, and the model is right each time")


def two_lists(index: Index, question: str, reader: Principal) -> Shown:
    """The three best by words and by meaning as one reader gets them, each with the words that it shares with the question."""
    legs = {"by words": ("BM25", index.lexical(question, principal=reader, limit=3)),
            "by meaning": ("cosine", index.dense(question, principal=reader, limit=3))}
    shown = [_one_list(name, scale, hits, question) for name, (scale, hits) in legs.items()]
    return Shown("\n".join(each.text for each in shown), "".join(each.html for each in shown))


def _one_list(name: str, scale: str, hits: Sequence[Hit], question: str) -> Shown:
    if not hits:
        return Shown(f"{name}: nothing", f"<p><strong>{name}</strong><br>nothing</p>")
    rows = [{"page": f"{rank} {hit.chunk.doc_id} · {hit.chunk.section}", scale: hit.score, "why": why(question, hit)}
            for rank, hit in enumerate(hits, 1)]
    return show_table(rows, name, digits=3 if scale == "cosine" else 2)


def right_pages_by_words(houses: Mapping[str, World], design: Callable[[Index], object] = lambda index: index) -> dict[str, int | None]:
    """The five questions that have a right page, and its place on the list by words under a design."""
    return {question: place(page, design(houses[house].index).lexical(question, principal=houses[house].principals[reader]))
            for question, (house, reader, page) in SIX.items() if page}


# ---- strangers: texts without a common word -------------------------------------------------------------------------------

PAIRS, LONG = 500, 20


@cache
def _strangers() -> tuple[list[str], list[str]]:
    """500 pairs of texts of 20 words, and no word stands in two of them."""
    texts = [" ".join(f"word{number}" for number in range(LONG * text, LONG * (text + 1))) for text in range(2 * PAIRS)]
    return texts[:PAIRS], texts[PAIRS:]


def strangers(embedder: Embedder) -> np.ndarray:
    """The cosine of each pair of strangers under this embedder, float64, shape (500,)."""
    left, right_hand = (np.asarray(embedder(texts), np.float64) for texts in _strangers())
    return (left * right_hand).sum(axis=1)


def collision_figure(cosines: Mapping[str, Mapping[int, np.ndarray]]) -> tuple[Figure, str]:
    """Mean cosine of strangers against dimensions, with a band of one standard deviation, one line for each design."""
    figure, axes = new_figure("Signs remove the bias; only more dimensions remove the noise")
    said = []
    for (name, by_dimensions), colour, marker, line in zip(cosines.items(), (PALETTE[1], PALETTE[0]), ("s", "o"), LINES, strict=False):
        sizes = list(by_dimensions)
        means, spreads = (np.array([measure(values) for values in by_dimensions.values()]) for measure in (np.mean, np.std))
        axes.plot(sizes, means, color=colour, marker=marker, linestyle=line, label=f"{name} (band: ± 1 standard deviation)")
        axes.fill_between(sizes, means - spreads, means + spreads, color=colour, alpha=0.18, hatch="///" if marker == "s" else None)
        each = ", ".join(f"{mean + 0.0:.2f} ± {spread:.2f}" for mean, spread in zip(np.round(means, 2), spreads, strict=True))
        said.append(f"{name}: {each}")
    axes.axhline(0, color="#767676", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set_xlabel("dimensions (log scale)")
    axes.set_ylabel("cosine of two texts\nthat share no word")
    axes.legend(loc="upper right")
    return figure, f"At {', '.join(map(str, sizes))} dimensions, {'; '.join(said)}."


def curves_figure(damped: Callable[..., float]) -> tuple[Figure, str]:
    """What k1 and b do to the share of one word: two panels, from the notebook's own function."""
    figure, (left, right_hand) = new_figure(
        "k1 says how soon repeats stop counting, b how much a long chunk pays", panels=2, size=(9.0, 3.4), sharey=True)
    counts, lengths = range(0, 16), [0.25 * step for step in range(1, 17)]
    for k1, colour, marker, line in zip((0.0, 0.5, 1.5, 3.0), PALETTE, MARKERS, LINES, strict=False):
        left.plot(counts, [damped(count, 1, 1, k1=k1) if count else 0 for count in counts], color=colour, marker=marker, markevery=3,
                  linestyle=line, label=f"k1 = {k1:g}")
    for b, colour, marker, line in zip((0.0, 0.4, 0.75, 1.0), PALETTE, MARKERS, LINES, strict=False):
        right_hand.plot(lengths, [damped(1, length, 1, b=b) for length in lengths], color=colour, marker=marker, markevery=3,
                        linestyle=line, label=f"b = {b:g}")
    left.set_xlabel("how often the word stands in the chunk")
    left.set_ylabel("share of the word, before its weight")
    right_hand.set_xlabel("length of the chunk, in mean lengths")
    right_hand.set_ylabel("share, for one mention")
    left.set_ylim(0, 4.6)
    left.legend(loc="upper left", ncols=2)
    right_hand.legend(loc="upper right", ncols=2)
    ten = ", ".join(f"{damped(10, 1, 1, k1=k1):.2f}" for k1 in (0.0, 0.5, 1.5, 3.0))
    twice = ", ".join(f"{damped(1, 2, 1, b=b):.2f}" for b in (0.0, 0.4, 0.75, 1.0))
    return figure, (f"Ten mentions at mean length have a share of {ten} for k1 = 0, 0.5, 1.5, 3. "
                    f"One mention in a chunk of twice the mean length has {twice} for b = 0, 0.4, 0.75, 1.")


# ---- the rounds of the proof ---------------------------------------------------------------------------------------------

REFERENCE = re.compile(r"[a-z]+-\d+")


@dataclass(frozen=True)
class Round:
    """One question of one reader in one world, and the chunks any of which would be right in the first place."""

    world: World
    reader: Principal
    question: str
    right: frozenset[str]

    def won_by(self, hits: Sequence[Hit]) -> bool:
        return bool(hits) and hits[0].chunk_id in self.right


def references(worlds: Iterable[World]) -> list[Round]:
    """Every reference such as PMT-771 that stands in a page, asked alone by every reader of such a page: right is a page with it."""
    rounds = []
    for world in worlds:
        for reader in world.principals.values():
            held: dict[str, set[str]] = {}
            for chunk in world.chunks:
                if world.index.get(chunk.chunk_id, principal=reader) == chunk:
                    for word in filter(REFERENCE.fullmatch, tokenize(ranked_text(chunk))):
                        held.setdefault(word, set()).add(chunk.chunk_id)
            rounds += [Round(world, reader, word.upper(), frozenset(held[word])) for word in sorted(held)]
    return rounds


def other_words(worlds: Iterable[World]) -> list[Round]:
    """Every question of the worlds that has a right page and shares no word with it, asked by each reader who has one."""
    rounds = []
    for world in worlds:
        for question in world.questions:
            for key, expected in question.expected.items():
                chunks = [chunk for reference in expected for chunk in world.find(reference)]
                said = set(tokenize(question.query))
                if chunks and not any(said & set(tokenize(ranked_text(chunk))) for chunk in chunks):
                    right_ids = frozenset(chunk.chunk_id for chunk in chunks)
                    rounds.append(Round(world, world.principals[key], question.query, right_ids))
    return rounds


def by_words(each: Round) -> Sequence[Hit]:
    return each.world.index.lexical(each.question, principal=each.reader, limit=1)


def by_meaning(each: Round) -> Sequence[Hit]:
    return each.world.index.dense(each.question, principal=each.reader, limit=1)


@cache
def _hashed(name: str) -> Index:
    return load_world(name).index


def by_hash(each: Round) -> Sequence[Hit]:
    """The list of the hash embedder over the same pages, collisions included."""
    return _hashed(each.world.name).dense(each.question, principal=each.reader, limit=1)


# ---- the judges of the exercises -----------------------------------------------------------------------------------------

NAMES = {"bm25": "bm25", "words": "bm25", "dense": "dense", "meaning": "dense", "both": "both", "neither": "neither"}


@cache
def _modelled(name: str) -> World:
    world = load_world(name)
    world.index.rebuild(committed_vectors(live=False))
    return world


@cache
def six_lists() -> dict[str, tuple[list[str], list[str], str, float]]:
    """For each of the six questions: pages by words, pages by meaning, which lists have the right page first, the best cosine."""
    lists = {}
    for question, (name, key, page) in SIX.items():
        index, reader = _modelled(name).index, _modelled(name).principals[key]
        dense = index.dense(question, principal=reader, limit=3)
        pages = [[hit.chunk.doc_id for hit in hits] for hits in (index.lexical(question, principal=reader, limit=3), dense)]
        won = tuple(bool(found) and found[0] == page for found in pages)
        verdict = {(True, True): "both", (True, False): "bm25", (False, True): "dense", (False, False): "neither"}[won]
        lists[question] = (*pages, verdict, dense[0].score)
    return lists


def _which_list(answer: Mapping) -> Verdict:
    if not isinstance(answer, Mapping):
        raise TypeError(f"a mapping of question to list is expected, got {answer!r}")
    for question, (words, meaning, truth, cosine) in six_lists().items():
        if question not in answer:
            return wrong(f"Nothing is said about {question!r}. Keep the six questions as they are.")
        said = NAMES.get(str(answer[question]).strip().casefold())
        if said is None:
            return wrong(f"{answer[question]!r} for {question!r}: write bm25, dense, both or neither.")
        if said != truth:
            return wrong(_other_list(question, said, truth, words, meaning, cosine))
    return right("One for words, three for meaning, one for both, and one question to which no page is an answer.")


def _other_list(question: str, said: str, truth: str, words: list[str], meaning: list[str], cosine: float) -> str:
    """What the two lists hold, said to whoever named another one."""
    listed = f"BM25's list for {question!r}: {', '.join(words) or 'empty'}."
    if (question, said) == (INCIDENT, "dense"):
        return f"Dense put `{meaning[0]}` first. Two digits change places, and the vector is nearly the same."
    if (question, said) == (INCIDENT, "both"):
        return f"Both, for the reference? Dense put `{meaning[0]}` first, and `{meaning[1]}` second."
    if "leave" in words and said == "both":
        return f"{listed} The leave page is there for the word `for`: take that word out and it is gone."
    if "leave" in words and said == "bm25":
        return f"{listed} The leave page is at place {words.index('leave') + 1}, not first."
    if truth == "both":
        return f"Both lists start with `{words[0]}`. A question can be easy."
    if truth == "neither":
        return f"Dense put `{meaning[0]}` first, cosine {cosine:.2f}. A model always finds something; no page is right for {question!r}."
    return f"{listed} Dense: {', '.join(meaning)}."


def _idf_judge(learners: Callable[[str, list[list[str]]], float]) -> Verdict:
    everywhere = [["fee", f"page{number}"] for number in range(30)]
    value = float(learners("fee", everywhere))
    if abs(value) < 1e-9:
        missing = f"A word in all 30 chunks: yours {abs(value):.1f}, the formula {idf(30, 30):.4f}."
        try:
            learners("wire", everywhere)
        except Failed:
            return wrong(f"{missing} And where no chunk holds the word, yours divides by zero.")
        return wrong(f"{missing} A word that every chunk holds still counts a little: one half is added to each of the two counts.")
    if abs(value - classic_idf(30, 30)) < 1e-6:
        return wrong(f"A word in all 30 chunks: yours is {value:.2f}. A chunk that holds the word would rank below one that does not.")
    repeated = [["fee"] * 7 + ["wire"], ["fee"] * 7 + ["cheque"], *([f"page{number}"] for number in range(28))]
    value = float(learners("fee", repeated))
    if abs(value - idf(30, 14)) < 1e-6:
        return wrong("'fee' stands 14 times in 2 chunks. df counts chunks: 2.")
    if abs(value - idf(30, 2) / math.log(10)) < 1e-6 or abs(value - idf(30, 2) / math.log(2)) < 1e-6:
        return wrong(f"A word in 2 of 30 chunks: yours {value:.4f}, the formula {idf(30, 2):.4f}. It takes the natural logarithm.")
    tried = 0
    for n in (30, 7, 3, 2, 1):
        for df in range(n, -1, -1):
            pages = [["fee", "fee", "wire"] if number < df else ["fees", "wire"] for number in range(n)]
            value, wanted, tried = float(learners("fee", pages)), idf(n, df), tried + 1
            if abs(value - wanted) > 1e-9:
                return wrong(f"A word in {df} of {n} chunks: yours {value:.4f}, the formula {wanted:.4f}.")
    return right(f"{tried} pairs of n and df: yours is the lab's. Always above zero, and smaller the more chunks hold the word.")


BEFORE = ("How many weeks is parental leave?", "PMT-771 status")
LONG_AND_WHOLE = "How many weeks of parental leave does an employee get?"
STAND_ALONE = ("wire fee", "maternity", "What is the fee for a recall?", "intraday limits of a client", "Who signs a release above AED 100,000?")
LEANING = {
    "what about the refund window?": "'what about the refund window?' has no pronoun and still needs its history: what about it?",
    "And for managers?": "'And for managers?' needs its history: it opens in the middle of a sentence.",
    "Is it still held?": "'Is it still held?' after 'PMT-771 status': without the question before, nobody knows what `it` is.",
    "Who may release it?": "'Who may release it?' points back with its last word.",
    "Does that hold for Rita too?": "'Does that hold for Rita too?' points back: `that` stands for the answer before.",
}


def _needs_rewrite_judge(learners: Callable[[str, list[str]], bool]) -> Verdict:
    def says(question: str, history: Sequence[str] = BEFORE) -> bool:
        return bool(learners(question, list(history)))

    if says("PMT-771 status"):
        if says(LONG_AND_WHOLE):
            return wrong("'PMT-771 status' came back without PMT-771. A question that stands alone is left alone.")
        return wrong("'PMT-771 status' is short and complete.")
    if not any(map(says, LEANING)):
        return wrong("'Is it still held?' came through as it is. After 'PMT-771 status' it finds every held payment but the one that was meant.")
    for question in (LONG_AND_WHOLE, *STAND_ALONE):
        if says(question):
            inside = next((word for word in tokenize(question) if "it" in word and word != "it"), "")
            return wrong(f"{question!r} stands alone." + (f" `it` stands inside `{inside}`: compare words, not letters." if inside else ""))
    for question, sentence in LEANING.items():
        if not says(question):
            return wrong(sentence)
    if says("Is it still held?", ()):
        return wrong("'Is it still held?' as the very first question: there is no history to take the payment from, so a rewriter would invent one.")
    return right(f"{len(LEANING)} questions that lean on the one before, {len(STAND_ALONE) + 2} that stand alone, and one without a history.")


LOOKS_LIKE = {"А": "A", "В": "B", "М": "M", "Р": "P", "Т": "T", "Μ": "M", "Ρ": "P", "Τ": "T", "Ꮲ": "P", "Ꮇ": "M", "Ꭲ": "T", "ꓑ": "P", "ꓟ": "M", "ꓔ": "T",
              "м": "M", "р": "P", "т": "T", "l": "1", "I": "1", "|": "1", "ı": "1", "Ι": "1", "І": "1"}
DASHES = {"\u2212": "-", "_": "-", "·": "-", "\u00af": "-", "\u2043": "-", "ー": "-"}


def _as_read(text: str) -> str:
    """What a person reads: look-alikes as what they look like, every dash or blank as a hyphen, marks and invisible signs left out."""
    read = []
    for character in unicodedata.normalize("NFKD", text.strip()):
        category = unicodedata.category(character)
        if category in ("Mn", "Me", "Cf"):
            continue
        if category in ("Pd", "Zs") or character in DASHES:
            read.append("-")
        elif category == "Nd":
            read.append(str(unicodedata.digit(character)))
        else:
            read.append(LOOKS_LIKE.get(character, character).upper())
    return "".join(read)


def _disguise_judge(text: str) -> Verdict:
    if not isinstance(text, str):
        raise TypeError(f"a text is expected, got {text!r}")
    read = _as_read(text)
    if not re.fullmatch(r"PMT-*771", read):
        if re.fullmatch(r"PMT-*\d+", read):
            return wrong("A person reads another payment. That is a different question, not a disguise.")
        return wrong(f"{text!r} does not read as PMT-771. Write the reference, and nothing beside it.")
    hits = _modelled("bank").index.lexical(text, principal=_modelled("bank").principals["wes"])
    odd = [f"U+{ord(character):04X} {unicodedata.name(character, 'without a name')}" for character in dict.fromkeys(text) if not character.isascii()]
    if found := place("pmt-771", hits):
        still = f"still found at place {found}."
        if text.strip() == "PMT-771":
            return wrong(f"That is the reference as it stands: {still}")
        if text.isascii():
            return wrong(f"Tokens are case-folded: {still}")
        if any(character in "\u2010\u2011\u00ad" for character in text):
            return wrong(f"{odd[0]}: our tokenizer reads it as a hyphen, or not at all. The same code: {still}")
        if unicodedata.normalize("NFKC", text) != text:
            return wrong(f"NFKC folds those: {still}")
        return wrong(f"Our tokenizer makes {tokenize(text)} of it: {still}")
    if hits:
        return wrong(f"BM25 finds {hits[0].chunk.doc_id} for it. The list must be empty.")
    seen = f"{odd[0]}: a" if odd else "A"
    return right(f"{seen} person reads PMT-771, the tokens are {tokenize(text)}, and BM25 finds nothing.")


EXERCISES = {
    "02.1": Exercise("bm25, dense, both or neither for each of the six questions", _which_list),
    "02.2": Exercise("a function of a word and a list of pages, each a list of words, that returns a number", _idf_judge),
    "02.3": Exercise("a function of a question and the list of questions before it that returns True or False", _needs_rewrite_judge),
    "02.4": Exercise("a text that a person reads as PMT-771", _disguise_judge),
}
