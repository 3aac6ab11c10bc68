"""Notebook 03: what people write before they write the right thing, and words of the sentence that each must hear."""


def _three(a="Fraction(1, 61) + Fraction(1, 69)", b="Fraction(1, 62) + Fraction(1, 61)", fees="Fraction(1, 63)", first='"PMT-717"'):
    return f'three_sums = {{"PMT-771": {a}, "PMT-717": {b}, "fees": {fees}}}\nfirst_page = {first}'


def _rrf(pages="dict.fromkeys(page for page, score in ranking)", start="1", share="Fraction(1, k + rank)",
         order="sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))"):
    return ("def my_rrf(rankings, k=60):\n    sums = {}\n    for ranking in rankings:\n"
            f"        for rank, page in enumerate({pages}, start={start}):\n"
            f"            sums[page] = sums.get(page, 0) + {share}\n"
            f"    return {order}")


SCORES = ("def my_rrf(rankings, k=60):\n    sums = {}\n    for ranking in rankings:\n        for page, score in ranking:\n"
          "            sums[page] = sums.get(page, 0) + score\n"
          "    return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))")
PHANTOM = ("def my_rrf(rankings, k=60):\n    ids = [[page for page, score in ranking] for ranking in rankings]\n"
           "    pages = dict.fromkeys(page for ranking in ids for page in ranking)\n"
           "    sums = {p: sum(Fraction(1, k + 1 + (r.index(p) if p in r else len(r))) for r in ids) for p in pages}\n"
           "    return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))")
LAST = ("def my_rrf(rankings, k=60):\n    sums = {}\n    for ranking in rankings:\n"
        "        for page, rank in {page: rank for rank, (page, score) in enumerate(ranking, 1)}.items():\n"
        "            sums[page] = sums.get(page, 0) + Fraction(1, k + rank)\n"
        "    return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))")
BOTH_ONLY = ("def my_rrf(rankings, k=60):\n    ids = [[page for page, score in ranking] for ranking in rankings]\n"
             "    pages = [page for page in ids[0] if all(page in ranking for ranking in ids)]\n"
             "    sums = {page: sum(Fraction(1, k + 1 + ranking.index(page)) for ranking in ids) for page in pages}\n"
             "    return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))")

WRONG = {
    "03.1": [
        ("smallest_k = 60", "Works at 60, and at 3 already."),
        ("smallest_k = 2", "k = 2: A 0.4167, B 0.4000. One more."),
        ("smallest_k = 1", "k = 1: A 0.5909, B 0.5000. A first place takes all here."),
        ("smallest_k = Fraction(13, 5)", "At 13/5 the two are equal"),
        ("smallest_k = 0", "k is a whole number from 1"),
        ('smallest_k = "B"', "is no number"),
    ],
    "03.2": [
        (_three(a="Fraction(1, 60) + Fraction(1, 69)"), "Ranks start at 1: first place is 1/61, not 1/60."),
        (_three(fees="Fraction(1, 63) + Fraction(1, 70)"), "an absent page adds nothing"),
        (_three(a="(Fraction(1, 61) + Fraction(1, 69)) / 2", b="(Fraction(1, 62) + Fraction(1, 61)) / 2"), "You divided by two."),
        (_three(first='"PMT-771"'), "First by words is not first"),
        (_three(first='"fees"'), "The largest of them does not belong to fees"),
        (_three(a="10", b="3", fees="3"), "PMT-771 is 1st and 9th: 1/61 + 1/69. Yours is 10"),
        ('three_sums = {"PMT-771": 0.0309}\nfirst_page = "PMT-717"', "PMT-717 has no sum yet"),
        ('three_sums = 0.0309\nfirst_page = "PMT-717"', "This exercise expects three sums"),
    ],
    "03.3": [
        (SCORES, "I multiplied one list's scores by 10; your order changed from a, b, d, c to a, b, c, d."),
        (_rrf(order="sorted(sums.items(), key=lambda pair: -pair[1])"), "yours says b first when b is fed first"),
        (_rrf(pages="[page for page, score in ranking]"), "`m` stands twice in list 1: yours 0.0325, one list can give it only 0.0164."),
        (LAST, "its best place counts"),
        (_rrf(start="0"), "Ranks start at 1: a first place is worth 1/61 = 0.0164, yours gives 0.0167."),
        (_rrf(share="Fraction(1, k + rank) / len(rankings)"), "You divided by the number of lists."),
        (PHANTOM, "you gave it a rank on the list that does not hold it"),
        (BOTH_ONLY, "stands on one list and is gone from yours"),
        (_rrf(share="Fraction(1, 60 + rank)"), "Yours does not listen to k"),
        (_rrf(order="[page for page, total in sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))]"), "Return pairs (id, fused score)"),
        (_rrf(order="sorted(sums.items(), key=lambda pair: (pair[1], pair[0]))"), "Best first, please"),
        (_rrf(order="sorted(sums.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)"), "The id decides, ascending"),
    ],
    "03.4": [
        ('two_rankings = [["a", "b", "c"], ["b", "c", "a"]]', "All three scores differ"),
        ('two_rankings = [["a", "b", "c"], ["a", "b", "c"]]', "The same list twice. No tie"),
        ('two_rankings = [["a", "b", "c"], ["d", "e", "f"]]', "Ties come from equal rank *pairs*: (1, 3) and (3, 1)."),
        ('two_rankings = [["a", "b"], ["b", "a"]]', "Two lists of three ids each, please; I count 2, 2."),
        ('two_rankings = [["a", "a", "c"], ["c", "a", "b"]]', "One id stands twice in a list"),
        ("two_rankings = 3", "This exercise expects two lists of three ids"),
    ],
}
