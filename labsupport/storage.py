"""An index on disk: one file, written whole or not at all, and read only if every byte is what was written."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from labsupport.chunking import chunk_document
from labsupport.embedding import Embedder
from labsupport.errors import EmbeddingMismatch, SavedIndexError
from labsupport.model import AccessLabel, Chunk, Document
from labsupport.namespace import Namespace
from labsupport.shelf import Batch
from labsupport.tokens import ranked_text
from labsupport.versions import DocumentState

_MAGIC = b"labsupport index 1\n"

_PROBE = """Before any heading: PMT-771, naïve, 故乡, 250,000.50.

# One / two

| fee | AED |
|---|---|
| recall | 120 |

```
## no heading
```

Setext
------

- an item
- another

A paragraph that is long enough to be cut into windows: """ + " ".join(f"word-{number}" for number in range(99)) + "\n"
"""A text on which two chunkers, or two tokenizers, that differ are likely to differ. What they make of it stands in the file."""


@dataclass(frozen=True)
class Saved:
    """What a file holds: the settings of an index, and its namespaces by tenant."""

    tenant: str
    k1: float
    b: float
    namespaces: dict[str, Namespace]


def save(path, saved: Saved, *, model: tuple[str, int], tokenizer: Callable[[str], list[str]]) -> None:
    """Write settings, floors, chunks and vectors. A dead document leaves its floor in the file, and nothing of its text."""
    namespaces, vectors = [], []
    for tenant, namespace in sorted(saved.namespaces.items()):
        chunks = [chunk for shelf in namespace.shelves.values() for chunk in shelf.chunks]
        chunks.sort(key=lambda chunk: chunk.chunk_id)
        vectors += [namespace.vector(chunk) for chunk in chunks]
        namespaces.append({
            "tenant": tenant,
            "generations": [[_packed(label), namespace.generations[label]]
                            for label in sorted(namespace.generations, key=lambda label: label.sort_key)],
            "documents": {doc_id: {"highest": state.highest, "floor": state.floor, "digest": state.digest,
                                   "label_tick": state.label_tick, "label": state.label and _packed(state.label)}
                          for doc_id, state in sorted(namespace.documents.items())},
            "chunks": [[chunk.chunk_id, chunk.doc_id, chunk.version, chunk.text, chunk.heading_path, chunk.start_char,
                        chunk.end_char, _packed(chunk.label), chunk.updated_tick] for chunk in chunks],
        })
    settings = {"tenant": saved.tenant, "model": list(model), "tokenizer": _name(tokenizer), "cut": _cut(tokenizer),
                "k1": saved.k1, "b": saved.b}
    manifest = json.dumps({"settings": settings, "namespaces": namespaces}, sort_keys=True).encode("ascii")
    matrix = np.stack(vectors).astype("<f4").tobytes() if vectors else b""
    body = len(manifest).to_bytes(8, "big") + manifest + matrix
    path = Path(path)
    beside = path.with_name(path.name + ".part")
    try:
        with open(beside, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(body).digest() + body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)  # after a failure: a half-written copy would outlive the tombstones to come


def load(path, *, embedder: Embedder, tokenizer: Callable[[str], list[str]]) -> Saved:
    """Read a saved index whole, or raise and return nothing."""
    name, content = Path(path).name, Path(path).read_bytes()
    head = len(_MAGIC) + 32
    if not content.startswith(_MAGIC):
        raise SavedIndexError(f"{name!r} is not an index that labsupport saved")
    if hashlib.sha256(content[head:]).digest() != content[len(_MAGIC):head]:
        raise SavedIndexError(f"{name!r} is cut off or damaged: its checksum does not match. Save it again from its source")
    cut = head + 8 + int.from_bytes(content[head:head + 8], "big")
    manifest = json.loads(content[head + 8:cut])
    settings, model = manifest["settings"], [embedder.name, embedder.dimensions]
    if model != settings["model"]:
        raise EmbeddingMismatch(f"{name!r} was made by {settings['model']}, the embedder is {model}: "
                                "load it with its own model, then rebuild(embedder)")
    if _name(tokenizer) != settings["tokenizer"]:
        raise SavedIndexError(f"{name!r} was made with the tokenizer {settings['tokenizer']!r}, got {_name(tokenizer)!r}")
    if _cut(tokenizer) != settings["cut"]:
        raise SavedIndexError(f"{name!r} was made by a chunker or a tokenizer that cuts differently: ingest its documents again")
    vectors = np.frombuffer(content[cut:], "<f4").astype(np.float32).reshape(-1, embedder.dimensions)
    namespaces, first = {}, 0
    for packed in manifest["namespaces"]:
        chunks = [Chunk(chunk_id, doc_id, version, text, tuple(headings), start, end, _label(label), tick)
                  for chunk_id, doc_id, version, text, headings, start, end, label, tick in packed["chunks"]]
        stored = vectors[first:first + len(chunks)]
        first += len(chunks)
        batch = Batch.of(chunks, (tokenizer(ranked_text(chunk)) for chunk in chunks), lambda *_, stored=stored: stored)
        held: dict[str, dict[str, AccessLabel]] = {}
        for chunk in chunks:
            held.setdefault(chunk.doc_id, {})[chunk.chunk_id] = chunk.label
        documents = {
            doc_id: DocumentState(**state | {"label": state["label"] and _label(state["label"]),
                                             "chunk_labels": held.get(doc_id, {})})
            for doc_id, state in packed["documents"].items()}
        namespace = Namespace(packed["tenant"], embedder.dimensions).changed(removed=(), batch=batch, documents=documents)
        generations = {_label(label): number for label, number in packed["generations"]}
        namespaces[packed["tenant"]] = replace(namespace, generations=generations)
    return Saved(settings["tenant"], settings["k1"], settings["b"], namespaces)


def _packed(label: AccessLabel) -> list:
    return [label.tenant, label.classification, label.barrier, sorted(label.acl)]


def _label(packed: list) -> AccessLabel:
    tenant, classification, barrier, acl = packed
    return AccessLabel(tenant, classification, barrier, frozenset(acl))


def _cut(tokenizer: Callable[[str], list[str]]) -> str:
    """A digest of how the chunker and this tokenizer cut the probe: names stay the same when what they name has changed."""
    chunks = chunk_document(Document("probe", "probe", "probe", _PROBE))
    cut = [(chunk.chunk_id, chunk.start_char, chunk.end_char, list(tokenizer(ranked_text(chunk)))) for chunk in chunks]
    return hashlib.sha256(ascii(cut).encode("ascii")).hexdigest()


def _name(tokenizer: Callable) -> str:
    return f"{getattr(tokenizer, '__module__', '?')}.{getattr(tokenizer, '__qualname__', type(tokenizer).__name__)}"
