"""The two doors: what may come in as a query, what may go out as an answer, and how a log remembers a query.

Nothing here decides who may read what: that is `can_read`, and it never sees the question.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import blake2b

from labsupport.errors import QueryRefused
from labsupport.model import Chunk, Hit

EMPTY_ANSWER = "I found no page that answers this question."
"""The one answer to a search without hits: the same sentence whether a closed page exists or not. Met in notebook 09."""

MAX_QUERY_CHARS = 4_000
"""About a thousand tokens. A longer text is a document that was pasted, not a question."""

LAB_KEY = b"authorized-retrieval-lab: fixed, public, for teaching only"
"""Fixed, so that outputs agree on every machine. A production key is secret and is rotated."""


def keyed_hash(text: str, *, key: bytes = LAB_KEY) -> str:
    """What a log keeps of a query: 32 hex digits of BLAKE2b with a key, over the text as it was typed.

    A plain hash of a short question can be guessed; a keyed one cannot without the key. Equal questions still have
    equal hashes. `key` holds 1 to 64 bytes. Built in notebook 09.
    """
    if not isinstance(text, str):
        raise TypeError(f"keyed_hash needs text, got {type(text).__name__}")
    if not 1 <= len(key) <= 64:
        raise ValueError(f"key must hold 1 to 64 bytes, got {len(key)}; without a key the hash can be guessed")
    return blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=16).hexdigest()


# --- in -------------------------------------------------------------------------------------------------------------

def check_query(text: str) -> str:
    """The query as it was typed, or `QueryRefused` with a message that asks to mend it and never repeats it.

    Refused: blank; over `MAX_QUERY_CHARS` characters; holding a payment card number or a secret key. A query without
    any token (`???`) is legal and finds nothing. Built in notebook 09.
    """
    if not isinstance(text, str):
        raise TypeError(f"a query must be text, got {type(text).__name__}")
    if len(text) > MAX_QUERY_CHARS:
        raise QueryRefused(f"the query is {len(text)} characters long; ask in at most {MAX_QUERY_CHARS}")
    if is_blank(text):
        raise QueryRefused(f"the query is blank ({len(text)} characters, none of them visible); write a question")
    for what, found in (("a payment card number", has_card_number), ("a secret key", has_secret_key)):
        if found(text):
            raise QueryRefused(f"the query holds {what}; remove it and ask again (the query was not stored)")
    return text


def is_blank(text: str) -> bool:
    """Is nothing in it visible: only blanks, controls, byte-order marks and other characters without a shape?"""
    return all(unicodedata.category(character)[0] in "ZC" for character in text)


_BLANK, _DASH = r"[^\S\r\n]", "[-\u2010-\u2013\u2212]"
_DIGIT_RUN = re.compile(rf"(?<![^\W_])(?<!\d[.,])\d+(?:(?:{_BLANK}{{1,2}}|{_BLANK}?{_DASH}{_BLANK}?)\d+)*(?![^\W_])")
_ISO_DATE = re.compile(r"(?<![\d-])(?:19|20)\d\d-[01]\d-[0-3]\d(?![\d-])")
_IBAN_HEAD = re.compile(r"(?<![^\W_])[A-Z]{2}\d\d(?= ?[A-Z0-9])")
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_CARD_LAYOUTS = ((4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3))


def has_card_number(text: str) -> bool:
    """Does the text hold 13 to 19 digits, blanks or hyphens between them, whose last digit is the Luhn check digit?

    A run is taken whole. Only groups as printed on a card are looked for inside a longer row of groups, and never where
    the row goes on in fours: that is an account number. IBANs with valid check digits and ISO dates are left out.
    Built in notebook 09 (exercise 09.2).
    """
    text = _ISO_DATE.sub(" | ", _without_ibans(text.translate(_INVISIBLE)))
    return any(_row_holds_card(re.findall(r"\d+", run.group())) for run in _DIGIT_RUN.finditer(text))


def _row_holds_card(groups: list[str]) -> bool:
    if _is_card("".join(groups)) or any(map(_is_card, groups)):
        return True
    sizes = tuple(map(len, groups))
    for layout in _CARD_LAYOUTS:
        for start in range(len(groups) - len(layout) + 1):
            stop = start + len(layout)
            goes_on = layout != (4, 6, 5) and (4 in sizes[stop:stop + 1] or 4 in sizes[max(start - 1, 0):start])
            if sizes[start:stop] == layout and not goes_on and _is_card("".join(groups[start:stop])):
                return True
    return False


def _is_card(digits: str) -> bool:
    """Luhn's check (ISO/IEC 7812-1): from the right, every second digit doubled, its digits added; the sum ends in 0."""
    if not 13 <= len(digits) <= 19:
        return False
    values = [unicodedata.digit(digit) for digit in reversed(digits)]
    return (sum(values[::2]) + sum(sum(divmod(2 * value, 10)) for value in values[1::2])) % 10 == 0


def _without_ibans(text: str) -> str:
    """Cut out account numbers whose two check digits are right (ISO 13616, remainder 1 modulo 97)."""
    kept, done = [], 0
    for head in _IBAN_HEAD.finditer(text):
        if head.start() < done:
            continue
        words = re.compile(r"(?: ?[A-Z0-9]{1,30}(?![^\W_]))").finditer(text, head.end(), head.end() + 45)
        end = head.end()
        for word in words:
            if word.start() != end:
                break
            end = word.end()
            iban = text[head.start():end].replace(" ", "")
            if 15 <= len(iban) <= 34 and int("".join(str(int(c, 36)) for c in iban[4:] + iban[:4])) % 97 == 1:
                kept += [text[done:head.start()], " | "]
                done = end
    return "".join(kept) + text[done:]


_SECRET_KEY = re.compile(r"""
      -----BEGIN\ [A-Z0-9 ]*PRIVATE\ KEY                                      # a PEM or PGP block
    | (?<![A-Za-z0-9])(?:
          A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])                     # Amazon Web Services
        | gh[pousr]_[A-Za-z0-9]{16,} | github_pat_[A-Za-z0-9_]{16,}           # GitHub
        | glpat-[A-Za-z0-9_-]{16,}                                            # GitLab
        | sk-(?:[A-Za-z0-9]+-){0,3}(?:(?=[A-Za-z_]*\d)[A-Za-z0-9_]{16,}|[A-Za-z0-9_]{24,})   # model vendors
        | [sr]k_(?:live|test)_[A-Za-z0-9]{10,} | whsec_[A-Za-z0-9]{16,}       # Stripe
        | xox[abeoprs]-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{16,}             # Slack
        | AIza[A-Za-z0-9_-]{30,} | ya29\.[A-Za-z0-9_-]{16,} | GOCSPX-[A-Za-z0-9_-]{16,}      # Google
        | hf_[A-Za-z0-9]{30,} | npm_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_-]{30,}               # package and model hubs
        | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} | dop_v1_[a-f0-9]{32,}   # SendGrid, DigitalOcean
        | eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}       # a signed web token
      )""", re.VERBOSE)


def has_secret_key(text: str) -> bool:
    """Does the text hold a key that its prefix gives away, or a private key block? Never just "long and random".

    A legal entity identifier, a hash or a token of an unknown vendor passes: the check knows prefixes, not secrets.
    """
    return _SECRET_KEY.search(text.translate(_INVISIBLE)) is not None


# --- out ------------------------------------------------------------------------------------------------------------

def returned_chunks(hits: Iterable[Hit]) -> dict[str, Chunk]:
    """What a search returned for this principal, best first, by chunk id: the only thing that an answer may cite.

    Raises `TypeError` for what is no hit on a chunk, `ValueError` for an id that comes twice: a mark must name one text.
    """
    chunks: dict[str, Chunk] = {}
    for hit in hits:
        if not isinstance(hit, Hit) or not isinstance(hit.chunk, Chunk):
            raise TypeError(f"hits must hold a Hit with its Chunk, got {hit!r}")
        if hit.chunk_id in chunks:
            raise ValueError(f"hits must hold each chunk once, got {hit.chunk_id!r} twice")
        chunks[hit.chunk_id] = hit.chunk
    return chunks


def clean_answer(text: str, hits: Iterable[Hit]) -> str:
    """The answer that may leave: without tool-call syntax, and without a citation mark that these hits do not hold.

    A mark is `[chunk_id]`, `[id, id]` or a written-out citation; it stays only if it is, letter for letter, one that was
    returned for this principal. Any other single word in brackets is taken for a mark and goes; a phrase in brackets
    stays. Without hits, or with nothing left, the answer is `EMPTY_ANSWER`. Marks are checked, statements are not: that
    is `check_grounding`. Built in notebook 09.
    """
    if not isinstance(text, str):
        raise TypeError(f"an answer must be text, got {type(text).__name__}")
    chunks = returned_chunks(hits)
    if not chunks:
        return EMPTY_ANSWER
    known = chunks.keys() | {chunk.citation() for chunk in chunks.values()}
    while (cleaned := _without_foreign_marks(_without_tool_calls(text), known)) != text:
        text = cleaned  # what was dropped may have stood between the halves of a call: look again until nothing changes
    return text or EMPTY_ANSWER


_TAGS = r"(?:tool_calls?|tool_use|tool_code|tool_results?|tool_response|function_calls?|function_results?|invoke|function(?==))"
_BAR = "[|\uff5c]"                                            # some vendors write their control tokens with a full-width bar
_TOOL_CALLS = re.compile(rf"""
      <(?:\w+:)?(?P<tag>{_TAGS})\b[^<>]*>.*?(?:</(?:\w+:)?(?P=tag)\s*>|\Z)    # <tool_call>, <invoke name=…>, <function=…>
    | </?(?:\w+:)?(?:{_TAGS}|function)>                                       # the same, left alone
    | <{_BAR}(?!/|[^<>|\uff5c]*end)[^<>|\uff5c]*(?:tool|function|python_tag|action)[^<>|\uff5c]*{_BAR}>
          .*?(?:<{_BAR}(?:/|eo[mt]_id|call|[^<>|\uff5c]*end)[^<>|\uff5c]*{_BAR}>|\Z)   # <|tool_call|> … <|/tool_call|>
    | <\|channel\|>\s*commentary.*?(?:<\|call\|>|\Z)
    | <{_BAR}[^<>|\uff5c]{{1,60}}{_BAR}>                                       # any control token left alone
    | <start_function_call>.*?(?:<end_function_call>|\Z)
    | \[TOOL_(?:CALLS|RESULTS)\].*                                           # to the end: calls come last there
    | ```[ ]*(?:tool|function)_\w+.*?(?:```|\Z)
    | ^[ \t]*Action:[^\n]*\n\s*Action\ Input:[^\n]*(?:\n\s*Observation:[^\n]*)?
    """, re.VERBOSE | re.DOTALL | re.IGNORECASE | re.MULTILINE)
_NAMES_A_CALL = re.compile(r"""["'](?:tool_calls?|function_call|tool_use|recipient_name)["']\s*:"""
                           r"""|["']type["']\s*:\s*["'](?:function|function_call|tool_use|tool_call)["']""")
_CALLED = re.compile(r"""["'](?:name|function|tool|tool_name|action)["']\s*:""")
_ARGUMENTS = re.compile(r"""["'](?:arguments|parameters|args|kwargs|input|tool_input|action_input)["']\s*:""")


def _without_tool_calls(text: str) -> str:
    """Markup and JSON by which a model asks for a tool. What a page says about tools in plain words stays: it is text."""
    text = _TOOL_CALLS.sub(" ", text)
    kept, done = [], 0
    for opening in re.finditer(r"(?:\[\s*)?\{", text):
        if opening.start() < done:
            continue
        end = _end_of_json(text, opening.start())
        block = text[opening.start():end]
        is_call = _NAMES_A_CALL.search(block) or _CALLED.search(block) and _ARGUMENTS.search(block)
        kept += [text[done:opening.start()], " " if is_call else block]
        done = end
    return "".join(kept) + text[done:]


def _end_of_json(text: str, start: int) -> int:
    """One past the bracket that closes the one at `start`, or the end of a text that never closes it."""
    depth = 0
    for token in re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL).finditer(text, start):
        if token.group() in "[{":
            depth += 1
        elif token.group() in "]}":
            depth -= 1
            if depth == 0:
                return token.end()
    return len(text)


_CITATION_HEAD = re.compile(r"[^\s\[\]\"'(<]+@v\d+#[^\[\]\n]*\Z")
_LONGEST_MARK = 400


def _without_foreign_marks(text: str, known: set[str]) -> str:
    """One pass with a stack of open brackets, so that a mark inside a mark is judged first and once."""
    out: list[str] = []
    opened: list[int] = []
    dropped = False
    for piece in re.findall(r"[\[\]\u3010\u3011]|[^\[\]\u3010\u3011]+", text):
        if dropped:
            piece = re.sub(r"^\([^()\n]*\)", "", piece)                      # the link of a mark goes with it
            piece = re.sub(r"^(?=\w)", " ", piece) if out else piece          # and the words beside it stay two
        out.append(piece)
        dropped = False
        if piece in ("[", "\u3010"):
            opened.append(len(out) - 1)
        elif piece in ("]", "\u3011") and opened:
            start = opened.pop()
            content = "".join(out[start + 1:-1])
            head = _CITATION_HEAD.search(out[start - 1][-_LONGEST_MARK:]) if start and re.fullmatch(r"\d+:\d+", content) else None
            if head and f"{head.group()}[{content}]" in known:
                continue
            if head:
                out[start - 1] = out[start - 1][:-len(head.group())]
            out[start:] = [] if head else _judged(content, out[start], piece, known)
            dropped = len(out) == start
            if dropped and out:
                out[-1] = out[-1].rstrip(" \t")
    return "".join(out).strip()


def _judged(content: str, left: str, right: str, known: set[str]) -> list[str]:
    """The pieces that may stay of one pair of brackets: the whole, the good ids of a list, or nothing."""
    if content in known or len(content) > _LONGEST_MARK:
        return [left, content, right]
    parts = [part.strip() for part in re.split("[,;]", content)]
    if len(parts) > 1 and all(len(part.split()) == 1 for part in parts):
        good = [part for part in parts if part in known]
        return [left, ", ".join(good), right] if good else []
    is_phrase = len(content.split()) > 1 and not re.search("[#@]", content)
    is_ellipsis = content.strip(" .\u2026") == "" != content.strip()
    return [left, content, right] if is_phrase or is_ellipsis else []
