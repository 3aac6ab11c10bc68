"""A saved index is all of the index or nothing: the same answers after a restart, no damaged byte passes, the dead stay out."""

from __future__ import annotations

import hashlib
import os
import re

import pytest
from histories import EMPLOYEE, TEXTS, job, page, readable, run, seen
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import documents, principals, queries

from labsupport import storage
from labsupport.embedding import HashEmbedder, hash_embed
from labsupport.errors import EmbeddingMismatch, RetrievalError, SavedIndexError, StaleLabel, StaleVersion
from labsupport.index import Index
from labsupport.model import AccessLabel, Chunk, Document, Principal
from labsupport.retriever import AuthorizedRetriever
from labsupport.tokens import ranked_text, tokenize
from labsupport.worlds import load_world

CASES: dict[str, str] = {}


def filled(**options):
    index = Index(tenant="north", **options)
    for doc_id, tenant in (("a", "north"), ("b", "north"), ("a", "south")):
        run(index, job(doc_id, 1, 0, tenant))
    run(index, job("a", 1, 1))
    run(index, job("a", 2, 2))
    index.tombstone_doc("b")
    index.upsert(chunk_id="low", doc_id="low", text="handbook café 故乡 \ud800", acl=["employee"], version=3, updated_tick=9)
    index.add(Document("empty", "north", "empty", "", version=2))
    return index


def reloaded(index, path, **options):
    index.save(path)
    return Index.load(path, **options)


# ---- all of it -----------------------------------------------------------------------------------------------------------


def test_a_restart_changes_nothing_that_anybody_sees_nor_any_refusal(tmp_path):
    index = filled()
    again = reloaded(index, tmp_path / "saved")
    assert seen(again) == seen(index)
    assert again.namespaces() == index.namespaces() and (again.tenant, again.k1, again.b) == (index.tenant, index.k1, index.b)
    assert again.open_labels(EMPLOYEE) == index.open_labels(EMPLOYEE), "a cache keyed by generations may not mistake a restart"
    for late, error in ((job("a", 1, 2), StaleVersion), (job("a", 2, 1), StaleLabel), (job("b", 1, 0), StaleVersion)):
        for either in (index, again):
            with pytest.raises(error):
                run(either, late)
    for either in (index, again):
        run(either, job("a", 4, 3))
        with pytest.raises(RetrievalError, match="version 2 of 'empty'"):
            either.add(Document("empty", "north", "empty", "another text", version=2))
    assert seen(again) == seen(index)


@settings(max_examples=40)
@given(st.lists(documents(), max_size=10), principals, queries)
def test_a_restart_moves_no_score_by_a_bit(tmp_path_factory, loaded, principal, query):
    index = Index(tenant="wholesale", k1=1.2, b=0.5)
    try:
        index.add_many(loaded)
    except RetrievalError:
        pass  # two texts under one version: the first stays
    again = reloaded(index, tmp_path_factory.mktemp("bank") / "saved")
    assert AuthorizedRetriever(again).retrieve(query, principal) == AuthorizedRetriever(index).retrieve(query, principal)
    ours, theirs = (one.lexical(query, principal=principal, limit=None) for one in (index, again))
    assert (list(ours), ours.postings) == (list(theirs), theirs.postings)


@pytest.mark.parametrize("name", ["northline", "bank"])
def test_a_world_comes_back_and_a_second_save_is_the_same_file(tmp_path, name):
    world = load_world(name)
    again = reloaded(world.index, tmp_path / "first")
    asked = 0
    for question in world.questions:
        for key in question.expected:
            ask = question.query, world.principals[key]
            assert AuthorizedRetriever(again).retrieve(*ask) == world.retriever.retrieve(*ask)
            asked += 1
    assert asked > 10
    again.save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_an_empty_index_can_be_saved(tmp_path):
    again = reloaded(Index(tenant="north"), tmp_path / "saved")
    assert again.namespaces() == [] and again.tenant == "north"
    again.add(page("a", 1))
    assert again.lexical("handbook", principal=EMPLOYEE)


# ---- not one byte less ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "saved"
    filled(embedder=HashEmbedder(2)).save(path)
    return path


def test_a_file_cut_off_at_any_byte_is_refused_whole(saved, tmp_path):
    whole = saved.read_bytes()
    assert 1_500 < len(whole) < 20_000
    for length in range(len(whole)):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(SavedIndexError, match="'cut'"):
            Index.load(tmp_path / "cut", embedder=HashEmbedder(2))


def test_a_file_with_any_byte_changed_or_one_too_many_is_refused_whole(saved, tmp_path):
    whole = saved.read_bytes()
    for place in range(len(whole)):
        (tmp_path / "bent").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:])
        with pytest.raises(SavedIndexError):
            Index.load(tmp_path / "bent", embedder=HashEmbedder(2))
    for longer in (whole + b"\0", whole + whole, b"\n" + whole):
        (tmp_path / "bent").write_bytes(longer)
        with pytest.raises(SavedIndexError):
            Index.load(tmp_path / "bent", embedder=HashEmbedder(2))


@pytest.mark.parametrize("other", [b"", b"PK\x03\x04", b"labsupport index 2\n" + b"x" * 99, b"{}"])
def test_a_file_of_somebody_else_is_not_taken_for_ours(tmp_path, other):
    (tmp_path / "other").write_bytes(other)
    with pytest.raises(SavedIndexError, match="'other' is not an index that labsupport saved"):
        Index.load(tmp_path / "other")


def test_a_refusal_names_the_file_and_no_folder(saved, tmp_path):
    (tmp_path / "cut").write_bytes(saved.read_bytes()[:99])
    with pytest.raises(SavedIndexError) as refusal:
        Index.load(tmp_path / "cut")
    assert str(tmp_path) not in str(refusal.value)


# ---- made by another --------------------------------------------------------------------------------------------------------


class Renamed(HashEmbedder):
    name = "another model"

    def __init__(self, dimensions):
        super().__init__(dimensions)
        self.name = "another model"


@pytest.mark.parametrize("other", [HashEmbedder(3), Renamed(2), hash_embed, lambda texts: HashEmbedder(2)(texts)],
                         ids=["other size", "other name", "default", "bare function"])
def test_vectors_of_another_model_are_refused_at_the_door(saved, other):
    with pytest.raises(EmbeddingMismatch, match=r"load it with its own model, then rebuild\(embedder\)"):
        Index.load(saved, embedder=other)


def ascii_words(text):
    return re.findall(r"[a-z0-9][a-z0-9\-]*", text.lower())


def test_words_of_another_tokenizer_are_refused_though_it_has_the_same_name(tmp_path):
    index = Index(tenant="north", tokenizer=ascii_words)
    index.add(page("a", 1))
    again = reloaded(index, tmp_path / "saved", tokenizer=ascii_words)
    assert readable(again) == readable(index)
    with pytest.raises(SavedIndexError, match="tokenizer 'test_storage.ascii_words', got 'labsupport.tokens.tokenize'"):
        Index.load(tmp_path / "saved")
    one, other = [lambda text: tokenize(text), lambda text: tokenize(text)[::2]]
    index = Index(tenant="north", tokenizer=one)
    index.save(tmp_path / "saved")
    assert one.__qualname__ == other.__qualname__
    with pytest.raises(SavedIndexError, match="cuts differently: ingest its documents again"):
        Index.load(tmp_path / "saved", tokenizer=other)


def test_chunks_of_another_chunker_are_refused(tmp_path, monkeypatch):
    """Case E12: the text of a page is the same, the version is the same, and its chunks are no longer those that would be cut."""
    filled().save(tmp_path / "saved")
    chunk_document = storage.chunk_document
    for other in ({"max_tokens": 64}, {"overlap_tokens": 12}):
        monkeypatch.setattr(storage, "chunk_document", lambda document: chunk_document(document, **other))
        with pytest.raises(SavedIndexError, match="was made by a chunker or a tokenizer that cuts differently"):
            Index.load(tmp_path / "saved")


# ---- written whole or not at all ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["open", "fsync", "replace", "stack"])
def test_a_save_that_dies_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch, step):
    index = filled()
    index.save(tmp_path / "saved")
    before = (tmp_path / "saved").read_bytes()
    run(index, job("a", 4, 3))

    def fails(*args, **options):
        raise OSError("no space left")

    if step == "open":
        (tmp_path / "saved.part").mkdir()  # nothing can be written there
    else:
        monkeypatch.setattr(*{"fsync": (os, "fsync", fails), "replace": (os, "replace", fails),
                              "stack": (storage.np, "stack", fails)}[step])
    with pytest.raises(OSError):
        index.save(tmp_path / "saved")
    monkeypatch.undo()
    assert (tmp_path / "saved").read_bytes() == before
    if step == "open":
        (tmp_path / "saved.part").rmdir()
    assert [file.name for file in tmp_path.iterdir()] == ["saved"]
    index.save(tmp_path / "saved")
    assert seen(Index.load(tmp_path / "saved")) == seen(index)


def test_a_reader_never_finds_half_a_file(tmp_path):
    """`saved` is the old one until it is the later one: the later one is written beside it and put in its place in one step."""
    index = filled()
    index.save(tmp_path / "saved")
    old, inode = seen(index), (tmp_path / "saved").stat().st_ino
    with open(tmp_path / "saved", "rb") as held:
        run(index, job("a", 4, 3))
        index.save(tmp_path / "saved")
        assert (tmp_path / "saved").stat().st_ino != inode
        (tmp_path / "still the old one").write_bytes(held.read())
    assert seen(Index.load(tmp_path / "still the old one")) == old != seen(Index.load(tmp_path / "saved"))


# ---- the dead ----------------------------------------------------------------------------------------------------------------

SECRET = "# Zebrafish merger\n\nxylophone quagga 771\n\n## Okapi clause\n\nnarwhal"
DEAD_WORDS = ("zebrafish", "merger", "xylophone", "quagga", "771", "okapi", "clause", "narwhal")


def kill_by_tombstone(index):
    index.tombstone_doc("page")


def kill_by_floor(index):
    index.tombstone_doc("page", below_version=9)


def kill_by_swap(index):
    index.ingest("page", 2, "handbook", {"employee"})


def kill_by_the_low_door(index):
    for chunk_id in list(index._namespaces["north"].documents["page"].chunk_labels):
        index.upsert(chunk_id=chunk_id, doc_id="page", text="handbook", acl={"employee"}, version=2)
    index.tombstone_doc("page", below_version=2)
    index.tombstone_doc("page")


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("kill", [kill_by_tombstone, kill_by_floor, kill_by_swap, kill_by_the_low_door])
def test_no_word_of_a_dead_text_is_in_the_file_nor_on_a_shelf_nor_a_hash_of_it(tmp_path, kill, restart):
    index = filled()
    index.ingest("page", 1, SECRET, {"employee"})
    state = index._namespaces["north"].documents["page"]
    traces = [state.digest.encode(), hashlib.sha256(SECRET.encode()).hexdigest().encode(), *(word.encode() for word in DEAD_WORDS)]
    vectors = [index._namespaces["north"].vector(chunk).tobytes() for chunk in index._namespaces["north"].chunks_of("page")]
    index.save(tmp_path / "saved")
    alive = (tmp_path / "saved").read_bytes()
    assert all(word in alive.lower() for word in traces if word != traces[1]) and all(vector in alive for vector in vectors)
    kill(index)
    if restart:
        index = reloaded(index, tmp_path / "saved")
    index.save(tmp_path / "saved")
    dead = (tmp_path / "saved").read_bytes()
    found = [trace for trace in traces if trace in dead.lower()]
    assert not found, found
    assert not [vector for vector in vectors if vector in dead and vector.strip(b"\0")]
    for namespace in index._namespaces.values():
        for shelf in namespace.shelves.values():
            assert not set(DEAD_WORDS) & set(shelf.terms)
            assert not [chunk for chunk in shelf.chunks if set(DEAD_WORDS) & set(tokenize(ranked_text(chunk)))]
            assert len(shelf.vectors) == len(shelf.chunks)
            assert shelf.vectors.base is None, "a view would keep the dead rows in memory"
    with pytest.raises(StaleVersion):
        index.ingest("page", 1, SECRET, {"employee"})


def test_an_id_of_a_dead_chunk_says_nothing_either(tmp_path):
    """Chunk ids are made of headings, so they go too; the document's id stays, for its floor."""
    index = Index(tenant="north")
    index.ingest("leave", 1, TEXTS[1], {"employee"})
    assert any("two-blocks" in chunk_id for chunk_id in index._namespaces["north"].holder)
    index.tombstone_doc("leave")
    index.save(tmp_path / "saved")
    saved = (tmp_path / "saved").read_bytes()
    assert b"two-blocks" not in saved and b'"leave"' in saved


def test_a_tombstone_stays_in_force_whatever_was_saved_when(tmp_path):
    index = filled()
    for number in range(3):
        index.tombstone_doc("b", below_version=number + 3)
        index = reloaded(index, tmp_path / f"{number}")
        with pytest.raises(StaleVersion, match=f"only version {number + 3} or higher"):
            run(index, job("b", 2, 1))
    before_the_tombstone = Index.load(tmp_path / "0")
    with pytest.raises(StaleVersion):
        run(before_the_tombstone, job("b", 2, 1))


def test_names_that_look_like_a_manifest_are_names(tmp_path):
    index = Index(tenant='no"rth\\\n{}')
    label = AccessLabel('no"rth\\\n{}', "internal", 'bar"rier', frozenset({"]["}))
    index.add_many([Chunk('"],[', '{"', 1, "handbook", ('"',), 0, 8, label, 0)])
    again = reloaded(index, tmp_path / "saved")
    reader = Principal("u", 'no"rth\\\n{}', barriers=['bar"rier'], groups=["]["])
    (hit,) = again.lexical("handbook", principal=reader)
    assert hit.chunk == index.lexical("handbook", principal=reader)[0].chunk
