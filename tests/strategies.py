"""Random banks, readers and questions for Hypothesis: small enough to be read in a failure, mean enough to collide."""

from __future__ import annotations

from hypothesis import strategies as st

from labsupport import CLASSIFICATIONS, EVERYONE, AccessLabel, Document, Principal

WORDS = ("acme", "falcon", "wire", "fee", "pmt-771", "the", "and", "shuttle", "été", "故乡")
TENANTS = ("wholesale", "retail")
BARRIERS = (None, "advisory", "research")
GROUPS = ("heads", "staff", "desk")

words = st.sampled_from(WORDS)
sentences = st.lists(words, min_size=0, max_size=8).map(" ".join)
texts = st.one_of(
    sentences,
    st.lists(st.tuples(words, sentences), min_size=1, max_size=3).map(
        lambda parts: "\n\n".join(f"## {heading}\n\n{body}" for heading, body in parts)),
)
acls = st.sets(st.sampled_from((EVERYONE, *GROUPS)), min_size=1, max_size=2).map(frozenset)


def labels(tenants=TENANTS):
    return st.builds(AccessLabel, st.sampled_from(tenants), st.sampled_from(CLASSIFICATIONS), st.sampled_from(BARRIERS), acls)


principals = st.builds(
    Principal, st.just("u-1"), st.sampled_from(TENANTS), st.sampled_from(CLASSIFICATIONS),
    st.sets(st.sampled_from(BARRIERS[1:]), max_size=2), st.sets(st.sampled_from(GROUPS), max_size=2),
)


@st.composite
def documents(draw, doc_ids=tuple(f"d{n}" for n in range(8))):
    label = draw(labels())
    doc_id, text, version, tick = draw(st.sampled_from(doc_ids)), draw(texts), draw(st.integers(1, 3)), draw(st.integers(0, 9))
    return Document(doc_id, label.tenant, "a title", text, label.classification, label.barrier, label.acl, version, tick)


queries = st.lists(st.one_of(words, st.sampled_from(("unseen", "???", "late"))), min_size=1, max_size=4).map(" ".join)
