"""Notebook 02: what people write before they write the right thing, and words of the sentence that each must hear."""


def _first_on(**said):
    """The right answer to 02.1 with some places changed."""
    right = {"pmt": "bm25", "time": "dense", "home": "dense", "maternity": "dense", "wire": "both", "zebra": "neither"} | said
    asked = {"pmt": "PMT-771 alert closed?", "time": "time off for a new child", "home": "How long can I stay home with my newborn",
             "maternity": "maternity", "wire": "wire fee", "zebra": "zebra xylophone"}
    return f"first_on = {({asked[key]: answer for key, answer in right.items()})!r}"


IDF = "from math import log\n\ndef my_idf(word, pages):\n    n, df = len(pages), sum(word in page for page in pages)\n    return "
NEEDS = "def needs_rewrite(question, history):\n    "

WRONG = {
    "02.1": [
        (_first_on(pmt="dense"), "Two digits change places, and the vector is nearly the same"),
        (_first_on(pmt="both"), "Both, for the reference? Dense put `pmt-717` first"),
        (_first_on(pmt="neither"), "BM25's list for 'PMT-771 alert closed?': pmt-771"),
        (_first_on(time="both"), "The leave page is there for the word `for`: take that word out and it is gone"),
        (_first_on(time="bm25"), "The leave page is at place 3, not first"),
        (_first_on(home="bm25"), "remote, remote, remote"),
        (_first_on(maternity="both"), "BM25's list for 'maternity': empty"),
        (_first_on(wire="neither"), "Both lists start with `fees`. A question can be easy."),
        (_first_on(zebra="dense"), "A model always finds something; no page is right"),
        (_first_on(zebra="hash"), "write bm25, dense, both or neither"),
        ('first_on = {"maternity": "dense"}', "Nothing is said about 'PMT-771 alert closed?'"),
        ('first_on = "bm25"', "This exercise expects bm25, dense, both or neither"),
    ],
    "02.2": [
        (IDF + "log(n / df)", "yours 0.0, the formula 0.0163. And where no chunk holds the word, yours divides by zero"),
        (IDF + "log((n - df + 0.5) / (df + 0.5))", "yours is -4.11. A chunk that holds the word would rank below one that does not."),
        (IDF.replace("sum(word in page for page in pages)", "sum(page.count(word) for page in pages)") + "log((n - df + 0.5) / (df + 0.5) + 1)",
         "'fee' stands 14 times in 2 chunks. df counts chunks: 2."),
        (IDF.replace("import log", "import log10") + "log10((n - df + 0.5) / (df + 0.5) + 1)", "It takes the natural logarithm."),
        (IDF + "log((n - df) / (df + 0.5) + 1)", "one half is added to each of the two counts"),
        (IDF + "max(0.0001, log((n - df + 0.5) / (df + 0.5)))", "A word in 30 of 30 chunks: yours 0.0001"),
        (IDF + "log((n - df + 0.5) / df + 1)", "A word in 30 of 30 chunks: yours 0.0165"),
    ],
    "02.3": [
        (NEEDS + "return True", "'PMT-771 status' came back without PMT-771"),
        (NEEDS + "return len(question.split()) < 5", "'PMT-771 status' is short and complete."),
        (NEEDS + "return bool(history) and bool({'it', 'that', 'this', 'they'} & set(tokenize(question)))",
         "'what about the refund window?' has no pronoun and still needs its history"),
        (NEEDS + "return False", "finds every held payment but the one that was meant"),
        (NEEDS + "return question.lower().startswith(('what', 'how', 'and', 'is it', 'does that')) or 'it?' in question", "stands alone."),
        (NEEDS + "return 'it' in question or 'about' in question or 'that' in question or question.startswith('And')",
         "compare words, not letters"),
        (NEEDS + "return bool({'it', 'that', 'about', 'and'} & set(tokenize(question)))", "there is no history to take the payment from"),
        (NEEDS + "return bool(history) and question.lower().startswith(('what about', 'and '))", "without the question before, nobody knows what `it` is"),
    ],
    "02.4": [
        ('disguise = "PMT\\N{NON-BREAKING HYPHEN}771"', "U+2011 NON-BREAKING HYPHEN: our tokenizer reads it as a hyphen, or not at all"),
        ('disguise = "PMT-\\N{SOFT HYPHEN}771"', "U+00AD SOFT HYPHEN: our tokenizer reads it as a hyphen, or not at all"),
        ('disguise = "\\uff30\\uff2d\\uff34-\\uff17\\uff17\\uff11"', "NFKC folds those: still found at place 1."),
        ('disguise = "pmt-771"', "Tokens are case-folded: still found at place 1."),
        ('disguise = "PMT-771"', "That is the reference as it stands"),
        ('disguise = "PMT-772"', "A person reads another payment. That is a different question, not a disguise."),
        ('disguise = "the held payment"', "'the held payment' does not read as PMT-771"),
        ('disguise = ""', "'' does not read as PMT-771"),
        ("disguise = 771", "I cannot read 771"),
    ],
}
