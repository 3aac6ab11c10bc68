"""The real embedding model: verified bytes, the original's numbers, the same vector every time, and clear refusals.

What needs the model is skipped, with its reason, where `make model` was not run; every refusal is tested without it.
"""

from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labsupport import minilm
from labsupport.minilm import DIMENSIONS, MiniLM, ModelUnavailable, model_folder

ROOT = Path(__file__).resolve().parents[1]
ORACLE = ROOT.parent / "shared" / "examples" / "engines" / "numpy_minilm.py"
CASES = {"B13": "test_a_blank_text_is_like_nothing"}

installed = model_folder() is not None and importlib.util.find_spec("tokenizers") is not None
needs_model = pytest.mark.skipif(not installed, reason="the real model is not installed: run `make model`")

PAGES = (
    "Every employee may take 16 weeks of parental leave.",
    "Compensation band L5 starts at 180000.",
    "The desk opens at nine.",
    "Staff must rotate their credentials every ninety days.",
    "Laptops reported missing are wiped remotely within one hour.",
    "Meals while travelling are reimbursed up to 60 euro per day.",
    "The quarterly bonus is paid after the board approves the results.",
    "Visitors sign the register at reception and wear a badge.",
    "Customer records are erased thirty days after the account is closed.",
    "Suspected fraud should be raised with the audit committee in confidence.",
    "The building is evacuated when the siren sounds.",
    "Invoices are settled within 45 days of receipt.",
    "Remote work abroad needs approval from the tax team.",
    "The cafeteria serves vegetarian lunches on Mondays.",
    "Source code is reviewed by two engineers before it ships.",
    "Directors may not trade shares during the closed period.",
)
PARAPHRASES = (  # with the place of its page
    ("time off for a new child", 0),
    ("time off for a new parent", 0),
    ("how much does a senior engineer earn", 1),
    ("when can I get help at the counter in the morning", 2),
    ("how often do I have to change my password", 3),
    ("my computer was stolen", 4),
    ("can I expense dinner on a business trip", 5),
    ("when do we get our extra pay", 6),
    ("guests arriving at the front office", 7),
    ("right to be forgotten when a user leaves", 8),
    ("report embezzlement anonymously", 9),
    ("what to do in case of fire", 10),
    ("how fast do we pay suppliers", 11),
    ("working from another country", 12),
    ("meat-free food options", 13),
    ("peer check of a pull request", 14),
    ("insider dealing blackout window", 15),
)
HARD = ("Café MÜNCHEN naïve", "東京 office", "ﬁnance of ½ day", "x" * 150, "a-b_c/d#e", "tab\tand\nline", "🙂 ok", "leave " * 400)


@cache
def model() -> MiniLM:
    return MiniLM()


def printed(code: str, **environment: str) -> str:
    """What a fresh Python prints when it runs this code in the project's root."""
    env = os.environ | environment
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return run.stdout.strip()


# --- what it computes ------------------------------------------------------------------------------------------------


@needs_model
@settings(max_examples=15, deadline=None)
@given(st.permutations(PAGES[:5]), st.integers(1, 4))
def test_a_vector_does_not_depend_on_the_texts_beside_it(texts, cut):
    whole = {text: row for text, row in zip(texts, model()(texts), strict=True)}
    fresh = MiniLM()
    fresh._loaded = model()._load()  # the same weights, an empty memory
    for part in (texts[:cut], texts[cut:]):
        for text, row in zip(part, fresh(part), strict=True):
            assert row.tobytes() == whole[text].tobytes()


@needs_model
def test_the_figures_of_the_original_model_are_reproduced():
    asked = model()([question for question, _ in PARAPHRASES[:2]])
    cosines = asked @ model()(PAGES[:3]).T
    assert np.abs(cosines - [[0.507, 0.080, 0.156], [0.569, 0.064, 0.149]]).max() < 5.1e-4  # published to three places


@needs_model
def test_fourteen_of_seventeen_paraphrases_find_their_page_first_and_all_find_it_in_three():
    scores = model()([question for question, _ in PARAPHRASES]) @ model()(PAGES).T
    ranks = [int((row > row[place]).sum()) + 1 for row, (_, place) in zip(scores, PARAPHRASES, strict=True)]
    assert len(ranks) == 17
    assert sum(rank == 1 for rank in ranks) == 14
    assert max(ranks) <= 3


@needs_model
@pytest.mark.skipif(not ORACLE.is_file(), reason="the independent forward pass in ../shared/examples is not here")
def test_an_independent_tokenizer_and_forward_pass_agree():
    spec = importlib.util.spec_from_file_location("numpy_minilm", ORACLE)
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)
    texts = [*PAGES, *(question for question, _ in PARAPHRASES), *HARD]
    difference = np.abs(other.MiniLM(model_folder()).encode(texts) - model()(texts)).max()
    assert difference < 1e-6


@needs_model
def test_rows_are_float32_of_length_one():
    rows = model()([*PAGES, *HARD])
    assert rows.dtype == np.float32 and rows.shape == (len(PAGES) + len(HARD), DIMENSIONS)
    assert np.abs(np.linalg.norm(rows.astype(np.float64), axis=1) - 1).max() < 1e-6


@needs_model
def test_a_blank_text_is_like_nothing():
    rows = model()(["", " \n\t", "count active customers"])
    assert not rows[:2].any() and rows[2].any()


@needs_model
def test_what_stands_after_254_word_pieces_is_not_read():
    assert (model()(["leave " * 254]) == model()(["leave " * 254 + "PMT-771 is held"])).all()
    assert (model()(["leave " * 240]) != model()(["leave " * 240 + "PMT-771 is held"])).any()


@needs_model
def test_a_mark_of_the_model_written_in_a_text_is_data():
    tokenizer, _ = model()._load()
    ids = tokenizer.encode("held [SEP] [CLS] released [MASK]").ids
    assert (ids[0], ids[-1]) == (101, 102)
    assert not {101, 102, 103} & set(ids[1:-1])


@needs_model
def test_half_a_surrogate_pair_is_no_crash():
    assert model()(["page \ud800 torn"]).any()


@needs_model
def test_two_processes_agree_to_the_last_bit():
    code = "from labsupport.minilm import MiniLM; print(MiniLM()(['PMT-771 is HELD', 'leave']).tobytes().hex())"
    first, second = (printed(code, OPENBLAS_NUM_THREADS="1", PYTHONHASHSEED=seed) for seed in ("0", "7"))
    assert len(first) == 2 * DIMENSIONS * 8
    assert first == second


@needs_model
def test_the_package_of_unknown_origin_is_read_and_never_run():
    code = f"import sys; from labsupport.minilm import MiniLM; MiniLM()(['leave']); print({minilm.PACKAGE!r} in sys.modules)"
    assert printed(code) == "False"


@needs_model
def test_a_text_is_embedded_once_and_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(minilm, "KEPT", 2)
    embedder = MiniLM()
    embedder._loaded = model()._load()
    rows = embedder(["leave", "pay", "desk", "leave", "desk"])
    assert len(embedder._vectors) == 2
    assert (rows[0] == rows[3]).all() and (rows[2] == rows[4]).all()
    again = embedder._vectors[minilm.text_key("desk")]
    embedder(["desk"])
    assert embedder._vectors[minilm.text_key("desk")] is again


# --- what it refuses -------------------------------------------------------------------------------------------------


def test_nothing_is_loaded_before_the_first_text():
    embedder = MiniLM(folder=Path("no") / "such" / "folder")
    assert (embedder.dimensions, embedder.knows_meaning) == (384, True)
    assert embedder([]).shape == (0, 384)
    assert printed("import sys, labsupport.minilm; print('tokenizers' in sys.modules)") == "False"


def test_the_name_says_which_weights_made_a_vector():
    assert MiniLM.name == "all-MiniLM-L6-v2@53aa51172d14"
    assert minilm.WEIGHTS_SHA256.startswith("53aa51172d14")


def test_a_missing_package_names_the_command(monkeypatch):
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package_of_weights")
    with pytest.raises(ModelUnavailable, match="make model"):
        MiniLM()(["leave"])


def test_missing_files_name_the_command(tmp_path):
    with pytest.raises(ModelUnavailable, match="make model"):
        MiniLM(folder=tmp_path)(["leave"])


def test_weights_that_are_not_the_original_are_refused(tmp_path):
    pytest.importorskip("tokenizers", reason="tokenizers is not installed: run `make model`")
    (tmp_path / "model.safetensors").write_bytes(b"not the original")
    with pytest.raises(ModelUnavailable, match=f"expected {minilm.WEIGHTS_SHA256}.*make model"):
        MiniLM(folder=tmp_path)(["leave"])


@needs_model
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_one_changed_bit_is_refused(tmp_path, name):
    for file in ("model.safetensors", "tokenizer.json"):
        held = bytearray((model_folder() / file).read_bytes())
        if file == name:
            held[-5] ^= 1
        (tmp_path / file).write_bytes(held)
    with pytest.raises(ModelUnavailable, match=f"{name} of .* is not the original"):
        MiniLM(folder=tmp_path)(["leave"])


def test_a_bare_text_is_a_type_error():
    with pytest.raises(TypeError, match="list of texts"):
        MiniLM()("leave")


# --- what it prints --------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_is_drawn_for_a_person_at_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    for done in (0, 50, 100):
        minilm._report(done, 100)
    assert terminal.getvalue().endswith(f"\rembedding [{'#' * 30}] 100/100\n")
    assert f"[{'#' * 15}{'.' * 15}] 50/100" in terminal.getvalue()


def test_nothing_is_drawn_into_a_notebook_or_a_log_or_for_a_few_texts(monkeypatch):
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    minilm._report(100, 100)
    assert log.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    minilm._report(3, 3)
    assert terminal.getvalue() == ""
