"""Which addresses are people's, and which never become one."""

from __future__ import annotations

import pytest

from ctxsync.connectors.people import address_key, is_automatic, is_role


@pytest.mark.parametrize(
    "address",
    [
        "noreply@example.com",
        "no-reply@example.com",
        "No_Reply@Example.com",
        "no-reply+a1b2@example.com",
        "calendar-notification@example.com",
        "drive-shares-noreply@example.com",
        "donotreply@example.com",
        "do-not-reply@example.com",
        "notifications@example.com",
        "notification@example.com",
        "mailer-daemon@example.com",
        "MAILER-DAEMON@example.com",
        "postmaster@example.com",
        "bounce@example.com",
        "bounces+1234-robin=example.com@mail.example.org",
        "gardens-bounces@lists.example.org",
        "gardens-bounces+robin=example.com@lists.example.org",
        "gardens-request@lists.example.org",
        "gardens-owner@lists.example.org",
        "owner-gardens@lists.example.org",
        "reply+ab12cd@reply.example.com",
        "renovate[bot]@users.noreply.example.com",
        "49699333+dependabot[bot]@users.noreply.github.com",
        "heron@noreply.github.com",
    ],
)
def test_what_a_machine_writes_from_is_a_thing(address: str) -> None:
    assert is_role(address)
    assert is_automatic(address)
    assert address_key(address) == f"address:{address.lower()}"


@pytest.mark.parametrize("local", ["support", "info", "hello", "sales", "customer-service", "billing", "info+shop"])
def test_an_office_is_no_person_though_a_hand_may_write_from_it(local: str) -> None:
    assert address_key(f"{local}@example.com") == f"address:{local}@example.com"
    assert not is_automatic(f"{local}@example.com")


@pytest.mark.parametrize(
    "address",
    [
        "gardens@lists.example.org",
        "gardens@googlegroups.com",
        "lkml@vger.kernel.org",
        "gardens-devel@example.org",
        "gardens-list@example.org",
        "7@bugs.example.org",
    ],
)
def test_what_a_server_of_lists_hosts_is_a_list(address: str) -> None:
    assert address_key(address) == f"address:{address}"


@pytest.mark.parametrize(
    "address",
    [
        "robin@example.com",
        "robin.vale+lists@example.com",
        "123+robin@users.noreply.github.com",
        "robin@users.noreply.github.com",
        "123-robin@users.noreply.example.com",
        "bot.howard@example.com",
        "infosec.owner@example.com",
        "newsom@example.com",
        "request@example.com",
    ],
)
def test_a_person_is_known_by_the_address(address: str) -> None:
    assert address_key(address) == f"email:{address}"
    assert not is_automatic(address)


@pytest.mark.parametrize(
    "written",
    ["Robin@Example.COM", " robin@example.com ", "Robin Vale <ROBIN@example.com>", '"Vale, Robin" <robin@example.com>'],
)
def test_one_address_is_one_key_however_it_is_written(written: str) -> None:
    assert address_key(written) == "email:robin@example.com"


@pytest.mark.parametrize(
    "written",
    ["", "Robin Vale", "robin@", "@example.com", "a b@example.com", "<>", "x" * 300 + "@example.com", "a@b@c"],
)
def test_what_is_no_address_gives_no_key(written: str) -> None:
    assert address_key(written) == ""
    assert not is_role(written)


def test_a_display_name_tells_a_bot() -> None:
    assert is_automatic("ci@example.com", "renovate[bot]")
    assert not is_automatic("ci-chan@example.com", "Robin Vale")


def test_hostile_addresses_take_no_time() -> None:
    address_key("<" * 100_000)
    address_key("-" * 100_000 + "@example.com")
    is_automatic("no-" * 100_000 + "@example.com")
