"""Finds what may be a secret in a text; knows no network and no model.

It errs on the side of finding: what is cut out of a text that a model reads costs a word, what is not may cost an account.
Three nets, the finest first: forms that issuers gave their keys, values that stand where a secret is assigned, and
strings that look drawn at random. Besides them every secret that this process resolved is found, however it is spelled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Finding:
    """A span that may be a secret.

    Args:
        start: Its first character.
        end: One past its last.
        kind: What it looks like: `private_key`, `aws`, `assigned`, `random`, `known` …
    """

    start: int
    end: int
    kind: str


# A line's end, as it is or as an escape of JSON or of a shell.
_EOL = r"(?:\r?\n|\\r\\n|\\n|\s)"
_B64 = r"[A-Za-z0-9+/]"
_WHOLE, _CUT_OFF = r"[\s\S]{0,20000}?-----END (?P=what)-----", rf"(?:{_EOL}|[A-Za-z0-9+/=:,\-])*"
# What stands after an issuer's prefix; a boundary before it, so that no word that ends in `sk` begins one.
_START, _REST = r"(?<![A-Za-z0-9])", r"[A-Za-z0-9_\-]"

_FORMS: tuple[tuple[str, str], ...] = (
    # A block that is cut off has no end line: then all that may belong to it goes.
    (
        "private_key",
        rf"-----BEGIN (?P<what>[A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?)-----(?:{_WHOLE}|{_CUT_OFF})",
    ),
    ("private_key", r"PuTTY-User-Key-File-\d:[\s\S]{0,20000}?Private-MAC: ?[0-9a-fA-F]+"),
    ("private_key", r"AGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    ("aws", rf"{_START}(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{{12,}}"),
    (
        "aws",
        rf"(?<![A-Za-z0-9+/=])(?={_B64}{{0,39}}[a-z])(?={_B64}{{0,39}}[A-Z])(?={_B64}{{0,39}}\d){_B64}{{40}}(?![A-Za-z0-9+/=])",
    ),
    ("gcp", rf"{_START}AIza{_REST}{{30,}}"),
    ("gcp", rf"{_START}ya29\.{_REST}+[A-Za-z0-9_.\-]*"),
    ("gcp", rf"{_START}GOCSPX-{_REST}{{20,}}"),
    ("azure", r"(?i:AccountKey|SharedAccessKey|SharedAccessSignature)\s*=\s*[^\s;\"']+"),
    ("azure", r"(?<=[?&;])(?i:sig)=[A-Za-z0-9%+/=_\-]{20,}"),
    ("azure", r"[A-Za-z0-9_~.\-]{3}\dQ~[A-Za-z0-9_~.\-]{31,34}"),
    ("github", rf"{_START}(?:gh[pousr]_[A-Za-z0-9]{{20,}}|github_pat_[A-Za-z0-9_]{{20,}})"),
    ("gitlab", rf"{_START}gl(?:pat|oas|ptt|ft|soat|cbt|rt|dt|imt|agent|ffct)-[A-Za-z0-9_.\-]{{16,}}"),
    ("slack", rf"{_START}xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9%\-]{{8,}}"),
    ("slack", rf"{_START}xapp-[A-Za-z0-9\-]{{8,}}"),
    ("slack", r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_+/\-]+"),
    ("stripe", rf"{_START}(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{{10,}}|{_START}whsec_[A-Za-z0-9+/=]{{16,}}"),
    ("anthropic", rf"{_START}sk-ant-{_REST}{{10,}}"),
    ("openai", rf"{_START}sk-(?:proj-|svcacct-|admin-|or-v1-)?{_REST}{{16,}}"),
    ("cerebras", rf"{_START}csk-{_REST}{{16,}}"),
    ("huggingface", rf"{_START}hf_[A-Za-z0-9]{{16,}}"),
    ("npm", rf"{_START}npm_[A-Za-z0-9]{{20,}}|_authToken\s*=\s*\S+"),
    ("pypi", rf"{_START}pypi-{_REST}{{16,}}"),
    ("google_app", r"(?i:app(?:lication)? password)[^\n]{0,20}?(?:[a-z]{4} ){3}[a-z]{4}"),
    ("sendgrid", rf"{_START}SG\.{_REST}{{16,}}\.{_REST}{{16,}}"),
    ("telegram", r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_\-]{30,}"),
    (
        "token",
        rf"{_START}(?:dop_v1_|doo_v1_|shpat_|shpss_|lin_api_|ntn_|dckr_pat_|hvs\.|vault:v1:|EAAC|sq0[a-z]{{3}}-|rubygems_|figd_|glc_|key-[0-9a-f]{{10}}){_REST}{{16,}}",
    ),
    ("jwt", rf"{_START}eyJ{_REST}{{6,}}\.{_REST}{{4,}}(?:\.{_REST}*){{0,3}}"),
    ("bearer", r"(?i:\b(?:bearer|basic|token|apikey|digest)) +[A-Za-z0-9+/_.=~\-]*\d[A-Za-z0-9+/_.=~\-]*(?<=.{12})"),
    ("bearer", r"(?i:\b(?:proxy-)?authorization)[\"']? *[:=] *[\"']?[^\s\"',][^\n\"',]*"),
    ("cookie", r"(?i:\b(?:set-)?cookie)[\"']? *: *[^\n]+"),
    ("url", r"(?<=://)[^\s/@:\"'<>]*:[^\s/@\"'<>]+(?=@)"),
    (
        "url",
        r"(?i)(?<=[?&])(?:access_?token|api_?key|key|token|auth|password|secret|signature|code|session)=[^\s&#\"'<>]+",
    ),
)
_FORM = [(kind, re.compile(pattern)) for kind, pattern in _FORMS]

_NAME = (
    r"pass(?:word|wd|phrase|code)?s?|pwd?|pw|pin(?:[ _-]?code)?|secrets?|token|api[ _-]?keys?|access[ _-]?keys?"
    r"|private[ _-]?keys?|secret[ _-]?keys?|encryption[ _-]?keys?|signing[ _-]?keys?|credentials?|kennwort|passwort"
    r"|contrase\u00f1a|mot de passe|hunter|otp|totp|2fa|mfa|recovery[ _-]?codes?|backup[ _-]?codes?"
)
# `password = …`, `"api_key": "…"`, `DB_PASSWORD=…`, `--password …`; the value ends with its quote, or at white space.
_ASSIGNED = re.compile(
    rf"(?<![A-Za-z0-9])(?:[A-Za-z0-9]{{1,40}}[_.\-]){{0,8}}(?:[a-z]{{1,40}}(?=[PSTAC]))?(?i:{_NAME})(?:[_\-][A-Za-z0-9]{{1,40}}){{0,8}}[\"'`\]*]*"
    r"\s{0,3}(?::=|=>|==?|:(?!//))\s{0,3}"
    r"(?P<value>\"(?:[^\"\\\n]|\\.)+\"?|'(?:[^'\\\n]|\\.)+'?|`[^`\n]+`?|[^\s\"'`]\S*)"
)
_OPTION = re.compile(rf"(?i)(?<!\S)--?(?:[a-z]+-)*(?:{_NAME})[ =]+(?P<value>\S+)")
# In prose: `the password is hunter2`; only of what no word looks like, or what is quoted.
_TOLD = re.compile(
    rf"(?i)\b(?:{_NAME})\b[^\n.;]{{0,40}}?\b(?:is|was|to|are|lautet|ist)\s*:?\s+"
    r"(?P<value>[\"'`\u201c\u2018\u00ab](?P<quoted>[^\n\"'`\u201d\u2019\u00bb]+)[\"'`\u201d\u2019\u00bb]|(?=\S*[\d!@#$%^&*_+=~])\S{4,})"
)
# Words that make up a wallet or a vault: everything after the colon.
_PHRASE = re.compile(
    r"(?i)\b(?:seed|recovery|mnemonic|secret|backup|wallet)[ _-]?(?:phrase|words|seed)\b[^\n:=]{0,20}[:=]\s*(?P<value>[^\n]+)"
    r"|\b(?:passphrase|mnemonic)\b[^\n:=]{0,20}[:=]\s*(?P<other>[^\n]+)"
)
_RUN = re.compile(r"[A-Za-z0-9+/_=\-]{16,}")
_PIECE = re.compile(r"[^/_\-=+]+")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-f]{32,}|[0-9A-F]{32,})(?![0-9A-Za-z])")
_UUID = re.compile(r"(?i)(?<![0-9a-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-z])")
_DIGITS = re.compile(r"\d+")
_HUMPS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
# A run of letters and digits from this length on may be random: 16 characters are what the shortest tokens have.
_SHORTEST = 16
# Characters: the mean length of what is of one kind, below which a run is not made of words.
LONGEST_HUMP = 3.0
# Numbers among the letters of one word, from which on it is none: `sha256WithRSA4096` has two.
DIGIT_RUNS = 3


def find(text: str, known: Iterable[str] = ()) -> list[Finding]:
    """Return what may be a secret, in order; spans do not overlap.

    Args:
        text: Any text.
        known: Spellings of secrets that are found wherever they stand, whatever they look like.
    """
    spans = [
        Finding(found.start(), found.end(), "known")
        for secret in sorted({one for one in known if one}, key=len, reverse=True)
        for found in re.finditer(re.escape(secret), text)
    ]
    spans += [Finding(*found.span(), kind) for kind, form in _FORM for found in form.finditer(text)]
    for pattern in (_ASSIGNED, _OPTION, _TOLD):
        spans += [Finding(*found.span("value"), "assigned") for found in pattern.finditer(text)]
    for found in _PHRASE.finditer(text):
        spans.append(Finding(*found.span("value" if found["value"] else "other"), "phrase"))
    for pattern in (_HEX, _UUID):
        spans += [Finding(*found.span(), "random") for found in pattern.finditer(text)]
    spans += [Finding(*found.span(), "random") for found in _RUN.finditer(text) if _random(found[0])]
    return _apart(spans)


def cut(text: str, findings: Sequence[Finding], marks: dict[str, str]) -> str:
    """Return a text with each finding replaced by its mark, `[SECRET_n]`.

    Args:
        text: The text.
        findings: What `find` returned of it.
        marks: The mark of each secret; new ones are added, so that a secret has one mark wherever it stands.
    """
    parts, position = [], 0
    for finding in findings:
        mark = marks.setdefault(text[finding.start : finding.end], f"[SECRET_{len(marks) + 1}]")
        parts += [text[position : finding.start], mark]
        position = finding.end
    return "".join([*parts, text[position:]])


def _apart(spans: Sequence[Finding]) -> list[Finding]:
    """Return spans in order, those that overlap as one: of the kind that was found first."""
    order = {id(span): number for number, span in enumerate(spans)}
    found: list[Finding] = []
    for span in sorted(spans, key=lambda one: (one.start, order[id(one)])):
        if span.end <= span.start:
            continue
        if found and span.start < found[-1].end:
            last = found[-1]
            found[-1] = Finding(last.start, max(last.end, span.end), last.kind)
        else:
            found.append(span)
    return found


def _random(run: str) -> bool:
    """Say whether a run looks drawn at random: it changes between small letters, capitals and digits all the time.

    Words have four letters and more, in CamelCase too; random base64 changes its kind of sign every second character.
    Separators do not count, because base64 has them, and a path or a name with hyphens is judged by its words.
    """
    pieces = _PIECE.findall(run)
    if any(len(piece) >= _SHORTEST and len(_DIGITS.findall(piece)) >= DIGIT_RUNS for piece in pieces):
        return True
    joined = "".join(pieces)
    if len(joined) < _SHORTEST or joined.isdigit() or (len(pieces) > 1 and joined == joined.lower()):
        return False  # with separators, and without capitals: short words and numbers, as `utf8mb4_unicode_ci`
    humps = len(_HUMPS.findall(" ".join(pieces)))
    if joined.isalpha() and len(joined) < _SHORTEST + 4:
        return False  # `iOS`, `GraphQL`, `macOS` in one name change as often
    return humps >= _SHORTEST / LONGEST_HUMP and len(joined) / humps < LONGEST_HUMP
