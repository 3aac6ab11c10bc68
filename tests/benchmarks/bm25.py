"""How fast the keyword leg is beside two libraries that others wrote, and how long a whole retrieval takes: the committed table.

    python tests/benchmarks/bm25.py             print the committed table
    python tests/benchmarks/bm25.py --measure   measure all of it again (about a minute, best on a quiet machine) and commit it

One process, one thread of ours. 100,000 chunks of 60 Zipf words on average (`labsupport.generator`), 20 labels at random: one
holds 1 % of the chunks, the others share the rest. The engines answer each question in turn, so that a busy moment falls
on all of them, and what is compared is the median. bm25s and rank-bm25 hold the same words under the same formula and know
no labels: where a reader may read 1 %, they still rank everything.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # so that the command works from anywhere

from labsupport.generator import generate  # noqa: E402
from labsupport.index import Index  # noqa: E402
from labsupport.model import AccessLabel, Chunk, Principal  # noqa: E402
from labsupport.retriever import AuthorizedRetriever  # noqa: E402

COMMITTED = ROOT / "data" / "benchmarks" / "bm25.json"
COMMAND = "python tests/benchmarks/bm25.py --measure"
TENANT, K1, B, TOP = "bench", 1.5, 0.75, 10
LABELS = [AccessLabel(TENANT, "internal", None, frozenset({f"g{number:02}"})) for number in range(20)]
ALL = Principal("all", TENANT, groups=[f"g{number:02}" for number in range(20)])
FEW = Principal("few", TENANT, groups=["g00"])


def labelled(size: int, seed: int) -> list[Chunk]:
    """The corpus with labels dealt out at random: about 1 % on the first label."""
    draw = np.random.Generator(np.random.PCG64([seed, 20]))
    numbers = np.where(draw.random(size) < 0.01, 0, draw.integers(1, len(LABELS), size))
    chunks = generate(size, seed=seed, visible=1.0, tenant=TENANT, queries=0).chunks
    return [replace(chunk, label=LABELS[number]) for chunk, number in zip(chunks, numbers.tolist(), strict=True)]


def questions(texts: list[list[str]], count: int, seed: int) -> dict[str, list[list[str]]]:
    """Four words each: drawn from those in fewer than 10 % of the chunks, and drawn from one random chunk."""
    held_by = Counter(word for words in texts for word in set(words))
    rare = sorted(word for word, chunks in held_by.items() if chunks < 0.1 * len(texts))
    draw = np.random.Generator(np.random.PCG64([seed, 4]))
    return {
        "words in fewer than 10 % of the chunks": [[rare[n] for n in draw.integers(len(rare), size=4)] for _ in range(count)],
        "words of a random chunk": [[words[n] for n in draw.integers(len(words), size=4)]
                                    for words in (texts[n] for n in draw.integers(len(texts), size=count))],
    }


def timed(call: Callable[[], object]) -> tuple[float, object]:
    start = perf_counter()
    value = call()
    return perf_counter() - start, value


def built(chunks: list[Chunk], seconds: dict[str, float]) -> dict[str, Callable[[list[str]], object]]:
    """Each engine, built three times in turn from the same chunks (their texts, for the libraries), as a function of a
    question's words."""
    import bm25s
    from rank_bm25 import BM25Okapi

    texts = [chunk.text for chunk in chunks]

    def ours():
        index = Index(tenant=TENANT, k1=K1, b=B)
        index.add_many(chunks)
        return index

    def theirs():
        library = bm25s.BM25(method="atire", idf_method="lucene", k1=K1, b=B)
        library.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
        return library

    builders = {"labsupport (both legs)": ours, "bm25s": theirs,
                "rank-bm25": lambda: BM25Okapi([text.split() for text in texts], k1=K1, b=B)}
    times: dict[str, list[float]] = {name: [] for name in builders}
    made: dict[str, object] = {}
    for _ in range(3):
        for name, build in builders.items():
            made.pop(name, None)
            gc.collect()
            took, made[name] = timed(build)
            times[name].append(took)
    seconds |= {name: median(values) for name, values in times.items()}
    index, library, okapi = made.values()

    def okapi_top(words: list[str]):
        scores = okapi.get_scores(words)
        top = np.argpartition(scores, -TOP)[-TOP:]
        return top[np.argsort(-scores[top])]

    retriever = AuthorizedRetriever(index)
    return {
        "labsupport, all readable": lambda words: index.lexical(" ".join(words), principal=ALL, limit=TOP),
        "labsupport, 1 % readable": lambda words: index.lexical(" ".join(words), principal=FEW, limit=TOP),
        "bm25s": lambda words: library.retrieve([words], k=TOP, show_progress=False),
        "rank-bm25": okapi_top,
        "retrieve end to end, all readable": lambda words: retriever.retrieve(" ".join(words), ALL),
        "retrieve end to end, 1 % readable": lambda words: retriever.retrieve(" ".join(words), FEW),
    }


def measured(size: int, count: int, seed: int) -> dict:
    chunks = labelled(size, seed)
    seconds: dict[str, float] = {}
    engines = built(chunks, seconds)
    report: dict = {"build_seconds": {name: round(value, 2) for name, value in seconds.items()}, "median_ms": {}}
    for row, asked in questions([chunk.text.split() for chunk in chunks], count, seed).items():
        times: dict[str, list[float]] = {name: [] for name in engines}
        agree = []
        for number, words in enumerate(asked):
            answers = {}
            for name in sorted(engines, key=lambda name: hash_of(name, number)):
                if name == "rank-bm25" and number >= 20:  # a tenth of a second each
                    continue
                took, answers[name] = timed(lambda: engines[name](words))
                times[name].append(1000 * took)
            ours = sum(hit.score for hit in answers["labsupport, all readable"])
            agree.append(abs(ours - float(answers["bm25s"].scores.sum())) < 1e-3 * ours)
        assert all(agree), "the library ranks something else"
        report["median_ms"][row] = {name: round(median(values), 3) for name, values in times.items()}
    return report


def hash_of(name: str, number: int) -> int:
    """Another order of the engines for each question, the same at every run."""
    return (sum(map(ord, name)) * (number + 7)) % 101


def show(report: dict) -> None:
    print(f"{report['command']} · {report['date']} · {report['machine']} · {report['chunks']} chunks")
    print("build, seconds:", ", ".join(f"{name} {value}" for name, value in report["build_seconds"].items()))
    for row, medians in report["median_ms"].items():
        print(f"\n{row}, median ms a question")
        for name, value in medians.items():
            print(f"  {name:36} {value:9.3f}")
        for name in ("bm25s", "rank-bm25"):
            print(f"  {name} / labsupport, all readable: {medians[name] / medians['labsupport, all readable']:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true", help="measure again and commit the table")
    parser.add_argument("--size", type=int, default=100_000, help="chunks (another size is printed, not committed)")
    parser.add_argument("--questions", type=int, default=200)
    asked = parser.parse_args()
    if not asked.measure:
        show(json.loads(COMMITTED.read_text(encoding="utf-8")))
        return
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}"
    report = {"command": COMMAND, "date": date.today().isoformat(), "machine": machine, "chunks": asked.size,
              "questions": asked.questions, **measured(asked.size, asked.questions, seed=7)}
    show(report)
    if asked.size == 100_000:
        COMMITTED.parent.mkdir(exist_ok=True)
        COMMITTED.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
