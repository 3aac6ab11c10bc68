"""The hard facts in a sentence: numbers with their units, dates, clock times, codes. Read by rule, never by guess.

English notation: a comma groups, a point is the decimal mark, so `1,200` is 1200 and `1.200` is 1.2. Nothing is converted:
14 days are not two weeks, 80% is not 0.80, AED is not USD.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple


class Fact(NamedTuple):
    """One hard fact. `value` is canonical, so that `AED 250k` and `AED 250,000.00` are one; `text` is as it was written."""

    kind: str                   # "number", "date", "time" or "code"
    value: str | tuple          # digits; (year, month, day) with None for what is not said; minutes; the code, case-folded
    unit: str | None            # a currency, a unit of time, "%" …; None where none stands beside the number
    text: str


class Stated:
    """What a page states, ready to be asked: `holds(fact)`. A date also states its year, and its day without the year."""

    def __init__(self, text: str, words: Iterable[str]):
        self._units_of: dict[tuple, set[str | None]] = {}
        for fact in find_facts(text):
            self._units_of.setdefault(fact[:2], set()).add(fact.unit)
            if fact.kind == "date":
                year, month, day = fact.value
                for value in ((None, month, day), (year, month, None)):
                    self._units_of.setdefault(("date", value), {None})
                self._units_of.setdefault(("number", year), set()).add(None)
        # A table writes the unit once, in its header: beside a bare number it may stand anywhere on the page.
        self._units_named = {_units()[word] for word in words if word in _units()}

    def holds(self, fact: Fact) -> bool:
        """Is it stated, with this unit? A unit that the claim leaves open may be any."""
        units = self._units_of.get(fact[:2], ())
        if fact.unit is None:
            return bool(units)
        return any(unit.endswith(fact.unit) if unit else fact.unit.split()[-1] in self._units_named for unit in units)


_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = (r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|(?-i:May|MAY)|june?|july?|aug(?:ust)?|sept?(?:ember)?"
          r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)")
_DAY, _YEAR, _EDGE = r"\d{1,2}", r"\d{4}", r"(?<![\w.,-])"
_DATES = re.compile(rf"""
      {_EDGE}(?P<y1>{_YEAR})-(?P<m1>\d\d)-(?P<d1>\d\d)(?![\w-])
    | {_EDGE}(?P<d2>{_DAY})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m2>{_MONTH})\b\.?(?:,?\s+(?P<y2>{_YEAR})\b)?
    | \b(?P<m3>{_MONTH})\b\.?\s+(?P<d3>{_DAY})(?:st|nd|rd|th)?\b(?![.,]\d)(?:,?\s+(?P<y3>{_YEAR})\b)?
    | \b(?P<m4>{_MONTH})\b\.?,?\s+(?P<y4>{_YEAR})\b
    | {_EDGE}(?P<a>{_DAY})(?P<mark>[/.])(?P<b>{_DAY})(?P=mark)(?P<y5>{_YEAR})(?![\w/])
    """, re.VERBOSE | re.IGNORECASE)
_TIMES = re.compile(rf"{_EDGE}(\d{{1,2}})(?::([0-5]\d))?(?:\s?([ap])\.?m\b\.?)?(?![\w:])", re.IGNORECASE)
_SEPARATOR = r"[,'\u2019\u00a0\u2009\u202f]"                       # between groups of three digits; a blank after a currency only
_CURRENCIES = {"aed": "aed dh dhs dirham dirhams", "usd": "usd $ us$ dollar dollars", "eur": "eur € euro euros", "gbp": "gbp £",
               "chf": "chf", "sar": "sar", "inr": "inr", "jpy": "jpy ¥ yen", "cny": "cny"}
_MEASURES = {"%": "% percent pct", "second": "second seconds", "minute": "minute minutes min", "hour": "hour hours h hr hrs",
             "day": "day days", "week": "week weeks", "month": "month months", "quarter": "quarter quarters", "year": "year years"}
_SCALES = {"k": 3, "thousand": 3, "m": 6, "mn": 6, "million": 6, "bn": 9, "billion": 9}
_SMALL = {word: value for value, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen".split())}
_SMALL |= {word: 10 * tens for tens, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}


@cache
def _units() -> dict[str, str]:
    return {word: unit for table in (_CURRENCIES, _MEASURES) for unit, words in table.items() for word in words.split()}


def _either(words: Iterable[str]) -> str:
    return "(?:" + "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word))) + ")"


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Numbers in digits, numbers in words, and tokens with a digit that are no code: compiled when first needed."""
    money, measure = (_either(word for words in table.values() for word in words.split()) for table in (_CURRENCIES, _MEASURES))
    unit = rf"(?:{money}(?!\w|\s?\d)|(?:per\s?cent|{measure})(?!\w))"
    after = rf"(?:(?:\s*|-)(?P<unit>(?:(?:working|business|calendar|full|consecutive|paid)\s+)?{unit}))?"
    before = rf"(?:(?<![^\W_])(?P<money>{money})\s?|(?<![^\W_]))(?P<sign>(?<![\w.)-])-)?"
    whole = rf"(?P<whole>\d{{1,3}}(?:(?:{_SEPARATOR}|(?(money)[ ]|(?!)))\d{{3}})+(?!\d)|\d+)"
    digits = rf"{whole}(?:\.(?P<part>\d+))?(?P<share>[\u00bc-\u00be])?"
    scale = rf"(?:\s?(?P<scale>{_either(_SCALES)})(?![\w-]))?(?:st|nd|rd|th)?"
    number = before + digits + scale + after
    word = _either([*_SMALL, "hundred", "thousand", "million", "billion"])
    words = rf"(?<![\w-])(?P<words>{word}(?:(?:\s+and\s+|[\s-]+){word})*)(?![\w]){after}"
    plain = rf"(?:{money})?\d+(?:\.\d+)?(?:[\u00bc-\u00be]|{_either(_SCALES)}|st|nd|rd|th|-?{unit}|-\d+)?"
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in (number, words, plain))


def find_facts(text: str) -> list[Fact]:
    """The hard facts of a text, in no promised order. Time is linear in the text.

    Numbers: digits of any script, grouped or not, with `k`, `m`, `bn`, thousand, million or in words (`twelve`); a bare
    "one" is no number. Dates: ISO, written, `12/03/2026` where only one reading is possible. Codes: every token that
    mixes letters and digits or holds two hyphens or points, whole (`PMT-771` is not `PMT-7710`). Built in notebook 07.
    """
    facts: list[Fact] = []

    def take(pattern: re.Pattern[str], text: str, read: Callable[[re.Match[str]], tuple | None]) -> str:
        """Read every match into facts and blank it out, so that no part of it is read a second time."""
        def one(match: re.Match[str]) -> str:
            found = read(match)
            if found is None:
                return match.group()
            facts.append(Fact(*found, match.group().strip()))
            return " " * len(match.group())
        return pattern.sub(one, text)

    number, words, plain = _patterns()
    text = _plain_signs(text)
    text = take(_DATES, text, _date)
    text = take(_TIMES, text, _time)
    text = take(_CODES, text, lambda match: None if plain.fullmatch(match.group()) else ("code", match.group().casefold(), None))
    text = take(number, text, _number)
    take(words, text, _number_in_words)
    return facts


_CODES = re.compile(r"\d+(?:[./]\d+){2,}(?!\w)|\d+/\d+(?!\w)|(?<![\w-])(?=[\w.-]*\d)[^\W_]+(?:(?:-|\.(?=\d))[^\W_]+)*")


_SIGNS = {0x66B: ".", 0x66C: ",", 0x2010: "-", 0x2011: "-", 0x2212: "-", 0x66A: "%", 0xFF05: "%"}


def _plain_signs(text: str) -> str:
    """Digits of every script as 0-9, Arabic separators as ours, hyphens and minus as `-`; soft hyphens go."""
    if text.isascii():
        return text
    text = text.replace("\u00ad", "").translate(_SIGNS)
    return "".join(str(unicodedata.digit(c)) if c.isdecimal() else c for c in text)


def _date(match: re.Match[str]) -> tuple | None:
    part = match.groupdict()
    if part["a"]:
        day, month = sorted((part["a"], part["b"]), key=lambda n: int(n) <= 12) if part["mark"] == "/" else (part["a"], part["b"])
        if part["mark"] == "/" and int(day) <= 12 and day != month:
            return "code", match.group(), None                     # 03/12/2026 has two readings: only the same writing is the same
        year = part["y5"]
    else:
        year, month, day = (next((part[f"{name}{n}"] for n in "1234" if part.get(f"{name}{n}")), None) for name in "ymd")
        if not month.isdigit():
            month = 1 + next(n for n, name in enumerate(_MONTHS) if name.startswith(month[:3].lower()))
    if not 1 <= int(month) <= 12 or not 1 <= int(day or 1) <= 31:
        return None
    return "date", (year, int(month), int(day) if day else None), None


def _time(match: re.Match[str]) -> tuple | None:
    hour, minute, half = match.groups()
    if minute is None and half is None or int(hour) > 23:
        return None
    hours = int(hour) % 12 + 12 * (half in "pP") if half else int(hour)
    return "time", str(60 * hours + int(minute or 0)), None


def _number(match: re.Match[str]) -> tuple:
    whole, part = re.sub(r"\D", "", match["whole"]), match["part"] or ""
    if match["share"]:
        part = str(unicodedata.numeric(match["share"]))[2:]
    shift = _SCALES.get((match["scale"] or "").lower(), 0)
    if match["scale"] in ("m", "M") and not match["money"]:
        shift, unit = 0, "m"                                        # 5m without a currency may be metres
    else:
        unit = _unit(match["unit"]) or _unit(match["money"])
    return "number", _canonical(whole, part, shift, bool(match["sign"])), unit


def _canonical(whole: str, part: str, shift: int, negative: bool) -> str:
    """Decimal digits without zeros that say nothing. Text, not int: a number of any length, in linear time."""
    part = part.ljust(shift, "0")
    whole, part = (whole + part[:shift]).lstrip("0") or "0", part[shift:].rstrip("0")
    return ("-" if negative else "") + whole + ("." + part if part else "")


def _number_in_words(match: re.Match[str]) -> tuple | None:
    words = [word for word in re.split(r"[\s-]+", match["words"].lower()) if word != "and"]
    if words == ["one"] and not match["unit"]:
        return None
    total = group = 0
    for word in words[:20]:
        if word == "hundred":
            group = max(group, 1) * 100
        elif word in _SCALES:
            total, group = total + max(group, 1) * 10 ** _SCALES[word], 0
        else:
            group += _SMALL[word]
    return "number", str(total + group), _unit(match["unit"])


def _unit(text: str | None) -> str | None:
    """The canonical unit; working and calendar days are two, what else describes a unit is left to the words."""
    if not text:
        return None
    *describing, unit = re.sub(r"per\s?cent", "%", text.lower()).split()
    kind = {"working": "working ", "business": "working ", "calendar": "calendar "}.get(describing[0] if describing else "", "")
    return kind + _units()[unit]
