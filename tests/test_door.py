"""The package's door: quick to import, every name and signature that learners meet, and nothing drawn before it is asked for."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import labsupport

ROOT = Path(__file__).resolve().parents[1]
HEAVY = "pandas", "matplotlib", "ipywidgets"

# As the specification writes them. `…` at the end: more parameters may follow, each with a default.
SIGNATURES = """
Document(doc_id, tenant, title, text, classification='internal', barrier=None, acl=('everyone',), version=1, updated_tick=0)
AccessLabel(tenant, classification, barrier, acl)
Chunk(chunk_id, doc_id, version, text, heading_path, start_char, end_char, label, updated_tick)
Principal(user_id, tenant, max_classification='internal', barriers=(), groups=())
Hit(chunk, score, lexical_rank=None, dense_rank=None, context=None)
can_read(principal, label) -> bool
chunk_document(document, *, max_tokens=96, overlap_tokens=16) -> list[Chunk]
estimate_tokens(text) -> int
tokenize(text) -> list[str]
hash_embed(text, dimensions=96) -> np.ndarray
cosine(a, b) -> float
Index(*, tenant='default', embedder=hash_embed, tokenizer=tokenize, k1=1.5, b=0.75)
Index.add(self, document) -> list[Chunk]
Index.add_many(self, documents_or_chunks)
Index.ingest(self, doc_id, version, text, acl)
Index.upsert(self, *, chunk_id, doc_id, text, acl, version, tenant=None, classification='internal', barrier=None, updated_tick=0)
Index.tombstone_doc(self, doc_id, *, below_version=None, tenant=None)
Index.lexical(self, query, *, principal, limit=10, …)
Index.dense(self, query, *, principal, limit=10, …)
Index.query(self, text, *, groups, k=5) -> list[dict]
Index.get(self, chunk_id, *, principal) -> Chunk | None
Index.namespaces(self) -> list[str]
Index.rebuild(self, embedder)
Index.save(self, path)
Index.load(path, *, embedder=hash_embed, …)
reciprocal_rank_fusion(rankings, *, k=60, limit=10, weights=None) -> list[Hit]
lexical_overlap_reranker(query, chunk) -> float
rerank(query, candidates, *, reranker=lexical_overlap_reranker, limit=5, min_score=0.0) -> list[Hit]
RetrievalPolicy(max_stale_ticks=None, enable_rerank=True, min_score=0.0, candidate_limit=12, result_limit=5, \
max_chunks_per_doc=None, expand_parent=False, parent_max_tokens=256, rrf_k=60)
RetrievalResult(hits, degraded, excluded_by_freshness, citations)
AuthorizedRetriever(engine, *, reranker=stand_in, audit=None)
AuthorizedRetriever.retrieve(self, query, principal, *, now_tick=0, policy=RetrievalPolicy()) -> RetrievalResult
ingest(engine, job, *, fetch, scope) -> list[Chunk]
Claim(text, citation=None)
check_grounding(claims, hits, *, min_overlap=0.6) -> GroundingReport
quote_in(hits, quote) -> Span
check_evidence(handoff, hits)
assemble_context(*, budget_tokens, instructions, question, tool_schemas='', policy='', memory='', retrieved=(), reserve_tokens=0, \
principal=None) -> AssembledContext
Session(principal, retriever, …)
search_policy(question, *, session) -> Handoff
check_query(text) -> str
clean_answer(text, hits) -> str
load_world(name, *, scope=None, …)
"""
FIELDS = {
    "AuditRecord": "actor tenant groups query_hash query_length returned dropped policy "
                   "excluded_by_entitlement excluded_by_freshness postings_read vectors_read",
    "AssembledContext": "text tokens included_chunks dropped_chunks stable_prefix_tokens cacheable_fraction",
    "Chunk": "tenant classification barrier section citation",
    "GroundingReport": "supported unsupported verdicts is_grounded coverage",
    "Handoff": "evidence answer",
    "IngestJob": "doc_id version source acl tenant classification barrier uploader label_tick updated_tick",
    "World": "index retriever principals documents questions claims scope",
}


def run(code: str) -> str:
    """What a fresh Python prints. It starts in this folder and has seen no test."""
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def written(name: str) -> str:
    """A signature as the specification would write it: no types, a function default by its name."""
    found = labsupport
    for part in name.split("."):
        found = getattr(found, part)
    signature = inspect.signature(found)
    parameters, star = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parameters.append("*")
            star = True
        default = parameter.default
        if default is parameter.empty:
            parameters.append(parameter.name)
        elif default == labsupport.RetrievalPolicy():
            parameters.append(f"{parameter.name}=RetrievalPolicy()")
        else:
            parameters.append(f"{parameter.name}={getattr(default, '__name__', repr(default))}")
    returns = signature.return_annotation
    arrow = "" if returns in (signature.empty, None, "None") else f" -> {returns}"
    return f"{name}({', '.join(parameters)}){arrow}"


PROMISED = SIGNATURES.strip().splitlines()


@pytest.mark.parametrize("promised", PROMISED, ids=lambda line: line.split("(")[0])
def test_the_signature_is_the_one_that_was_promised(promised):
    name, found = promised.split("(")[0], written(promised.split("(")[0])
    if "->" not in promised:
        found = found.split(" -> ")[0]
    if ", …)" not in promised:
        assert found == promised
        return
    begins, ends = promised.split(", …)")
    assert found.startswith(begins) and (not ends or found.endswith(ends))
    more = re.findall(r"(\w+)(=?)", re.sub(r"=[^,)]+", "=", found.removeprefix(begins).split(")")[0]))
    assert more and all(has_default for _, has_default in more), f"{name}: {more}"


def test_every_promise_is_tried():
    assert len(PROMISED) == 43 and len({line.split("(")[0] for line in PROMISED}) == 43


@pytest.mark.parametrize("name", FIELDS)
def test_what_a_thing_holds_is_what_was_promised(name):
    kind = getattr(labsupport, name)
    fields = set(getattr(kind, "__dataclass_fields__", ())) | set(dir(kind))
    assert set(FIELDS[name].split()) <= fields


def test_the_constants_are_what_was_promised():
    assert (labsupport.EVERYONE, labsupport.RRF_K) == ("everyone", 60)
    assert isinstance(labsupport.EMPTY_ANSWER, str) and labsupport.EMPTY_ANSWER.strip()


def test_every_name_on_the_door_is_there_once():
    names = labsupport.__all__
    assert len(names) == len(set(names)) > 60
    for name in names:
        assert getattr(labsupport, name) is not None, name
    assert set(names) <= set(dir(labsupport))
    everything = run("from labsupport import *; import labsupport; print(set(labsupport.__all__) <= set(globals()))")
    assert everything == "True"


def test_a_name_that_is_not_there_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="'labsupport' has no attribute 'retrieve'"):
        labsupport.retrieve  # noqa: B018
    assert not hasattr(labsupport, "np")


def test_the_import_is_quick_and_loads_nothing_that_draws():
    code = ("import sys; from time import process_time as now; start = now(); import labsupport; took = now() - start;"
            f"print(took < 0.3, sorted(set({HEAVY}) & set(sys.modules)))")
    runs = [run(code) for _ in range(3)]
    assert all(said.endswith("[]") for said in runs), runs
    assert any(said.startswith("True") for said in runs), "a third of a second, on the quietest of three runs"


def test_a_whole_retrieval_loads_nothing_that_draws():
    code = ("import sys; from labsupport import AuthorizedRetriever, Document, Index, Principal, assemble_context, check_grounding;"
            "index = Index(tenant='t'); index.add(Document('d', 't', 'd', '# Leave\\n\\n16 weeks'));"
            "hits = AuthorizedRetriever(index).retrieve('leave', Principal('u', 't')).hits;"
            "prompt = assemble_context(budget_tokens=900, instructions='i', question='q', retrieved=hits);"
            "print(hits[0].chunk.text, '16 weeks' in prompt.text,"
            f"sorted(set({HEAVY}) & set(sys.modules)))")
    assert run(code) == "16 weeks True []"


def test_without_a_widget_library_everything_but_the_switch_is_there():
    """As on a machine that has numpy and a parser alone: each heavy library is refused, and the core does its work."""
    code = (f"import sys; sys.modules.update(dict.fromkeys({HEAVY}));"
            "import labsupport; missing = [];\n"
            "for name in labsupport.__all__:\n"
            "    try: getattr(labsupport, name)\n"
            "    except ImportError: missing.append(labsupport._ROOM_OF[name])\n"
            "print(sorted(set(missing)), labsupport.load_world('northline').retriever is not None)")
    said = run(code)
    assert said.endswith("True")
    rooms = set(re.findall(r"'([\w.]+)'", said))
    assert rooms <= {f"lesson.{room}" for room in ("switch", "two_worlds", "tables", "figures", "readers", "hits")}, rooms


def test_rooms_import_only_what_lies_below_them():
    """The core imports no lesson, no wrong design and no other engine."""
    seen = 0
    for path in sorted((ROOT / "labsupport").glob("*.py")):
        if path.name == "__init__.py":
            continue
        seen += 1
        imported = re.findall(r"^\s*(?:from|import) (labsupport[\w.]*)", path.read_text(encoding="utf-8"), re.M)
        above = ("labsupport.lesson", "labsupport.leaky", "labsupport.engines")
        assert not [name for name in imported if name.startswith(above)], path
    assert seen > 20
