"""Notebook 07: what people write before they write the right thing, and words of the sentence that each must hear."""

SIX = {"A": "number-mismatch", "B": "low-overlap", "C": "negation", "D": "supported", "E": "supported", "F": "abstained"}


def _six(**other):
    return f"reasons = {SIX | other}"


QUOTE = "def quote_ok(hits, quote):\n    "
TWO = "len(quote.split()) >= 2 and "

WRONG = {
    "07.1": [
        (_six(A="supported"), "16 stands in the source, 12 does not: number-mismatch"),
        (_six(B="invented"), "'invented' is none of the reasons"),
        (_six(B="negation"), "which means *not verified*, not false"),
        (_six(C="supported"), "one word turned it round: negation"),
        (_six(D="negation"), "the page says *not* as well"),
        (_six(E="number-mismatch"), "the check does not tie them to a row"),
        (_six(F="low-overlap"), "An honest “does not say” is abstained"),
        ('reasons = {"A": "number-mismatch"}', "No reason for B, C, D, E, F"),
        ('reasons = "supported"', "This exercise expects a reason for each letter"),
    ],
    "07.2": [
        ("threshold = 0.6", "'12 weeks' passes with 5 of 6"),
        ("threshold = 0.9", "15 of 16 words: 'AED 150,000' passes at 0.94"),
        ("threshold = 1.0", "honest paraphrases are refused with them. 4 of 5 swapped rows pass"),
        ("threshold = 90", "A threshold is a share in (0, 1], or None"),
        ('threshold = "high"', "This exercise expects a number in (0, 1], or None"),
    ],
    "07.3": [
        (QUOTE + "return any(quote in hit.chunk.text for hit in hits)", "One word is in too many pages to be evidence"),
        (QUOTE + "return len(quote.split()) != 1 and any(quote in hit.chunk.text for hit in hits)", "The empty quote is inside every text"),
        (QUOTE + "return " + TWO + "any(quote.lower() in hit.chunk.text.lower() for hit in hits)", "'HELD' for 'held': not what the page says"),
        (QUOTE + "return " + TWO + "quote in ' '.join(hit.chunk.text for hit in hits)", "Nobody wrote that sentence"),
        (QUOTE + "return " + TWO + "any(all(word in hit.chunk.text for word in quote.split()) for hit in hits)", "and nowhere in this order"),
        (QUOTE + "return any(quote == hit.chunk.text for hit in hits)", "stands in a page letter for letter, and yours says no"),
        (QUOTE + "return " + TWO + "any(quote in chunk.text for chunk in bank.chunks)", "Nothing was returned, and yours finds"),
    ],
    "07.4": [
        ('false_claim = "Amendment AED 76"', "Caught: number-mismatch. Not in the chunk: AED 76"),
        ('false_claim = "An amendment is not AED 75."', "Caught: negation"),
        ('false_claim = "An amendment is AED 75."', "Supported, and rightly: the table says so."),
        ('false_claim = "Amendment AED 75, charged per change by telephone."', "and not 'telephone': that is the other hole of Move 3"),
        ('false_claim = "Weekend transfers are handled by courier."', "Caught: low-overlap"),
        ('false_claim = "Fees are charged in dirhams."', "I cannot tell whether it is false"),
        ('false_claim = "Amendment AED 120 and recall of a payment AED 75."', "That is the sentence of Move 3"),
        ("false_claim = 75", "This exercise expects a claim about the fee table, as text"),
    ],
}
