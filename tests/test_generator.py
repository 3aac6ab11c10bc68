"""The generated corpus is the same everywhere, grows without changing, and deals access as it says."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labsupport.generator import BLOCK, TOPICS, generate, relabelled, spell
from labsupport.model import EVERYONE

CASES: dict[str, str] = {}


def _open(corpus):
    return [EVERYONE in chunk.label.acl for chunk in corpus.chunks]


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 2**32), st.integers(5, 20), st.floats(0, 1), st.booleans())
def test_a_larger_corpus_begins_with_the_smaller_one(size, more, seed, mean_words, visible, by_topic):
    knobs = {"seed": seed, "mean_words": mean_words, "queries": 3}
    small = generate(size, visible=visible, by_topic=by_topic, **knobs)
    large = generate(size + more, **knobs)
    assert [chunk.text for chunk in small.chunks] == [chunk.text for chunk in large.chunks[:size]]
    assert small.topics == large.topics[:size]
    assert len({chunk.chunk_id for chunk in large.chunks}) == size + more
    assert len(small.queries) == 3 and all(query.split() for query in small.queries)


def test_the_corpus_is_this_one_on_every_machine():
    corpus = generate(40)
    text = "\n".join([*(chunk.text for chunk in corpus.chunks), *corpus.queries, repr(_open(corpus))])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "087d8284c401c777"


def test_blocks_join_without_a_seam():
    corpus = generate(BLOCK + 2, mean_words=5, queries=0)
    assert len(corpus.chunks) == len(corpus.topics) == BLOCK + 2
    assert corpus.chunks[BLOCK].text != corpus.chunks[0].text


def test_access_at_random_opens_about_the_share_in_every_topic():
    corpus = generate(4000, visible=0.25, mean_words=5, queries=0)
    opened = Counter(topic for topic, is_open in zip(corpus.topics, _open(corpus), strict=True) if is_open)
    assert len(opened) == TOPICS
    assert 0.22 < sum(opened.values()) / 4000 < 0.28


def test_access_by_topic_opens_whole_topics():
    corpus = generate(4000, visible=0.25, by_topic=True, mean_words=5, queries=0)
    by_state = {(topic, is_open) for topic, is_open in zip(corpus.topics, _open(corpus), strict=True)}
    assert len(by_state) == TOPICS  # no topic is both open and closed
    assert sum(is_open for _, is_open in by_state) == TOPICS // 4


def test_a_topic_has_words_of_its_own():
    corpus = generate(3000, queries=0)
    said = {topic: Counter() for topic in (0, 1)}
    for chunk, topic in zip(corpus.chunks, corpus.topics, strict=True):
        if topic in said:
            said[topic].update(chunk.text.split())
    own = spell(TOPICS * 3)  # the fourth word of topic 0's slice
    assert said[0][own] > 5 * said[1][own]


def test_common_words_are_common_as_zipf_says():
    counts = Counter(word for chunk in generate(2000, queries=0).chunks for word in chunk.text.split())
    ranked = [often for _, often in counts.most_common(1000)]
    assert 4 < ranked[0] / ranked[99] < 60 and ranked[99] > 3 * ranked[999]


def test_every_word_number_has_its_own_spelling():
    assert len({spell(number) for number in range(30_000)}) == 30_000


def test_hidden_copies_keep_their_text_and_lose_their_readers():
    chunks = generate(5, queries=0).chunks
    hidden = relabelled(chunks, acl="closed")
    assert [chunk.text for chunk in hidden] == [chunk.text for chunk in chunks]
    assert all(chunk.label.acl == {"closed"} for chunk in hidden)


WRONG = [("size", 0), ("size", True), ("mean_words", 4), ("vocabulary", 39), ("queries", -1), ("visible", 1.1)]


@pytest.mark.parametrize(("knob", "value"), WRONG)
def test_a_wrong_size_is_refused_by_name(knob, value):
    knobs = {"size": 3, knob: value}
    with pytest.raises(ValueError, match=f"{knob} must be .*{value}"):
        generate(knobs.pop("size"), **knobs)
