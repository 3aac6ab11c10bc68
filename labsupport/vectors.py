"""The real model's vectors for every text that the lab ranks or asks, committed, so that a notebook shows what the model
does without the model.

`data/vectors/` holds one file for each world and one for the lessons' own sentences. A vector is keyed by the sha256 of
the model's weights and the sha256 of its text; no text is in the file. After a page, a question or `texts.txt` changed,
`python -m labsupport.vectors` computes what is missing and drops what is no longer used; `--check` recomputes all of it.
"""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from labsupport.chunking import chunk_document
from labsupport.errors import EmbeddingFailed
from labsupport.manifest import read_manifest
from labsupport.minilm import DIMENSIONS, MODEL_NAME, WEIGHTS_SHA256, MiniLM, ModelUnavailable, text_key
from labsupport.model import Document
from labsupport.tokens import ranked_text

DATA = Path(__file__).resolve().parents[1] / "data"
FOLDER = DATA / "vectors"
TOLERANCE = 1e-5  # two machines sum in different orders; a wrong text or a wrong model is thousands of times further off


class VectorMissing(EmbeddingFailed):
    """A text has no committed vector and the real model is not here to make one. Nothing was stored."""


class StoredEmbedder:
    """An embedder that looks vectors up, and asks `live` for a text that it does not hold: float32 (n, 384).

    It has the real model's name, so an index built from committed vectors and one built live are the same index. A
    committed vector wins over the live model, so that every machine sees the same bits. Raises `VectorMissing`.

    Limit: without the live model, whether a text is refused tells whether somebody committed it. The file is public and
    does not change with what an index holds; a store of vectors that does would be a side channel.
    """

    name = MODEL_NAME
    dimensions = DIMENSIONS
    knows_meaning = True

    def __init__(self, vectors: Mapping[str, np.ndarray], *, live: MiniLM | None = None):
        self._vectors = dict(vectors)
        self._live = live

    def __contains__(self, text: str) -> bool:
        """Is this text's vector committed?"""
        return text_key(text) in self._vectors

    def __call__(self, texts: Iterable[str]) -> np.ndarray:
        if isinstance(texts, (str, bytes)):
            raise TypeError(f"texts must be a list of texts such as [{texts!r}], got {texts!r}")
        texts = list(texts)
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        missing = []
        for place, text in enumerate(texts):
            vector = self._vectors.get(text_key(text))
            if vector is not None:
                rows[place] = vector
            elif text.strip():  # a blank text keeps its row of zeros, as in the model itself
                missing.append(place)
        if missing:
            rows[missing] = self._computed([texts[place] for place in missing])
        return rows

    def _computed(self, texts: list[str]) -> np.ndarray:
        # The text itself stays out of the message: it may be somebody's question, and errors end up in logs.
        what = f"{len(texts)} of the texts (the first has {len(texts[0])} characters) have no vector in data/vectors"
        if self._live is None:
            raise VectorMissing(f"{what}: run `make model` (and, after a page changed, python -m labsupport.vectors)")
        try:
            return self._live(texts)
        except ModelUnavailable as unavailable:
            raise VectorMissing(f"{what}, and {unavailable}") from unavailable


def committed_vectors(*, live: bool = True) -> StoredEmbedder:
    """The real model as the notebooks use it: committed vectors, and for other texts the live model where it is installed.

    `live=False` is the committed vectors alone, as on a machine without the model. Used from notebook 02.
    """
    vectors: dict[str, np.ndarray] = {}
    for path in sorted(FOLDER.glob("*.npz")):
        vectors.update(read_vectors(path))
    return StoredEmbedder(vectors, live=MiniLM() if live else None)


def read_vectors(path: Path) -> dict[str, np.ndarray]:
    """Vectors by text key from one file. Raises `EmbeddingFailed` for a file that is damaged or of another model."""
    try:
        with np.load(path, allow_pickle=False) as held:
            model, keys, vectors = str(held["model"]), held["keys"], held["vectors"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise EmbeddingFailed(f"{path.name} cannot be read as vectors ({type(error).__name__}); restore it or rebuild it") from None
    if model != WEIGHTS_SHA256:
        raise EmbeddingFailed(f"{path.name} holds vectors of the model {model!r}, expected {WEIGHTS_SHA256!r}")
    if keys.shape != (len(vectors), 32) or vectors.shape != (len(keys), DIMENSIONS) or vectors.dtype != np.float32:
        raise EmbeddingFailed(f"{path.name} holds {vectors.dtype} {vectors.shape} for keys {keys.shape}, expected float32 (n, 384)")
    return {key.tobytes().hex(): vector for key, vector in zip(keys, vectors, strict=True)}


def write_vectors(path: Path, vectors: Mapping[str, np.ndarray]) -> None:
    """One file, sorted by key: the same vectors give the same bytes."""
    ordered = sorted(vectors)
    keys = np.frombuffer(bytes.fromhex("".join(ordered)), np.uint8).reshape(-1, 32)
    rows = np.array([vectors[key] for key in ordered], np.float32).reshape(-1, DIMENSIONS)
    np.savez(path, model=np.array(WEIGHTS_SHA256), keys=keys, vectors=rows)


def texts_of_world(folder: Path) -> list[str]:
    """Every text that a world ranks (all versions of all pages) or asks (questions, traps, the claims' questions)."""
    manifest = read_manifest(folder)
    texts = []
    for job in manifest.jobs:
        page = (folder / job.source).read_text(encoding="utf-8")
        document = Document(job.doc_id, job.tenant, job.doc_id, page, job.classification, job.barrier, job.acl, job.version)
        texts += [ranked_text(chunk) for chunk in chunk_document(document)]
    texts += [question.query for question in manifest.questions]
    texts += [trap.query for trap in manifest.traps] + [word for trap in manifest.traps for word in trap.words]
    texts += [claim.query for claim in manifest.claims]
    return list(dict.fromkeys(text for text in texts if text.strip()))


def texts_of_lessons(folder: Path = FOLDER) -> list[str]:
    """The sentences that notebooks embed beside the worlds: one a line in `texts.txt`, `#` begins a remark line."""
    lines = (folder / "texts.txt").read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(line for line in lines if line.strip() and not line.startswith("#")))


def wanted_texts(data: Path = DATA) -> dict[str, list[str]]:
    """What each file of `data/vectors/` must hold: the texts of each world with pages, and those of the lessons."""
    worlds = [folder for folder in sorted(data.iterdir()) if (folder / "world.toml").is_file() and any(folder.glob("*.md"))]
    return {world.name: texts_of_world(world) for world in worlds} | {"lessons": texts_of_lessons(data / "vectors")}


def bring_up_to_date(data: Path = DATA) -> dict[str, tuple[int, int, int]]:
    """Compute what is missing, drop what nobody asks for: by file, how many vectors were kept, made and dropped.

    A vector that is there is kept as it is, so that another machine's last bits do not rewrite a file.
    """
    model, report = MiniLM(), {}
    for name, texts in wanted_texts(data).items():
        path = data / "vectors" / f"{name}.npz"
        held = read_vectors(path) if path.is_file() else {}
        made = [text for text in texts if text_key(text) not in held]
        vectors = held | dict(zip(map(text_key, made), model(made), strict=True))
        kept = {text_key(text): vectors[text_key(text)] for text in texts}
        write_vectors(path, kept)
        report[name] = (len(kept) - len(made), len(made), len(held.keys() - kept.keys()))
    return report


def furthest(data: Path = DATA) -> dict[str, float]:
    """By file, the largest difference between a committed number and the live model's. Raises `VectorMissing`."""
    model, report = MiniLM(), {}
    for name, texts in wanted_texts(data).items():
        stored = StoredEmbedder(read_vectors(data / "vectors" / f"{name}.npz"))
        report[name] = float(np.abs(stored(texts) - model(texts)).max(initial=0.0))
    return report


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m labsupport.vectors", description="Bring data/vectors up to date.")
    parser.add_argument("--check", action="store_true", help="recompute every vector and compare; change nothing")
    if parser.parse_args().check:
        differences = furthest()
        for name, difference in differences.items():
            print(f"{name}: within {difference:.1e} of the live model")
        raise SystemExit(any(difference > TOLERANCE for difference in differences.values()))
    for name, (kept, made, dropped) in bring_up_to_date().items():
        print(f"{name}: {kept} kept, {made} made, {dropped} dropped")


if __name__ == "__main__":
    main()
