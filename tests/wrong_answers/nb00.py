"""Notebook 00: what people write before they write the right thing, and words of the sentence that each must hear."""

RETURN = "def leaked(sloppy_hits, safe_hits, reader):\n    return "

WRONG = {
    "00.1": [
        ('reader = "eli"', "Eli, employee, may read"),
        ('reader = "everyone"', "EVERYONE is a group that a page can name"),
        ('reader = "admin"', "No principal 'admin' here. You can ask as: eli, mo."),
        ("reader = 7", "I cannot read 7. This exercise expects a name in quotes"),
    ],
    "00.2": [
        (RETURN + "{hit.chunk_id for hit in sloppy_hits}", "Eli may read it: returned is not the same as leaked."),
        (
            RETURN + "{hit.chunk_id for hit in sloppy_hits} - {hit.chunk_id for hit in safe_hits}",
            "is missing from the safe list only because five better chunks stood before it",
        ),
        (RETURN + "{sloppy_hits[0].chunk_id}", "closed chunks came back to Eli, you name 1"),
        (
            RETURN + '{hit.chunk_id for hit in sloppy_hits if "manager" in hit.chunk.label.acl}',
            "returned is not the same as leaked",
        ),
        (
            RETURN + '{hit.chunk_id for hit in sloppy_hits if hit.chunk.label.acl == {"manager"}}',
            "Mo may read it: returned is not the same as leaked.",
        ),
        (RETURN + "set()", "closed chunks came back to Eli, you name 0"),
        (RETURN + "sloppy_hits[0].nothing", "your function raised AttributeError"),
    ],
    "00.3": [
        (
            'question, asked_by = "How many weeks off are there for new parents?", "eli"',
            "Eli may read all of it. Try a word that a closed page uses",
        ),
        ('question, asked_by = "   ", "eli"', "A blank question is refused before any index sees it"),
        ('question, asked_by = "How are we rated in November?", "mo"', "It leaks only when the person who asks may not."),
        ('question, asked_by = "Which band am I in?", "eli"', "Your question holds the word 'band'"),
    ],
}
