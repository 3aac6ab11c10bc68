"""The committed vectors: complete, the real model's own, refused when damaged, and the same bytes however they were made."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labsupport import vectors
from labsupport.embedding import as_embedder, embed
from labsupport.errors import EmbeddingFailed
from labsupport.minilm import DIMENSIONS, MiniLM, model_folder, text_key
from labsupport.vectors import FOLDER, StoredEmbedder, VectorMissing, committed_vectors, read_vectors, wanted_texts, write_vectors
from labsupport.worlds import load_world

ROOT = Path(__file__).resolve().parents[1]
installed = model_folder() is not None and importlib.util.find_spec("tokenizers") is not None
needs_model = pytest.mark.skipif(not installed, reason="the real model is not installed: run `make model`")

keyed = st.dictionaries(st.text(max_size=9).map(text_key), st.integers(0, 2**32 - 1), max_size=6)


def made_up(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32)


# --- files -----------------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(keyed, st.randoms(use_true_random=False))
def test_what_is_written_is_read_back_and_the_same_vectors_make_the_same_bytes(seeds, random):
    held = {key: made_up(seed) for key, seed in seeds.items()}
    shuffled = dict(random.sample(list(held.items()), len(held)))
    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder) / "one.npz", Path(folder) / "two.npz"
        write_vectors(one, held)
        write_vectors(two, shuffled)
        assert one.read_bytes() == two.read_bytes()
        back = read_vectors(one)
    assert {key: vector.tobytes() for key, vector in back.items()} == {key: vector.tobytes() for key, vector in held.items()}


def test_a_file_cut_off_anywhere_is_refused(tmp_path):
    write_vectors(tmp_path / "whole.npz", {text_key(str(number)): made_up(number) for number in range(3)})
    whole, cut = (tmp_path / "whole.npz").read_bytes(), tmp_path / "cut.npz"
    for size in range(0, len(whole), 97):
        cut.write_bytes(whole[:size])
        with pytest.raises(EmbeddingFailed, match="cut.npz cannot be read"):
            read_vectors(cut)


def test_a_changed_bit_in_the_numbers_is_refused(tmp_path):
    write_vectors(tmp_path / "held.npz", {text_key("leave"): made_up(1)})
    held = bytearray((tmp_path / "held.npz").read_bytes())
    held[held.index(made_up(1).tobytes()) + 40] ^= 1
    (tmp_path / "held.npz").write_bytes(held)
    with pytest.raises(EmbeddingFailed, match="held.npz cannot be read"):
        read_vectors(tmp_path / "held.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": np.array("0" * 64)}, "of the model '0000"),
        ({"vectors": np.zeros((1, 383), np.float32)}, "383"),
        ({"vectors": np.zeros((2, DIMENSIONS), np.float32)}, "for keys"),
        ({"vectors": np.zeros((1, DIMENSIONS))}, "float64"),
        ({"vectors": np.array([[object()] * DIMENSIONS])}, "cannot be read"),
        ({"keys": np.zeros((1, 16), np.uint8)}, "for keys"),
    ],
)
def test_vectors_of_another_model_or_shape_are_refused(tmp_path, change, message):
    right = {"model": np.array(vectors.WEIGHTS_SHA256), "keys": np.zeros((1, 32), np.uint8)}
    np.savez(tmp_path / "other.npz", **(right | {"vectors": np.zeros((1, DIMENSIONS), np.float32)} | change))
    with pytest.raises(EmbeddingFailed, match=message):
        read_vectors(tmp_path / "other.npz")


# --- the embedder ----------------------------------------------------------------------------------------------------


def test_a_text_that_is_not_committed_is_refused_and_not_repeated():
    stored = StoredEmbedder({text_key("leave"): made_up(1)})
    with pytest.raises(VectorMissing, match="make model") as refused:
        stored(["leave", "why was Ann Example's claim refused?"])
    assert "Ann" not in str(refused.value)


def test_without_the_model_the_refusal_says_both_what_is_missing_and_what_helps(tmp_path):
    stored = StoredEmbedder({}, live=MiniLM(folder=tmp_path))
    with pytest.raises(VectorMissing, match="no vector in data/vectors, and .*make model"):
        stored(["a text of nobody's"])


def test_a_committed_vector_wins_over_the_live_model():
    stored = StoredEmbedder({text_key("leave"): made_up(1)}, live=MiniLM(folder=Path("nowhere")))
    assert stored(["leave"]).tobytes() == made_up(1).tobytes()


@needs_model
def test_with_the_model_a_text_that_is_not_committed_is_computed():
    text = "The canteen closes at two on the second Friday."
    stored = committed_vectors()
    assert text not in stored and "maternity" in stored
    rows = stored([text, "", "maternity", text])
    live = MiniLM()([text, "", "maternity", text])
    assert np.abs(rows - live).max() < vectors.TOLERANCE
    assert rows.dtype == np.float32 and not rows[1].any()


def test_a_blank_text_is_like_nothing_with_or_without_the_model():
    rows = StoredEmbedder({text_key("leave"): made_up(1)})(["", " \n", "leave"])
    assert not rows[:2].any() and rows[2].any()


def test_a_bare_text_is_a_type_error():
    with pytest.raises(TypeError, match="list of texts"):
        StoredEmbedder({})("leave")


def test_stored_and_live_are_one_model_to_an_index():
    stored, live = as_embedder(committed_vectors()), as_embedder(MiniLM())
    assert (stored.name, stored.dimensions, stored.knows_meaning) == (live.name, live.dimensions, live.knows_meaning)


def test_an_index_takes_the_committed_vectors_bit_for_bit():
    stored = committed_vectors(live=False)
    texts = ["maternity", "PMT-771", "PMT-717"]
    assert embed(stored, texts).tobytes() == stored(texts).tobytes()


# --- what is committed -----------------------------------------------------------------------------------------------


def test_each_file_holds_exactly_what_the_worlds_and_the_lessons_use():
    wanted = wanted_texts()
    assert {"northline", "bank", "harbor_lane", "lessons"} <= wanted.keys()
    assert {path.stem for path in FOLDER.glob("*.npz")} == wanted.keys()
    for name, texts in wanted.items():
        assert read_vectors(FOLDER / f"{name}.npz").keys() == set(map(text_key, texts)), f"{name}: run python -m labsupport.vectors"
        assert len(texts) > 20


@pytest.mark.parametrize("name", ["northline", "bank", "harbor_lane"])
def test_a_world_is_rebuilt_and_asked_from_committed_vectors_alone(name):
    world = load_world(name)
    stored = committed_vectors(live=False)
    world.index.rebuild(stored)
    assert world.questions
    for question in world.questions:
        assert question.query in stored


@needs_model
def test_the_committed_vectors_are_the_models_own():
    """A sample in which each file is represented; `python -m labsupport.vectors --check` compares all of them."""
    model, compared = MiniLM(), 0
    for name, texts in wanted_texts().items():
        sample = sorted(texts, key=text_key)[:16]
        stored = StoredEmbedder(read_vectors(FOLDER / f"{name}.npz"))
        assert np.abs(stored(sample) - model(sample)).max() < vectors.TOLERANCE
        compared += len(sample)
    assert compared >= 64


def test_committed_rows_are_of_length_one_and_no_two_are_equal():
    rows = np.concatenate([list(read_vectors(path).values()) for path in sorted(FOLDER.glob("*.npz"))])
    assert np.abs(np.linalg.norm(rows.astype(np.float64), axis=1) - 1).max() < 1e-6
    held = {key: row.tobytes() for path in sorted(FOLDER.glob("*.npz")) for key, row in read_vectors(path).items()}
    assert len(set(held.values())) == len(held)


# --- what notebook 02 shows with them --------------------------------------------------------------------------------


def rebuilt(name: str):
    world = load_world(name)
    world.index.rebuild(committed_vectors(live=False))
    return world


def first(hits) -> tuple[str, str]:
    return hits[0].chunk.doc_id, hits[0].chunk.section


def test_by_its_letters_the_reference_is_found_and_by_meaning_another_payment_comes_first():
    world = rebuilt("bank")
    wes = world.principals["wes"]
    for question, right, preferred in [
        ("PMT-771 alert closed?", "pmt-771", "pmt-717"),
        ("Where is payment PMT-771?", "pmt-771", "pmt-7710"),
        ("PMT-717", "pmt-717", "pmt-771"),
        ("What is the status of PMT-717?", "pmt-717", "pmt-771"),
    ]:
        assert first(world.index.lexical(question, principal=wes))[0] == right, question
        assert first(world.index.dense(question, principal=wes))[0] == preferred, question
    best, second = world.index.dense("PMT-771 alert closed?", principal=wes, limit=2)
    assert best.score - second.score > 0.05  # far beyond what another machine's last bits could turn


def test_by_meaning_the_leave_page_answers_what_its_words_do_not():
    world = rebuilt("northline")
    eli = world.principals["eli"]
    words = {"time off for a new child": "time-off", "How long can I stay home with my newborn": "remote", "maternity": None}
    for question, found in words.items():
        lexical = world.index.lexical(question, principal=eli)
        assert (lexical[0].chunk.doc_id if lexical else None) == found
        assert first(world.index.dense(question, principal=eli))[0] == "leave"


def test_a_model_finds_something_for_a_question_about_nothing():
    world = rebuilt("northline")
    eli = world.principals["eli"]
    assert world.index.lexical("zebra xylophone", principal=eli) == []
    assert 0 < world.index.dense("zebra xylophone", principal=eli)[0].score < 0.25


# --- the tool --------------------------------------------------------------------------------------------------------


@needs_model
def test_bringing_up_to_date_makes_what_is_missing_drops_what_is_dead_and_keeps_the_rest(tmp_path):
    data = tmp_path / "data"
    (data / "vectors").mkdir(parents=True)
    lines = "# a remark\nmaternity\n\nThe canteen closes at two.\nmaternity\n"
    (data / "vectors" / "texts.txt").write_text(lines, encoding="utf-8")
    before = read_vectors(FOLDER / "lessons.npz")
    before[text_key("maternity")] = np.nextafter(before[text_key("maternity")], np.float32(2))  # another machine's last bits
    write_vectors(data / "vectors" / "lessons.npz", before)
    assert vectors.bring_up_to_date(data) == {"lessons": (1, 1, len(before) - 1)}
    after = read_vectors(data / "vectors" / "lessons.npz")
    assert after.keys() == {text_key("maternity"), text_key("The canteen closes at two.")}
    assert after[text_key("maternity")].tobytes() == before[text_key("maternity")].tobytes()
    held = (data / "vectors" / "lessons.npz").read_bytes()
    assert vectors.bring_up_to_date(data) == {"lessons": (2, 0, 0)}
    assert (data / "vectors" / "lessons.npz").read_bytes() == held
    assert vectors.furthest(data)["lessons"] < vectors.TOLERANCE


@needs_model
def test_a_vector_that_is_not_the_models_is_told(tmp_path):
    (tmp_path / "vectors").mkdir()
    (tmp_path / "vectors" / "texts.txt").write_text("maternity\n", encoding="utf-8")
    write_vectors(tmp_path / "vectors" / "lessons.npz", {text_key("maternity"): MiniLM()(["paternity"])[0]})
    assert vectors.furthest(tmp_path)["lessons"] > 100 * vectors.TOLERANCE
