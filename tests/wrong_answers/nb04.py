"""Notebook 04: what people write before they write the right thing, and words of the sentence that each must hear."""

KEY = "def cache_key(principal, query, policy, now_tick, generations):\n    return "
TEST = "def wall_test(design):\n"

WRONG = {
    "04.1": [
        ('crossing_refactors = {"A"}', "A renames a variable. I ran"),
        ('crossing_refactors = {"B"}', "C too: it filters, then a fallback fetches sections by id"),
        ('crossing_refactors = {"C"}', "B too: the check moved"),
        ('crossing_refactors = {"A", "B", "C"}', "A is harmless. A test that flags harmless changes"),
        ('crossing_refactors = {"D"}', "'D' is none of the refactors"),
        ("crossing_refactors = 2", "This exercise expects a set of letters"),
    ],
    "04.2": [
        (KEY + "query", "Wes got Rita's answer"),
        (KEY + "(principal.tenant, query, policy, now_tick)", "Ines got Wes's answer, inside one tenant"),
        (KEY + "(principal.tenant, policy, now_tick, generations)", "Two questions share one answer"),
        (KEY + "(principal, query, now_tick, generations)", "the policy decides too"),
        (KEY + "(principal, query, policy, generations)", "what is stale depends on the time"),
        (KEY + "(principal, query, policy, now_tick)", "its generation moved from 3 to 4"),
        (KEY + "[principal.tenant, query, policy, now_tick, generations]", "a key must be hashable, such as a tuple"),
        (KEY + 'principal.user_id + query + str(policy) + str(now_tick) + "".join(str(g) for _, g in generations)', "keep a tuple, or lengths"),
        (KEY + "object()", "equal inputs need equal keys"),
        (KEY + "None", "Your key is None for everybody"),
    ],
    "04.3": [
        (TEST + "    hits = design().retrieve('wire fee', ines).hits\n    return any(h.chunk.doc_id == 'arrears-2210' for h in hits)",
         "Green on both. A test with one tenant"),
        (TEST + "    hits = design(label_check=False).retrieve('wire fee', rita).hits\n    return any(h.chunk.tenant == 'retail' for h in hits)",
         "Red on the safe design as well: Rita is allowed"),
        (TEST + "    hits = [h for q in ('wire fee', 'Acme Trading director') for h in design().retrieve(q, wes).hits]\n"
         "    return any(h.chunk.tenant != wes.tenant for h in hits)", "Switch the label check off in your test"),
        (TEST + "    return design(label_check=False).no_such_door", "your function raised AttributeError"),
    ],
}
