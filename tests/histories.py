"""A page's life for the tests of freshness: four versions, four labels, jobs that carry them, and all that can be seen."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from labsupport.index import Index
from labsupport.ingestion import CorpusScope, IngestJob, ingest
from labsupport.model import EVERYONE, Document, Principal

TEXTS = {  # version 3 is version 1 to the letter
    1: "# Leave\n\nhandbook twelve weeks\n\n## Two blocks\n\nhandbook split\n\n## Form\n\nhandbook sign",
    2: "# Leave\n\nhandbook sixteen weeks\n\n## Notice\n\nhandbook tell",
    3: "# Leave\n\nhandbook twelve weeks\n\n## Two blocks\n\nhandbook split\n\n## Form\n\nhandbook sign",
    4: "handbook",
}
ACLS = [{"employee"}, {"employee", "manager"}, {"manager"}, {EVERYONE}]
HISTORY = [(1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (4, 2), (4, 3)]
"""(version, label tick): text and label change, and neither goes back. `ACLS[tick]` is the label."""

QUESTION = "handbook twelve split notice"
SCOPE = CorpusScope(owner="tests", included=["a", "b"])
EMPLOYEE, MANAGER = (Principal(name, "north", groups=[name]) for name in ("employee", "manager"))
SOUTH = Principal("south", "south", groups=["employee", "manager"])


def page(doc_id, version, tenant="north", acl=("employee",)):
    return Document(doc_id, tenant, doc_id, TEXTS[version], acl=acl, version=version, updated_tick=version)


def job(doc_id, version, tick, tenant="north"):
    return IngestJob(doc_id, version, f"{version}", ACLS[tick], tenant=tenant, label_tick=tick, updated_tick=version)


def fetch(source, *, uploader):
    return TEXTS[int(source)]


def run(index, one):
    return ingest(index, one, fetch=fetch, scope=SCOPE)


def readable(index):
    """All that three readers can see of an index, on both legs, scores to the last bit."""
    asked = ((reader, leg) for reader in (EMPLOYEE, MANAGER, SOUTH) for leg in (index.lexical, index.dense))
    return {(reader.user_id, leg.__name__): [(hit.chunk, hit.score) for hit in leg(QUESTION, principal=reader, limit=None)]
            for reader, leg in asked}


def seen(index):
    """What readers see, and what the operator's books say of each document."""
    books = {(tenant, doc_id): state
             for tenant, namespace in index._namespaces.items() for doc_id, state in namespace.documents.items()}
    return readable(index), books


def restarted(index):
    with TemporaryDirectory() as folder:
        index.save(Path(folder) / "index")
        return Index.load(Path(folder) / "index")
