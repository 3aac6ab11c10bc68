"""Words that are lost before anything is ranked, and a weight that turns a ranking round. Attacked in notebook 02."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import ClassVar

from labsupport.index import Index, Ranking
from labsupport.model import Principal

_CLEAN = {
    "time off for a new child": "How many weeks of parental leave does an employee get?",
    "How long can I stay home with my newborn": "How long is parental leave?",
    "maternity": "What are the rules for parental leave?",
    "wire fee": "What is the fee for an outgoing wire?",
    "PMT-771 alert closed?": "Was the alert on the payment closed?",
}


def clean_sentence(question: str) -> str:
    """What a language model made of five questions, written down so that no model is needed here; others stay as they are."""
    return _CLEAN.get(question, question)


class RewriteFirst:
    """An index that never sees what was typed: both rankings get the rewriter's sentence in its place. Notebook 02.

    The rewriter decides which words matter before any page is looked at. What it leaves out cannot be found.
    """

    sentence: ClassVar[str] = "Users type fragments. Let a model turn each one into a clean sentence first."

    def __init__(self, index: Index, rewriter: Callable[[str], str] = clean_sentence):
        self.index = index
        self.rewriter = rewriter

    def lexical(self, query: str, *, principal: Principal, limit: int | None = 10) -> Ranking:
        return self.index.lexical(self.rewriter(query), principal=principal, limit=limit)

    def dense(self, query: str, *, principal: Principal, limit: int | None = 10) -> Ranking:
        return self.index.dense(self.rewriter(query), principal=principal, limit=limit)


def ascii_tokens(text: str) -> list[str]:
    """Words of a to z, digits and hyphens. "Our pages are in English." Notebook 02.

    `naïve` is cut in two, and Arabic is nothing at all.
    """
    return re.findall(r"[a-z0-9][a-z0-9-]*", text.lower())


def classic_idf(n: int, df: int) -> float:
    """`ln((n - df + 0.5) / (df + 0.5))`, without the `+ 1`. "That is how the textbook writes it." Notebook 02.

    Below zero for a word in more than half of the chunks: there, each occurrence of a word of the question costs points.
    """
    return math.log((n - df + 0.5) / (df + 0.5))
