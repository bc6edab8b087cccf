"""Identity nodes as text: their kinds, their rank, and the node of a mention; knows nothing of the graph.

An identity node is `kind:value`: an identity key (`email:robin@example.com`, `note:<item>`, `repo:<name>` …), a name that
stands for one thing everywhere (`name:<normal>`), or a first name within a thread or item (`first:<scope>:<normal>`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ctxsync.connectors.base import digest
from ctxsync.connectors.people import is_role
from ctxsync.engine import names

NAME: Final = "name"
FIRST: Final = "first"
NOTE: Final = "note"
# What these kinds of key name is never a person by itself: a full name is not looked up among them.
THINGS: Final = frozenset(
    {NOTE, "commit", "repo", "path", "issue", "url", "mailmap", "tag", "branch", "file"}
    | {"mail", "message-id", "message", "channel", "list", "address", "ical"}
)
# What answers and mentions point at before it is seen itself: a name that they give it counts only while it has no other.
REFERRED_TO: Final = frozenset({"message-id", "message", "channel", "mail"})

normal = lru_cache(maxsize=1 << 16)(names.normal)


def kind_of(node: str) -> str:
    """Return the kind of a node: what stands before the first colon."""
    return node.partition(":")[0]


def is_key(node: str) -> bool:
    """Say whether a node is an identity key, with a value."""
    kind, _, value = node.partition(":")
    return bool(value) and kind not in {"", NAME, FIRST}


def is_own_key(node: str) -> bool:
    """Say whether a node is an identity key that is one person's or thing's own: not an office's or a machine's address."""
    if not node.startswith(("email:", "address:")):
        return is_key(node)
    return node.startswith("email:") and not is_role(node[6:])


def is_person_kind(kind: str) -> bool:
    """Say whether keys of this kind belong to people (`email`, `slack` …)."""
    return kind not in THINGS and kind not in {NAME, FIRST}


def rank(node: str) -> tuple[int, str]:
    """Return the order in which nodes represent their entity: people's keys, things, notes, names, first names.

    What most facts hang on comes first, so that a late note or name moves little.
    """
    kind = kind_of(node)
    if kind == FIRST:
        return 4, node
    if kind == NAME:
        return 3, node
    if kind == NOTE:
        return 2, node
    return (1 if kind in THINGS else 0), node


def is_full(plain: str) -> bool:
    """Say whether a normal name has two words or more."""
    return " " in plain


def first_word(plain: str) -> str:
    """Return the first word of a normal name."""
    return plain.partition(" ")[0]


@lru_cache(maxsize=1 << 16)
def node_of(name: str, type_: str, scope: str) -> str:
    """Return the node of a mention without keys; an empty string when the name is blank."""
    plain = normal(name)
    if not plain:
        return ""
    if type_ == "Person" and not is_full(plain):
        return f"{FIRST}:{scope}:{plain}"
    return f"{NAME}:{plain}"


@lru_cache(maxsize=1 << 16)
def entity_id(node: str) -> str:
    """Return the public id of the entity that a node represents."""
    return digest("entity", node)
