"""Which addresses are people: the key that an e-mail address gives. Knows no source, and nobody by name.

A person's address is the key `email:<address>`. An address that a machine, a list or an office writes from is a thing,
with the key `address:<address>`: nothing may take it for a person.
"""

from __future__ import annotations

import re
from functools import lru_cache

# RFC 5321 4.5.3.1.3: a path holds 256 octets, two of them its angle brackets.
_LONGEST = 254


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ANGLED = re.compile(r"<([^<>]*)>[^<>]*\Z")
_ADDRESS = re.compile(r"[^\s<>@,;\"]+@[^\s<>@,;\"]+")
_PARTS = re.compile(r"[-_.+=]+")
# No hand writes from these, and nobody reads an answer. With further parts around them they stay what they are
# (`calendar-notification`, `bounces+7-robin=example.com`); RFC 3834 for the daemons.
_AUTOMATIC = _words(
    """noreply donotreply dontreply notification notifications bounce bounces unsubscribe autoreply autoresponder"""
)
# The same, only where they are the whole name: as a part they stand in people's names and teams' too.
_MACHINES = _words(
    """mailerdaemon mailer daemon postmaster reply replies notify notifier alert alerts automated automation robot bot
    bots cron nobody system mailbot newsletter newsletters digest updates listserv majordomo mailman sympa"""
)
# RFC 2142's names of offices, and those that businesses use in the same way.
_OFFICES = _words(
    """info marketing sales support abuse noc security hostmaster usenet news webmaster www uucp ftp admin administrator
    root office contact hello help helpdesk servicedesk service services customerservice customercare care billing
    invoice invoices accounting accounts orders jobs careers recruiting hr press media team feedback enquiries inquiries
    privacy legal compliance reception welcome events community members membership subscriptions account announce
    announcements all everyone staff users dev devel"""
)
# Of a list `gardens`: gardens-request, gardens-owner, owner-gardens (RFC 2142 6, and what list servers do).
_LIST_ENDS = _words("""request owner bounces join leave subscribe unsubscribe confirm""")
# Lists themselves, as they are mostly called: gardens-announce.
_LIST_NAMES = _words("""announce users devel discuss list commits""")
# Servers of lists, by the first part of their name or all of it; hosts whose every address is a machine's.
_LIST_HOSTS = _words("""lists list listserv mailman groups googlegroups bugs""")
_LIST_DOMAINS = _words("""groups.io vger.kernel.org freelists.org yahoogroups.com""")
_MACHINE_DOMAINS = _words("""noreply.github.com reply.github.com incoming.gitlab.com""")
_BOT = "[bot]"


def address_key(address: str) -> str:
    """Return the identity key of an e-mail address: `email:…` of a person's, `address:…` of any other.

    Args:
        address: With or without a display name and angle brackets, in any case.

    Returns:
        The key, in lower case; empty when there is no address in it.
    """
    plain = plain_address(address)
    return f"{'address' if is_role(plain) else 'email'}:{plain}" if plain else ""


@lru_cache(maxsize=8192)
def plain_address(address: str) -> str:
    """Return the address itself, in lower case, without its display name; empty when it is none."""
    text = address[-1000:]
    angled = _ANGLED.search(text) if "<" in text else None
    plain = (angled[1] if angled else text).strip().lower()
    return plain if len(plain) <= _LONGEST and _ADDRESS.fullmatch(plain) else ""


@lru_cache(maxsize=8192)
def is_role(address: str) -> bool:
    """Say whether an address is an office's, a list's or a machine's, and so nobody's own."""
    if is_automatic(address):
        return True
    local, _, domain = plain_address(address).partition("@")
    if domain in _LIST_DOMAINS or domain.partition(".")[0] in _LIST_HOSTS:
        return bool(local)
    name = local.partition("+")[0]
    return _joined(name) in _OFFICES or ("-" in name and name.rpartition("-")[2] in _LIST_NAMES)


@lru_cache(maxsize=8192)
def is_automatic(address: str, name: str = "") -> bool:
    """Say whether what comes from an address was written by a machine, as its name or its display name tell.

    A hosting site's private address (`123+robin@users.noreply.github.com`) is a person's: its domain tells nothing.
    """
    if _BOT in name.lower() or _BOT in address.lower():
        return True
    local, _, domain = plain_address(address).partition("@")
    if not local or domain in _MACHINE_DOMAINS:
        return bool(local)
    parts = [part for part in _PARTS.split(local) if part]
    joined = "-".join(parts)
    return (
        not _AUTOMATIC.isdisjoint(parts)
        or any(f"-{words}-" in f"-{joined}-" for words in ("no-reply", "do-not-reply", "dont-reply", "mailer-daemon"))
        or _joined(local.partition("+")[0]) in _MACHINES
        or (len(parts) > 1 and "-" in local and (parts[-1] in _LIST_ENDS or parts[0] == "owner"))
    )


def _joined(name: str) -> str:
    return _PARTS.sub("", name)
