"""Retrieval quality on public collections: BM25 gives the published figures, and the committed table is what is measured.

Rows with the real model are read from the committed file; `python tests/figures/retrieval_quality.py --measure` recomputes them.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import cache
from pathlib import Path

import pytest

from labsupport.tokens import tokenize

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
pytestmark = [
    pytest.mark.skipif(not (DATA / "scifact").is_dir(), reason="the public collections in ../shared/data are not here"),
    pytest.mark.skipif(importlib.util.find_spec("ir_measures") is None, reason="ir-measures is not installed here"),
]

PUBLISHED = {  # nDCG@10, MAP, recall@5, recall@100, each to within 0.0005
    ("scifact", "BM25, ASCII tokens, k1 = 1.5, b = 0.75"): (0.6429, 0.6052, 0.7028, 0.8692),
    ("scifact", "BM25, ASCII tokens, k1 = 0.9, b = 0.4"): (0.6440, 0.6060, 0.6928, 0.8659),
    ("cranfield", "BM25, ASCII tokens, k1 = 1.5, b = 0.75"): (0.3361, 0.2694, 0.2583, 0.6910),
    ("cranfield", "BM25, ASCII tokens, k1 = 0.9, b = 0.4"): (0.3187, 0.2525, 0.2460, 0.6712),
}
COLUMNS = ("ndcg10", "map", "recall5", "recall100")


@cache
def figures():
    """The script that makes the table, as a module."""
    spec = importlib.util.spec_from_file_location("retrieval_quality", ROOT / "tests" / "figures" / "retrieval_quality.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def collection(name: str):
    return figures().load(name)


@cache
def recomputed(name: str, ranking: str) -> dict[str, float]:
    index = figures().indexed(collection(name), **figures().PUBLISHED_SETTINGS[ranking])
    return figures().assessed(collection(name), figures().lexical(index))[0]


@cache
def committed() -> dict:
    return json.loads(figures().COMMITTED.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "ranking"), PUBLISHED)
def test_bm25_gives_the_published_figures(name, ranking):
    row = recomputed(name, ranking)
    for column, published in zip(COLUMNS, PUBLISHED[name, ranking], strict=True):
        assert abs(row[column] - published) <= 0.0005, (column, row[column], published)


@pytest.mark.parametrize(("name", "ranking"), PUBLISHED)
def test_the_committed_table_holds_what_is_measured(name, ranking):
    row = committed()["rows"][name][ranking]
    assert {column: row[column] for column in COLUMNS} == recomputed(name, ranking)


@pytest.mark.parametrize("name", ["scifact", "cranfield"])
def test_on_ascii_our_tokens_are_the_published_ones(name):
    texts = [*collection(name).texts.values(), *collection(name).questions.values()]
    plain = [text for text in texts if text.isascii()]
    assert len(plain) > 1000
    assert all(tokenize(text) == figures().ascii_tokens(text) for text in plain)


def test_the_collections_are_the_published_ones():
    for name, sizes in {"scifact": (5183, 300, 339), "cranfield": (1400, 225, 1837)}.items():
        held = collection(name)
        assert (len(held.texts), len(held.questions), len(held.gains)) == sizes


def test_the_committed_table_says_how_it_was_made_and_each_interval_holds_its_mean():
    assert committed()["command"].startswith("python tests/figures/retrieval_quality.py")
    assert committed()["date"] and committed()["machine"]
    compared = 0
    for rows in committed()["rows"].values():
        for row in rows.values():
            low, high = row["ndcg10_95"]
            assert 0 < low < row["ndcg10"] < high < 1
            compared += 1
    assert compared == 18
    assert figures().table(committed()).count("\n") == 19


@pytest.mark.parametrize("name", ["scifact", "cranfield"])
def test_the_committed_table_says_what_the_notebooks_say_of_it(name):
    score = {ranking: row["ndcg10"] for ranking, row in committed()["rows"][name].items()}
    span = {ranking: row["ndcg10_95"] for ranking, row in committed()["rows"][name].items()}
    words, meaning, both = "BM25, default", "dense, all-MiniLM-L6-v2", "hybrid (RRF), all-MiniLM-L6-v2"
    assert score[both] > max(score[words], score[meaning])  # the legs fail on different questions
    assert span["hybrid (RRF), hash embedder"][1] < span[words][0]  # fusing with a leg that knows nothing costs
    assert span[f"{both}, stand-in reranker"][1] < span[both][0]  # and so does counting words after a model that knows meaning


def test_the_real_model_gives_its_published_figures_on_scifact():
    """MTEB's own run of the original (Muennighoff et al., 2023, results/all-MiniLM-L6-v2/SciFact.json), to four places."""
    row = committed()["rows"]["scifact"]["dense, all-MiniLM-L6-v2"]
    assert [row[column] for column in COLUMNS] == [0.6451, 0.6034, 0.7379, 0.9250]
