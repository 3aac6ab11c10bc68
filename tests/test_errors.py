"""Errors: one base, each a `ValueError`, each says what, the value and what would be right, and none tells of what is hidden."""

from __future__ import annotations

import ast
import builtins
import inspect
from dataclasses import replace
from pathlib import Path

import pytest
from small_index import CLOSED, OPEN, READER, TENANT, Table, chunk, indexed

from labsupport import (
    AuthorizedRetriever,
    Claim,
    CorpusScope,
    Document,
    Hit,
    Index,
    IngestJob,
    Principal,
    QueryRefused,
    RetrievalPolicy,
    assemble_context,
    check_grounding,
    chunk_document,
    cosine,
    errors,
    hash_embed,
    ingest,
    load_world,
    quote_in,
    reciprocal_rank_fusion,
    rerank,
)
from labsupport.leaky import WrongDesign

PACKAGE = Path(__file__).resolve().parents[1] / "labsupport"
PAGE = Document("leave", TENANT, "t", "Parental leave is 16 weeks.")


def stored(version: int = 2, tick: int = 3) -> Index:
    index = Index(tenant=TENANT)
    index.store(replace(PAGE, version=version), label_tick=tick)
    return index


def run_job(*, text: str | None = "Leave.", doc_id: str = "leave"):
    def fetch(source, *, uploader):
        if text is None:
            raise PermissionError("403")
        return text

    scope = CorpusScope("People team", {"leave"}, {"draft"})
    job = IngestJob(doc_id, 1, "pages/leave.md", ("staff",), TENANT, uploader="mo")
    ingest(Index(tenant=TENANT), job, fetch=fetch, scope=scope)


def loaded(path, content: bytes):
    path.write_bytes(content)
    Index.load(path)


def renamed(index: Index) -> Index:
    index.embedder = Table({"?": [1.0]}, name="other")
    return index


class Down(WrongDesign):
    """An engine whose legs fail, and say too much."""

    def lexical(self, *args, **options):
        raise RuntimeError(f"down with {sum(map(len, self._namespaces))} and {self._namespace(TENANT).holder}")

    dense = lexical


# Each error of the package: a call that raises it, and what its message must name.
RAISED = {
    "StaleVersion": (lambda tmp: stored().add(PAGE), ["version 1", "'leave'", "version 2"]),
    "StaleLabel": (lambda tmp: stored().store(replace(PAGE, version=2), label_tick=1), ["label_tick 1", "'leave'", "3"]),
    "FetchForbidden": (lambda tmp: run_job(text=None), ["'mo'", "'pages/leave.md'", "'leave'", "nothing"]),
    "OutOfScope": (lambda tmp: run_job(doc_id="draft"), ["'draft'", "out-list", "'People team'"]),
    "QueryRefused": (lambda tmp: AuthorizedRetriever(stored()).retrieve("x" * 4_001, READER), ["4001", "at most 4000"]),
    "QuoteNotFound": (lambda tmp: quote_in([Hit(chunk("d", "leave is 16 weeks"), 1.0)], "leave is 12 weeks"),
                      ["'2'", "'6'", "'d'"]),
    "EmbeddingMismatch": (lambda tmp: renamed(stored()).dense("leave", principal=READER),
                          ["hash-blake2b-96", "'other', 1", "rebuild"]),
    "EmbeddingFailed": (lambda tmp: indexed(["acme"], embedder=Table({"acme": [1.0, 2.0]}, name="short", dimensions=3)),
                        ["'short'", "(1, 2)", "(1, 3)"]),
    "BudgetTooSmall": (lambda tmp: assemble_context(budget_tokens=1, instructions="Answer from pages.", question="How long?"),
                       ["budget_tokens", "1"]),
    "WorldError": (lambda tmp: load_world("atlantis"), ["'atlantis'", "northline"]),
    "SavedIndexError": (lambda tmp: loaded(tmp / "index", b"PK\x03\x04 something else"), ["'index'", "not an index"]),
    "LegsFailed": (lambda tmp: AuthorizedRetriever(Down(stored())).retrieve("leave", READER),
                   ["both legs", "nothing was searched"]),
    "RetrievalError": (lambda tmp: stored().add(replace(PAGE, version=2, text="Parental leave is 12 weeks.")),
                       ["version 2", "'leave'", "another text", "higher version"]),
}


def test_every_error_of_the_package_is_a_value_error_under_one_base_and_is_raised_below():
    kinds = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)}
    assert kinds.keys() == RAISED.keys(), "a new error: raise it below"
    for name, kind in kinds.items():
        assert issubclass(kind, errors.RetrievalError) and issubclass(kind, ValueError) and kind.__doc__, name


@pytest.mark.parametrize("name", RAISED)
def test_the_message_names_what_the_value_and_what_would_be_right(name, tmp_path):
    call, named = RAISED[name]
    with pytest.raises(ValueError) as raised:
        call(tmp_path)
    assert type(raised.value) is getattr(errors, name)
    assert all(part in str(raised.value) for part in named), str(raised.value)


def test_no_other_kind_of_error_is_defined_or_raised_on_purpose():
    """By reading the code: of Python's own kinds only `ValueError` and `TypeError`, and what a module or a command must raise."""
    theirs = {name for name, kind in vars(builtins).items() if inspect.isclass(kind) and issubclass(kind, BaseException)}
    raised, based = set(), set()
    for path in sorted(PACKAGE.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                raised.add(getattr(node.exc.func, "id", ""))
            if isinstance(node, ast.ClassDef):
                based |= {(path.name, node.name) for base in node.bases if getattr(base, "id", "") in theirs}
    assert raised & theirs == {"ValueError", "TypeError", "AttributeError", "SystemExit"}
    assert based == {("errors.py", "RetrievalError")}


WRONG_CALLS = {
    "Document.doc_id": (lambda: Document("", "t", "t", "x"), "doc_id must not be blank, got ''"),
    "Document.version": (lambda: replace(PAGE, version=0), "version must be at least 1, got 0"),
    "Document.version, text": (lambda: replace(PAGE, version="2"), "version must be a whole number from 1, got '2'"),
    "Document.updated_tick": (lambda: replace(PAGE, updated_tick=-1), "updated_tick must be at least 0, got -1"),
    "Document.acl": (lambda: replace(PAGE, acl=()), "acl must name at least one group, got frozenset()"),
    "AccessLabel.classification": (lambda: replace(OPEN, classification="secret"), "classification must be one of .*'secret'"),
    "Principal.max_classification": (lambda: Principal("u", "t", "top"), "max_classification must be one of public, .*got 'top'"),
    "Principal.tenant": (lambda: Principal("u", ""), "tenant must not be blank, got ''"),
    "Chunk.span": (lambda: replace(chunk("d", "acme"), end_char=9), r"span \[0:9\] must be as long as the text, 4"),
    "Index.tenant": (lambda: Index(tenant=" "), "tenant must not be blank, got ' '"),
    "Index.k1": (lambda: Index(k1=-1), "k1 must be a finite number from 0, got -1"),
    "Index.b": (lambda: Index(b=2), "b must be between 0 and 1, got 2"),
    "lexical.limit": (lambda: stored().lexical("leave", principal=READER, limit=0), "limit must be a whole number from 1, got 0"),
    "query.k": (lambda: stored().query("leave", groups=(), k=0), "k must be a whole number from 1, got 0"),
    "tombstone.below_version": (lambda: stored().tombstone_doc("leave", below_version=0), "below_version must be .*got 0"),
    "tombstone.doc_id": (lambda: stored().tombstone_doc(""), "doc_id must be non-blank text, got ''"),
    "upsert.text": (lambda: stored().upsert(chunk_id="c", doc_id="d", text=" ", acl=["g"], version=1),
                    "text of 'c' must not be blank"),
    "chunk_document.max_tokens": (lambda: chunk_document(PAGE, max_tokens=0), "max_tokens.*0"),
    "rrf.k": (lambda: reciprocal_rank_fusion([["a"]], k=0), "k must be a whole number from 1, got 0"),
    "rrf.weights": (lambda: reciprocal_rank_fusion([["a"]], weights=[-1]), "each weight must be a finite number from 0, got -1"),
    "rerank.limit": (lambda: rerank("q", [], limit=0), "limit must be a whole number from 1, got 0"),
    "RetrievalPolicy": (lambda: RetrievalPolicy(candidate_limit=0), "candidate_limit must be a whole number from 1, got 0"),
    "hash_embed.dimensions": (lambda: hash_embed("x", 0), "dimensions must be a whole number from 1, got 0"),
    "cosine": (lambda: cosine([1], [1, 2]), r"two vectors of one length, got shapes \(1,\) and \(2,\)"),
    "check_grounding.min_overlap": (lambda: check_grounding([Claim("a")], [], min_overlap=0), "min_overlap.*0"),
}


@pytest.mark.parametrize("call", WRONG_CALLS.values(), ids=WRONG_CALLS)
def test_a_bad_value_is_named_with_its_field_and_what_would_be_right(call):
    with pytest.raises(ValueError, match=call[1]):
        call[0]()


# --- what a principal can see -------------------------------------------------------------------------------------------


def provoked(index: Index) -> dict[str, object]:
    """Everything that a principal can do wrong or meet broken, and the error that they then see."""

    def seen(call):
        try:
            return "answered", call()
        except Exception as error:
            return type(error), str(error), getattr(error, "__notes__", None)

    right, retriever = index.embedder, AuthorizedRetriever(index)
    calls = {
        "blank": lambda: retriever.retrieve(" ", READER),
        "card": lambda: retriever.retrieve("secret falcon 4111 1111 1111 1111", READER),
        "long": lambda: index.query("falcon " * 900, groups=()),
        "nobody": lambda: retriever.retrieve("falcon", None),
        "nobody, by leg": lambda: index.lexical("falcon", principal="ines"),
        "limit": lambda: index.dense("falcon", principal=READER, limit=-3),
        "policy": lambda: retriever.retrieve("falcon", READER, policy={}),
        "time": lambda: retriever.retrieve("falcon", READER, now_tick=None),
        "k": lambda: index.query("falcon", groups=(), k=0),
        "groups": lambda: index.query("falcon", groups="heads"),
        "both legs down": lambda: AuthorizedRetriever(Down(index)).retrieve("falcon", READER),
        "a broken reranker": lambda: AuthorizedRetriever(index, reranker=lambda query, page: 1 / 0).retrieve("falcon", READER),
        "no such id": lambda: index.get("secret", principal=READER),
        "no such tenant": lambda: retriever.retrieve("falcon", Principal("u", "elsewhere")),
        "a card in a quote": lambda: seen(lambda: quote_in(retriever.retrieve("falcon", READER).hits, "the falcon deal closes")),
    }
    found = {name: seen(call) for name, call in calls.items()}
    for name, embedder in (("another model", Table({"falcon": [1.0]}, name="other")), ("a dead model", Table({"falcon": [1.0]}))):
        if name == "a dead model":
            embedder.name, embedder.dimensions, embedder.vectors = right.name, right.dimensions, None
        index.embedder = embedder
        found[name] = seen(lambda: index.dense("falcon", principal=READER))
        found[f"{name}, asked"] = seen(lambda: AuthorizedRetriever(index).retrieve("falcon", READER))
    index.embedder = right
    return found


def test_no_error_tells_hidden_from_absent():
    hidden = [chunk("secret", "the falcon deal closes", CLOSED), chunk("secret2", "falcon", replace(CLOSED, tenant="elsewhere"))]
    alone, beside = provoked(indexed([chunk("d000", "acme wire")])), provoked(indexed([chunk("d000", "acme wire"), *hidden]))
    assert alone == beside
    refused = [name for name, outcome in alone.items() if outcome[0] != "answered"]
    assert len(refused) > 10, refused
    assert {kind for kind, *_ in alone.values() if kind != "answered"} >= {QueryRefused, TypeError, errors.LegsFailed}
