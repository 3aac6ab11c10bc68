"""Three peers' demo collections through our jobs: who reads what is what their own rules say, and of dated policies one answers.

Read in place beside the repository (see `shared/data/README.md`); where the folder is absent these tests are skipped.
"""

from __future__ import annotations

import csv
import itertools
import json
from datetime import date
from functools import cache
from pathlib import Path

import pytest

from labsupport.entitlement import can_read
from labsupport.errors import StaleVersion
from labsupport.index import Index
from labsupport.ingestion import CorpusScope, IngestJob, ingest
from labsupport.leaky import AppendOnly
from labsupport.model import Document, Principal
from labsupport.retriever import AuthorizedRetriever, RetrievalPolicy

CASES: dict[str, str] = {}

ACL = Path(__file__).resolve().parents[2] / "shared" / "data" / "acl"
pytestmark = pytest.mark.skipif(not ACL.is_dir(), reason=f"the peers' collections are not here: no {ACL.name}/ in ../shared/data")


def stored(tenant, texts, groups, *, classification=None):
    """An index of a collection, filled by its jobs; `texts` and `groups` by document id."""
    index = Index(tenant=tenant)
    scope = CorpusScope(owner="the peers", included=texts)
    for doc_id in texts:
        job = IngestJob(doc_id, 1, doc_id, groups[doc_id], tenant, (classification or {}).get(doc_id, "internal"))
        ingest(index, job, fetch=lambda source, *, uploader: texts[source], scope=scope)
    return index


def reads(index, reader):
    """The documents of which a reader gets a chunk by its id, over every id that the tenant holds."""
    holder = index._namespaces[reader.tenant].holder
    assert holder
    got = {doc_id for chunk_id, doc_id in holder.items() if index.get(chunk_id, principal=reader) is not None}
    ranked = index.lexical(" ".join(sorted(index_words(index))), principal=reader, limit=None)
    assert {hit.chunk.doc_id for hit in ranked} == got, "what can be fetched by id and what can be found is the same"
    return got


@cache
def index_words(index):
    """Every word that any shelf holds: a question that everything matches."""
    return {word for namespace in index._namespaces.values() for shelf in namespace.shelves.values() for word in shelf.terms}


# ---- elastic-workplace: two roles, one closed page, three dated policies ------------------------------------------------------


@cache
def workplace():
    lines = (ACL / "elastic-workplace" / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    return {each["id"]: each for each in map(json.loads, lines)}


def test_in_the_workplace_each_role_reads_what_its_list_says():
    rules = json.loads((ACL / "elastic-workplace" / "acl.json").read_text(encoding="utf-8"))
    index = stored("elastic", {doc_id: each["text"] for doc_id, each in workplace().items()}, rules["documents"])
    read = {role: reads(index, Principal(role, "elastic", groups=[role])) for role in rules["groups"]}
    assert read == {role: {doc_id for doc_id, roles in rules["documents"].items() if role in roles} for role in rules["groups"]}
    assert read["manager"] - read["demo"] == {"wp-13"} and len(read["manager"]) == 15
    demo = AuthorizedRetriever(index).retrieve("compensation bands of IT teams", Principal("demo", "elastic", groups=["demo"]))
    assert demo.hits and "wp-13" not in {hit.chunk.doc_id for hit in demo.hits}


POLICIES = ("wp-01", "wp-02", "wp-03")
WORDINGS = ("How many days a week in the office?", "full-time work from home policy", "Work From Home Policy",
            "hybrid work starting May")


def dated_jobs():
    """The three pages as three versions of one document: ordered by their date, and a day is a tick."""
    ordered = sorted(POLICIES, key=lambda one: workplace()[one]["updated_at"])
    assert ordered == list(POLICIES)
    return [IngestJob("work-from-home", version, one, workplace()[one]["allow_groups"], "elastic",
                      updated_tick=date.fromisoformat(workplace()[one]["updated_at"]).toordinal())
            for version, one in enumerate(ordered, 1)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_of_three_dated_policies_the_newest_answers_in_whatever_order_they_came(order):
    index, late = Index(tenant="elastic"), 0
    scope = CorpusScope(owner="HR", included=["work-from-home"])
    jobs = dated_jobs()
    for place in order:
        try:
            ingest(index, jobs[place], fetch=lambda source, *, uploader: workplace()[source]["text"], scope=scope)
        except StaleVersion:
            late += 1
    assert late == sum(max(order[:place + 1]) != one for place, one in enumerate(order))
    demo = Principal("demo", "elastic", groups=["demo"])
    answered = 0
    for wording in WORDINGS:
        hits = AuthorizedRetriever(index).retrieve(wording, demo).hits
        assert {hit.chunk.version for hit in hits} <= {3}
        answered += bool(hits)
    assert answered == len(WORDINGS)
    (hit, *_) = index.lexical("three days a week in the office", principal=demo)
    assert "three days" in hit.chunk.text and hit.chunk.citation().startswith("work-from-home@v3#")


def test_left_beside_each_other_the_dead_policies_answer_too():
    pages = [Document("work-from-home", "elastic", one.source, workplace()[one.source]["text"], acl=one.acl, version=one.version)
             for one in dated_jobs()]
    demo, first = Principal("demo", "elastic", groups=["demo"]), set()
    for wording in WORDINGS:
        first.add(AppendOnly.of(pages).retrieve(wording, demo).hits[0].chunk.version)
    assert len(first) > 1, "wording decides which policy answers"


# ---- secure-rag-acme: seventeen roles that inherit, policy against prose -------------------------------------------------------


@cache
def acme():
    import yaml

    folder = ACL / "secure-rag-acme"
    rules = yaml.safe_load((folder / "acl.yaml").read_text(encoding="utf-8"))["docs"]
    rules = {Path(rule["path"]).name: rule for rule in rules}
    texts = {name: (folder / "corpus" / name).read_text(encoding="utf-8") for name in rules}
    index = stored("acme", texts, {name: rule["allow"]["roles"] for name, rule in rules.items()},
                   classification={name: rule["classification"] for name, rule in rules.items()})
    with open(folder / "access_matrix.tsv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    matrix = {row.pop("role"): {name for name, cell in row.items() if cell == "1"} for row in rows}
    inherits = json.loads((folder / "role_hierarchy.json").read_text(encoding="utf-8"))
    return index, rules, matrix, inherits


def in_role(role, clearance="restricted"):
    return Principal(role, "acme", clearance, groups=[role, *acme()[3][role]])


def test_seventeen_roles_read_what_the_matrix_says():
    index, rules, matrix, inherits = acme()
    assert len(matrix) == len(inherits) == 17 and len(rules) == 18
    assert {role: reads(index, in_role(role)) for role in matrix} == matrix
    assert len(set(map(len, matrix.values()))) > 5, "the roles differ"


def test_a_role_that_inherits_nothing_of_a_list_reads_none_of_it_though_prose_promises():
    index, _, matrix, _ = acme()
    assert matrix["employee"] == reads(index, in_role("employee")) == set(), "the demo's prose promises the engineering handbook"
    assert len(reads(index, in_role("admin"))) == 3, "the demo's prose promises everything"
    (page,) = {chunk.doc_id for chunk in index._namespaces["acme"].chunks_of("hr-confidential.md")}
    assert any("Enterprise Admin Only" in chunk.text for chunk in index._namespaces["acme"].chunks_of(page))
    assert page in reads(index, in_role("hr.admin")), "the text says Enterprise Admin Only; the rule names hr.admin"


def test_a_clearance_takes_away_and_never_gives():
    index, rules, matrix, _ = acme()
    levels = ("public", "internal", "confidential", "restricted")
    for role, clearance in itertools.product(matrix, levels):
        cleared = {name for name, rule in rules.items() if levels.index(rule["classification"]) <= levels.index(clearance)}
        assert reads(index, in_role(role, clearance)) == matrix[role] & cleared


def test_another_tenant_with_every_role_reads_nothing():
    index, _, _, inherits = acme()
    stranger = Principal("stranger", "evil", "restricted", groups=list(inherits))
    assert index.lexical("handbook policy", principal=stranger, limit=None) == []
    assert not any(index.get(chunk_id, principal=stranger) for chunk_id in index._namespaces["acme"].holder)


# ---- azure-contoso: pages behind directories, questions with citations -----------------------------------------------------------


@cache
def contoso():
    lines = (ACL / "azure-contoso" / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    pages = {each["id"]: each for each in map(json.loads, lines)}
    rules = json.loads((ACL / "azure-contoso" / "acl.json").read_text(encoding="utf-8"))
    groups = {}
    for doc_id, each in pages.items():
        directory = rules["files"][each["doc"]]["directory"]
        groups[doc_id] = sorted({*rules["directories"][directory]["groups"], *rules["directories"]["/"]["groups"]})
        assert set(groups[doc_id]) == set(each["allow_groups"])
    index = stored("contoso", {doc_id: each["text"] for doc_id, each in pages.items()}, groups)
    return index, groups, rules["groups"]


def test_in_contoso_each_group_reads_what_its_directories_hold():
    index, groups, names = contoso()
    read = {name: reads(index, Principal(name, "contoso", groups=[name])) for name in names}
    assert read == {name: {doc_id for doc_id, allowed in groups.items() if name in allowed} for name in names}
    assert {name: len(pages) for name, pages in read.items()} == {
        "GPTKB_AdminTest": 263, "GPTKB_HRTest": 263, "GPTKB_EmployeeTest": 221}


def test_fifty_questions_bring_nobody_a_page_of_another_group_and_find_most_of_what_is_cited():
    index, groups, names = contoso()
    lines = (ACL / "azure-contoso" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    retriever, asked, found = AuthorizedRetriever(index), 0, {name: 0 for name in names}
    for question, name in itertools.product(questions, names):
        reader = Principal(name, "contoso", groups=[name])
        hits = retriever.retrieve(question["text"], reader, policy=RetrievalPolicy(result_limit=10)).hits
        assert all(can_read(reader, hit.chunk.label) and name in groups[hit.chunk.doc_id] for hit in hits)
        found[name] += bool({hit.chunk.doc_id for hit in hits} & set(question["citations"]))
        asked += 1
    assert asked == 150
    assert found["GPTKB_AdminTest"] >= 30, found  # rough: the citations were made by a machine
