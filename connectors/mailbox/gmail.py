"""Labels of Google Takeout (`X-Gmail-Labels`) as places; knows no files."""

from __future__ import annotations

import re
from typing import Final

from ctxsync.connectors.mail.folders import is_left_out
from ctxsync.connectors.mail.headers import text_of

_HEADER: Final = 262_144  # bytes
_FIELD = re.compile(rb"^x-gmail-labels:[ \t]*(.*(?:\r?\n[ \t].*)*)", re.MULTILINE | re.IGNORECASE)
_LABEL = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,]+)')
# States of a message, as Gmail writes them in some languages: they change as it is read, and are no places.
_STATES = frozenset(
    """opened|unread|read|starred|important|archived|chat|geöffnet|ungelesen|gelesen|markiert|wichtig|archiviert|ouvert
    |non lus|lu|suivis|archivés|abierto|no leído|leído|destacados|importante|archivados|aperti|non letti|speciali
    |importanti|archiviati|geopend|ongelezen|met ster|belangrijk|gearchiveerd|abertas|não lidas|com estrela|importantes
    |arquivadas""".replace("\n    |", "|").split("|")
)
_CATEGORY = re.compile(r"^(?:category|kategorie|catégorie|categoría|categoria|categorie)\s+\S", re.IGNORECASE)
_MOST: Final = 100


def labels_of(data: bytes) -> tuple[str, ...] | None:
    """Return the labels of a message that are places; None when it is not from Takeout."""
    end = re.search(rb"\r?\n\r?\n", data[:_HEADER])
    found = _FIELD.search(data, 0, end.start() + 1 if end else _HEADER)
    if not found:
        return None
    text = text_of(found[1].decode("utf-8", "surrogateescape"))
    labels = [(quoted or bare).strip() for quoted, bare in _LABEL.findall(text)]
    kept = (label for label in labels if label and not _is_state(label))
    return tuple(dict.fromkeys(kept))[:_MOST]


def is_unwanted(labels: tuple[str, ...]) -> bool:
    """Say whether a message is in spam or trash."""
    return any(is_left_out(label) for label in labels)


def _is_state(label: str) -> bool:
    folded = label.casefold()
    return folded in _STATES or bool(_CATEGORY.match(label)) or folded.startswith("imap_")
