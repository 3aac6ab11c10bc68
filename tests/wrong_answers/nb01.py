"""Notebook 01: what people write before they write the right thing, and words of the sentence that each must hear."""

STARTS = "def window_starts(n_words, size, overlap):\n"
CHUNKS = (
    "import re\n\ndef my_chunks(text):\n    words = list(re.finditer(r'\\S+', text))\n"
    "    windows = [words[first:first + 8] for first in range(0, len(words), 8)]\n"
)
JOINED = "    joined = [' '.join(word.group() for word in window) for window in windows]\n"

WRONG = {
    "01.1": [
        ("smallest = 64", "2 of 12. You may have counted whole rows, 10"),
        ("smallest = 96", "6 of 12. The table is 129 tokens long"),
        ("smallest = 128", "no window starts where the table starts"),
        ("smallest = 256", "try the next below"),
        ("smallest = 129", "Take one of 64, 96"),
        ('smallest = "fees"', "This exercise expects one of the sizes"),
    ],
    "01.2": [
        (STARTS + "    return list(range(0, n_words, size))", "straddle a border in yours and are whole in no window"),
        (STARTS + "    starts = [0]\n    while starts[-1] + size < n_words:\n        starts.append(starts[-1] + size - overlap)\n    return starts",
         "size 4, overlap 4: your list never ends"),
        (STARTS + "    return list(range(0, n_words, max(1, size - overlap)))", "holds nothing that the one before it did not"),
        (STARTS + "    return list(range(0, max(1, n_words - size), size - overlap))", "are in no window"),
        (STARTS + "    return list(range(1, n_words + 1, max(1, size - overlap)))", "the first begins at word 0"),
        (STARTS + "    return [(s, s + size) for s in range(0, n_words, size)]", "return one number a window"),
    ],
    "01.3": [
        (CHUNKS + "    quotes = [text[w[0].start():w[-1].end()] for w in windows]\n    return [(text.find(q), text.find(q) + len(q), q) for q in quotes]",
         "The sentence stands twice in this page; yours points at the first one"),
        (CHUNKS + JOINED + "    return [(w[0].start(), w[0].start() + len(q), q) for w, q in zip(windows, joined)]",
         "holds an empty line, yours a blank"),
        (CHUNKS.replace("', text))", "', text.strip()))") + "    spans = [(w[0].start(), w[-1].end()) for w in windows]\n    return [(s, e, text[s:e]) for s, e in spans]",
         "every offset of yours is 2 early"),
        (CHUNKS + JOINED + "    return [(text.find(q), text.find(q) + len(q), q) for q in joined]", "`find` did not find it"),
        (CHUNKS + "    return [(w[0].start(), w[-1].start(), text[w[0].start():w[-1].start()]) for w in windows]", "its 8 words end in"),
        (CHUNKS + JOINED + "    return [(w[0].start(), w[-1].end(), q) for w, q in zip(windows, joined)]", "holds a line break: `text[start:end]` has 33 characters, your chunk 32."),
        (CHUNKS + "    return [(w[0].start(), w[-1].end(), text[w[0].start():w[-1].end()]) for w in windows[:-1]]", "yours gives"),
    ],
    "01.4": [
        ('page = "# Title\\n\\n## A section\\n\\nText"', "CommonMark also says heading"),
        ('page = "\\\\## not a heading"', "the line does not begin with `## `"),
        ('page = "~~~\\none\\ntwo\\nthree\\nfour\\n## five\\n~~~"', "Correct, but 7 lines"),
        ('page = "no hashes at all"', "no line has `## `"),
        ('page = "#hashtag\\n##hashtag"', "a blank must follow the two hashes"),
        ("page = 4", "This exercise expects a text"),
    ],
}
