"""The figures that were recorded from the reference, family by family, reproduced. The file is committed: no test is skipped."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from small_index import READER, chunk, indexed, scored

from labsupport import (
    RRF_K,
    Claim,
    Document,
    Hit,
    check_grounding,
    chunk_document,
    cosine,
    estimate_tokens,
    hash_embed,
    lexical_overlap_reranker,
    reciprocal_rank_fusion,
    tokenize,
)

HERE = Path(__file__).resolve()
GOLDEN = json.loads((HERE.parent / "golden" / "reference.json").read_text(encoding="utf-8"))
SOURCE = HERE.parents[2] / "shared" / "golden" / "reference.json"
REPRODUCED = {"estimate_tokens", "tokenize", "hash_embed", "bm25", "dense", "rrf", "rrf_arithmetic", "reranker", "windows",
              "grounding"}


def each(family: str):
    cases = GOLDEN[family]
    assert cases, f"no figures in {family}: every test of them would pass for nothing"
    return pytest.mark.parametrize("case", cases, ids=range(len(cases)))


def test_every_family_of_figures_has_a_test():
    assert GOLDEN.keys() - {"note"} == REPRODUCED


@pytest.mark.skipif(not SOURCE.is_file(), reason="the original of the golden figures is not here; the committed copy is used")
def test_the_committed_copy_is_the_original():
    assert json.loads(SOURCE.read_text(encoding="utf-8")) == GOLDEN


@each("estimate_tokens")
def test_token_estimates(case):
    assert estimate_tokens(case["text"]) == case["tokens"]


@each("tokenize")
def test_ascii_tokens(case):
    """On ASCII the same tokens. Beyond it the reference cuts words in pieces (fault D14): there ours must differ."""
    assert (tokenize(case["text"]) == case["tokens"]) == case["text"].isascii()


@each("hash_embed")
def test_hash_embeddings(case):
    vector = hash_embed(case["text"], case["dimensions"])
    assert vector.dtype == np.float32 and vector.shape == (case["dimensions"],)
    assert np.array_equal(vector, np.array(case["vector"], np.float32))


@each("bm25")
def test_bm25_scores_and_order(case):
    index = indexed((chunk(f"d{place:02}", text) for place, text in enumerate(case["texts"])), k1=case["k1"], b=case["b"])
    assert case["queries"]
    for asked in case["queries"]:
        found = scored(index.lexical(asked["query"], principal=READER, limit=None))
        assert [chunk_id for chunk_id, _ in found] == [chunk_id for chunk_id, _ in asked["ranking"]]
        assert [score for _, score in found] == pytest.approx([score for _, score in asked["ranking"]], rel=1e-12)


@each("dense")
def test_dense_scores_and_order(case):
    """Ours are float32 vectors, the reference's are Python floats: seven digits agree, and so does every place."""
    index = indexed(chunk(f"d{place:02}", text) for place, text in enumerate(case["texts"]))
    found = scored(index.dense(case["query"], principal=READER, limit=None))
    assert [chunk_id for chunk_id, _ in found] == [chunk_id for chunk_id, _ in case["ranking"]]
    assert [score for _, score in found] == pytest.approx([score for _, score in case["ranking"]], abs=1e-7)
    for chunk_id, score in case["ranking"]:
        assert cosine(hash_embed(case["query"]), hash_embed(case["texts"][int(chunk_id[1:])])) == pytest.approx(score, abs=1e-7)


@each("rrf")
def test_rrf_sums_and_order(case):
    fused = reciprocal_rank_fusion(case["rankings"], k=case["k"], limit=None)
    assert [hit.chunk_id for hit in fused] == [chunk_id for chunk_id, _ in case["fused"]]
    assert [hit.score for hit in fused] == pytest.approx([score for _, score in case["fused"]], rel=1e-15)


def test_rrf_arithmetic_on_paper():
    """Third on both lists beats first on one and tenth on the other. Ours is the exact sum, rounded once."""
    places = [f"x{n}" for n in range(20)]
    one = ["uneven", places[0], "even", *places[1:]]
    other = [places[10], places[11], "even", *places[12:18], "uneven"]
    scores = dict(scored(reciprocal_rank_fusion([one, other], limit=None)))
    paper = {"first_and_tenth": Fraction(1, RRF_K + 1) + Fraction(1, RRF_K + 10),
             "third_and_third": 2 * Fraction(1, RRF_K + 3)}
    for pair, name in (("uneven", "first_and_tenth"), ("even", "third_and_third")):
        assert scores[pair] == float(paper[name]) == pytest.approx(GOLDEN["rrf_arithmetic"][name], rel=1e-15)
    assert scores["even"] > scores["uneven"]


@each("reranker")
def test_the_stand_in_reranker(case):
    assert lexical_overlap_reranker(case["query"], chunk("d", case["text"])) == pytest.approx(case["score"], rel=1e-15)


@each("windows")
def test_window_spans(case):
    document = Document("d", "library", "a title", case["text"])
    chunks = chunk_document(document, max_tokens=case["max_tokens"], overlap_tokens=case["overlap_tokens"])
    assert [[window.start_char, window.end_char] for window in chunks] == case["spans"]


@each("grounding")
def test_overlap_grounding(case):
    """Where no number, negation or empty claim is at stake. `e0@v1#body[0:50]` is our citation, letter for letter."""
    hits = [Hit(chunk(f"e{place}", text), 1.0) for place, text in enumerate(case["evidence"])]
    claims = [Claim(claim) for claim in [claim for claim, _ in case["supported"]] + case["unsupported"]]
    assert claims
    report = check_grounding(claims, hits, min_overlap=case["min_overlap"])
    assert [[claim.text, claim.citation] for claim in report.supported] == case["supported"]
    assert [claim.text for claim in report.unsupported] == case["unsupported"]
    assert report.coverage == case["coverage"]
