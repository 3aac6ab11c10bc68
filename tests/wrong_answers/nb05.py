"""Notebook 05: what people write before they write the right thing, and words of the sentence that each must hear."""

LEVELS = 'LEVELS = ("public", "internal", "confidential", "restricted")\nEVERYONE = "everyone"\n\n'


def _can_read(tenant="label.tenant == principal.tenant",
              cleared="LEVELS.index(label.classification) <= LEVELS.index(principal.max_classification)",
              barrier="(label.barrier is None or label.barrier in principal.barriers)",
              named="bool(label.acl & (principal.groups | {EVERYONE}))"):
    return LEVELS + f"def my_can_read(principal, label):\n    return {tenant} and {cleared} and {barrier} and {named}"


TEST = "def leak_test(design, a, b):\n"

WRONG = {
    "05.1": [
        ('starving = {"post-12", "dense-only"}', "post-200 starves too: 250 closed pages match better"),
        ('starving = {"post-12", "post-200", "dense-only", "over-fetch"}', "slow and measurable, not starved"),
        ('starving = {"post-12", "post-200"}', "the keyword leg was unfiltered"),
        ('starving = {"post-12", "post-200", "dense-only", "filter-first"}', "it never saw them"),
        ('starving = {"post-200", "dense-only"}', "post-12 is the design of the incident"),
        ('starving = {"pre-filter"}', "is none of the five designs"),
        ("starving = 12", "This exercise expects a set of names"),
    ],
    "05.2": [
        (_can_read(cleared="label.classification <= principal.max_classification"), "as clearance it stands above"),
        (_can_read(barrier="label.barrier in principal.barriers"), "yours asks whether None is among her barriers"),
        (_can_read(named="label.acl <= (principal.groups | {EVERYONE})"), "Eli is in one of them; one is enough"),
        (_can_read(named="bool(label.acl & principal.groups)"), "`walk-club` names EVERYONE"),
        (_can_read(barrier='(label.barrier is None or label.barrier in principal.barriers or principal.max_classification == "restricted")'),
         "is outside *advisory*; yours lets her read `deal-falcon`"),
        (_can_read(named="True"), "`bonus-heads` names the heads and nobody else"),
        (_can_read(tenant="True"), "same id, other tenant"),
    ],
    "05.3": [
        (TEST + "    def ids(index):\n        return [h.chunk_id for q in ('falcon', 'Acme Trading FZE') for h in design(index).retrieve(q, ines).hits]\n"
         "    return ids(a) != ids(b)", "It is a score that moved"),
        (TEST + "    hit, = design(b).lexical('falcon', principal=ines, limit=1)\n    return hit.score != counted['falcon']",
         "Compare two worlds, not today with yesterday."),
        (TEST + "    def seen(index):\n        return design(index).retrieve('PMT-771', ines)\n    return seen(a) != seen(b)",
         "Silent on CutThenFilter: your questions match nothing hidden"),
        (TEST + "    return True", "Alarms on the safe design. Compare what Ines sees"),
    ],
}
