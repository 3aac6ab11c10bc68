"""How well the lab's rankings find things on two public collections that nobody here wrote: the table, and what makes it.

    python tests/figures/retrieval_quality.py             print the committed table
    python tests/figures/retrieval_quality.py --measure   measure all rows again (a quarter of an hour) and rewrite it

The collections lie in ../shared/data and are not part of the project. Each abstract (title and text) is one chunk, added by
`add_many`; a run is the first 1,000 places of each question; the measures are ir-measures'.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import platform
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # so that the command works from anywhere

from labsupport.index import Index  # noqa: E402
from labsupport.minilm import MiniLM, text_key  # noqa: E402
from labsupport.model import EVERYONE, AccessLabel, Chunk, Hit, Principal  # noqa: E402
from labsupport.reranking import lexical_overlap_reranker  # noqa: E402
from labsupport.retriever import AuthorizedRetriever, RetrievalPolicy  # noqa: E402
from labsupport.vectors import StoredEmbedder, read_vectors, write_vectors  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
COMMITTED = ROOT / "data" / "benchmarks" / "retrieval_quality.json"
COMMAND = "python tests/figures/retrieval_quality.py --measure"
DEPTH = 1000
READER = Principal("assessor", "library")
LABEL = AccessLabel("library", "internal", None, frozenset({EVERYONE}))
MEASURES = {"nDCG@10": "ndcg10", "AP": "map", "R@5": "recall5", "R@100": "recall100"}


@dataclass(frozen=True)
class Collection:
    """Texts by id, questions by id, and (question, text) → gain, from 0 upwards."""

    name: str
    texts: dict[str, str]
    questions: dict[str, str]
    gains: dict[tuple[str, str], int]


def load(name: str) -> Collection:
    folder = DATA / name
    packed = folder / "corpus.jsonl.gz"
    opened = gzip.open(packed, "rt", encoding="utf-8") if packed.is_file() else (folder / "corpus.jsonl").open(encoding="utf-8")
    with opened as lines:
        texts = {row["id"]: f"{row['title']} {row['text']}".strip() for row in map(json.loads, lines)}
    with (folder / "queries.jsonl").open(encoding="utf-8") as lines:
        questions = {row["id"]: row["text"] for row in map(json.loads, lines)}
    with (folder / "qrels.tsv").open(encoding="utf-8", newline="") as lines:
        gains = {(row["query-id"], row["corpus-id"]): int(row["score"]) for row in csv.DictReader(lines, delimiter="\t")}
    return Collection(name, texts, questions, gains)


def ascii_tokens(text: str) -> list[str]:
    """The tokens of the published figures: ASCII letters, digits and hyphens."""
    return re.findall(r"[a-z0-9][a-z0-9\-]*", text.lower())


def indexed(collection: Collection, **settings) -> Index:
    index = Index(tenant="library", **settings)
    index.add_many(Chunk(key, key, 1, text, (), 0, len(text), LABEL, 0) for key, text in collection.texts.items())
    return index


Ranker = Callable[[str], Iterable[Hit]]


def lexical(index: Index) -> Ranker:
    return lambda question: index.lexical(question, principal=READER, limit=DEPTH)


def dense(index: Index) -> Ranker:
    return lambda question: index.dense(question, principal=READER, limit=DEPTH)


def hybrid(index: Index) -> Ranker:
    policy = RetrievalPolicy(candidate_limit=DEPTH, result_limit=DEPTH, enable_rerank=False)
    retriever = AuthorizedRetriever(index)
    return lambda question: retriever.retrieve(question, READER, policy=policy).hits


def reranked(index: Index) -> Ranker:
    """The stand-in reranker over 50 candidates of each leg, also where the default would be none."""
    policy = RetrievalPolicy(candidate_limit=50, result_limit=DEPTH)
    retriever = AuthorizedRetriever(index, reranker=lambda question, chunk: lexical_overlap_reranker(question, chunk))
    return lambda question: retriever.retrieve(question, READER, policy=policy).hits


def assessed(collection: Collection, ranker: Ranker) -> tuple[dict[str, float], list[float]]:
    """The four measures over all questions, and each question's own nDCG@10."""
    import ir_measures

    # Places, not scores: the assessor must not break our ties by its own rule.
    run = {
        key: {hit.chunk_id: float(DEPTH - place) for place, hit in enumerate(ranker(question))}
        for key, question in collection.questions.items()
    }
    qrels: dict[str, dict[str, int]] = {}
    for (question, text), gain in collection.gains.items():
        qrels.setdefault(question, {})[text] = gain
    measures = {name: ir_measures.parse_measure(name) for name in MEASURES}
    means = ir_measures.calc_aggregate(measures.values(), qrels, run)
    single = [metric.value for metric in ir_measures.iter_calc([measures["nDCG@10"]], qrels, run)]
    assert len(single) == len(qrels)
    return {column: round(means[measures[name]], 4) for name, column in MEASURES.items()}, single


def measured(collection: Collection, ranker: Ranker) -> dict[str, float | list[float]]:
    """The four measures, and the 95 % percentile bootstrap interval of nDCG@10 over questions."""
    from scipy.stats import bootstrap

    row, single = assessed(collection, ranker)
    drawn = bootstrap((single,), np.mean, method="percentile", n_resamples=2000, rng=np.random.default_rng(0))
    interval = drawn.confidence_interval
    return row | {"ndcg10_95": [round(float(interval.low), 4), round(float(interval.high), 4)]}


def model_vectors(collection: Collection) -> StoredEmbedder:
    """The real model's vectors for the collection, kept between runs in build/ (ignored by git)."""
    path = ROOT / "build" / "vectors" / f"{collection.name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    held = read_vectors(path) if path.is_file() else {}
    texts = [text for text in (*collection.texts.values(), *collection.questions.values()) if text]
    missing = [text for text in texts if text_key(text) not in held]
    held |= dict(zip(map(text_key, missing), MiniLM()(missing), strict=True))
    write_vectors(path, held)
    return StoredEmbedder(held)


PUBLISHED_SETTINGS = {
    "BM25, ASCII tokens, k1 = 1.5, b = 0.75": {"tokenizer": ascii_tokens, "k1": 1.5, "b": 0.75},
    "BM25, ASCII tokens, k1 = 0.9, b = 0.4": {"tokenizer": ascii_tokens, "k1": 0.9, "b": 0.4},
}


def all_rows(collection: Collection) -> dict[str, dict]:
    """One row for each ranking: BM25 as published and as the lab has it, and each embedder alone and fused with BM25."""
    rows = {name: measured(collection, lexical(indexed(collection, **settings))) for name, settings in PUBLISHED_SETTINGS.items()}
    hashed, real = indexed(collection), indexed(collection, embedder=model_vectors(collection))
    rows["BM25, default"] = measured(collection, lexical(hashed))
    for name, index in (("hash embedder", hashed), ("all-MiniLM-L6-v2", real)):
        rows[f"dense, {name}"] = measured(collection, dense(index))
        rows[f"hybrid (RRF), {name}"] = measured(collection, hybrid(index))
        rows[f"hybrid (RRF), {name}, stand-in reranker"] = measured(collection, reranked(index))
    return rows


def table(report: dict) -> str:
    """The committed figures as a Markdown table."""
    lines = ["| collection | ranking | nDCG@10 (95 %) | MAP | recall@5 | recall@100 |", "|---|---|---|---|---|---|"]
    for name, rows in report["rows"].items():
        for ranking, row in rows.items():
            low, high = row["ndcg10_95"]
            lines.append(
                f"| {name} | {ranking} | {row['ndcg10']:.4f} ({low:.3f} to {high:.3f}) "
                f"| {row['map']:.4f} | {row['recall5']:.4f} | {row['recall100']:.4f} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="The lab's rankings on SciFact and Cranfield.")
    parser.add_argument("--measure", action="store_true", help="measure again and write data/benchmarks/retrieval_quality.json")
    if parser.parse_args().measure:
        report = {
            "command": COMMAND,
            "date": date.today().isoformat(),
            "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}",
            "rows": {name: all_rows(load(name)) for name in ("scifact", "cranfield")},
        }
        COMMITTED.parent.mkdir(parents=True, exist_ok=True)
        COMMITTED.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(table(json.loads(COMMITTED.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
