"""Where names begin and end in what people write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ctxsync.engine.extraction.builtin import Builtin
from ctxsync.engine.extraction.mentions import mentions
from ctxsync.engine.schema import universal
from tests.engine.extraction.conftest import ROBIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.engine.extraction.conftest import Reads

    Named = Callable[[str], dict[str, tuple[str, ...]]]


@pytest.fixture(scope="module")
def named(reads: Reads) -> Named:
    """Return the names in a text with the roles that stand before them."""
    builtin = Builtin(universal(), ROBIN)
    builtin.ready()

    def read(text: str) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for block, doc in builtin.parsed(reads.episode(text)):
            found |= {m.name: m.roles for m in mentions(doc, block, ()).all if m.kind == "name"}
        return found

    return read


@pytest.mark.parametrize("name", ["U.S.", "R.I.", "D.C."])
def test_a_name_of_initials_is_a_name_and_keeps_its_dots(named: Named, name: str) -> None:
    assert name in named(f"Ada Holm moved from Oslo to Fennport, {name}, last year.")


def test_a_single_initial_is_no_name(named: Named) -> None:
    assert "X." not in named("We asked Mr. X. about it.")


def test_the_role_between_a_firm_and_a_person_parts_their_names(named: Named) -> None:
    found = named("Acme CEO Priya Raman spoke to us.")
    assert found["Priya Raman"] == ("ceo",)
    assert "Acme" in found
    assert "Acme CEO" not in found


def test_a_title_that_no_list_knows_parts_a_place_from_a_person(named: Named) -> None:
    found = named("Quebec Premier Robert Marchand spoke in Lisbon.")
    assert found["Robert Marchand"] == ("premier",)
    assert "Quebec" in found


def test_a_rank_belongs_to_the_role(named: Named) -> None:
    found = named("Acme Vice President Elin Marsh wrote it.")
    assert found["Elin Marsh"] == ("president",)
    assert "Vice" not in found


@pytest.mark.parametrize("name", ["University of Oslo", "Bank of England"])
def test_a_name_with_of_is_one_name(named: Named, name: str) -> None:
    assert name in named(f"She studied at the {name} for a year.")


def test_a_name_before_a_common_noun_is_a_name_too(named: Named) -> None:
    assert "Indiana" in named("The plan was made by Indiana officials.")


def test_the_mark_of_a_possessor_is_no_part_of_its_name(named: Named) -> None:
    assert not any(name.endswith("'s") for name in named("My sister Nadia Okoro's boss lives in Graz."))


def test_a_name_in_code_and_the_noun_behind_it_are_one_thing(reads: Reads) -> None:
    found = reads.extract("The `tariff` job now runs on the Bremen cluster.")
    assert {entity.name for entity in found.entities} >= {"tariff"}
    assert "job" not in {entity.name for entity in found.entities}
