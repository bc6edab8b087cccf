from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.base import Episode
from ctxsync.engine.extraction.structural import Structural
from ctxsync.engine.schema import universal

if TYPE_CHECKING:
    from ctxsync.engine.extraction.base import Extraction


def extract(**fields: Any) -> Extraction:
    given = {
        "id": "e",
        "item": "note:1",
        "kind": "note",
        "title": "Nadia Okoro",
        "text": "",
        "occurred_at": 0,
        **fields,
    }
    return next(Structural(universal()).extract([Episode(**given)]))


def lines(found: Extraction) -> list[str]:
    names = {entity.id: entity.name for entity in found.entities}
    return sorted(f"{names[r.head]} {r.relation}/{r.phrase_class} {names[r.tail]}" for r in found.relations)


def test_a_note_is_about_its_title_and_references_what_it_links() -> None:
    text = "See [[People/Tom Berg|Tom]] and ![[plan.png]]."
    links = ({"target": "People/Tom Berg", "kind": "wikilink", "start": 4, "end": 27},
             {"target": "plan.png", "kind": "embed", "start": 32, "end": 45})  # fmt: skip
    found = extract(text=text, links=links, tags=("people/team",))
    assert lines(found) == ["Nadia Okoro references/link Tom Berg", "Nadia Okoro related_to/tag people/team"]
    assert found.entities[0].keys == ("note:1",)
    link = found.relations[0]
    assert link.quote == text[4:27] == "[[People/Tom Berg|Tom]]"


def test_properties_whose_name_means_a_relation_become_facts() -> None:
    found = extract(
        item_attributes={
            "type": "person",
            "employer": "[[Companies/Acme|Acme]]",
            "manager": [["Tom Berg"]],
            "cssclass": "wide",
            "rating": 5,
            "url": "https://example.com",
        }
    )
    assert lines(found) == ["Nadia Okoro part_of/employment Acme", "Nadia Okoro part_of/reporting Tom Berg"]
    assert {entity.name: entity.type for entity in found.entities} == {
        "Nadia Okoro": "Person",
        "Acme": "Organization",
        "Tom Berg": "Person",
    }


def test_an_owner_of_a_service_is_responsible_for_it() -> None:
    found = extract(title="Ingest Service", item_attributes={"type": "service", "owner": "Nadia Okoro"})
    assert lines(found) == ["Ingest Service owned_by/responsibility Nadia Okoro"]


def test_a_journal_page_is_an_event_and_its_properties_are_about_no_one() -> None:
    found = extract(title="2026-05-20", item_attributes={"owner": "Nadia"})
    assert [(entity.name, entity.type) for entity in found.entities] == [("2026-05-20", "Event")]
    assert found.relations == []


def test_a_commit_states_its_people_files_and_references() -> None:
    found = extract(
        item="commit:abc",
        kind="commit",
        title="Fix the parser",
        author_name="Robin Vale",
        author_keys=("email:robin@example.com",),
        attributes={
            "repository": "tides",
            "co_authors": [{"name": "Nadia Okoro", "keys": ["email:nadia@example.com"]}],
            "files": [{"path": "src/parser.py", "status": "M"}],
            "fixes": ["#12"],
            "refs": ["#13", "other/repo#4"],
            "reverts": ["def"],
        },
    )
    assert lines(found) == [
        "Fix the parser part_of/component tides",
        "Fix the parser references/change src/parser.py",
        "Fix the parser references/fix tides#12",
        "Fix the parser references/link other/repo#4",
        "Fix the parser references/link tides#13",
        "Fix the parser references/revert commit def",
        "Nadia Okoro participated_in/authorship Fix the parser",
        "Robin Vale participated_in/authorship Fix the parser",
    ]
    keys = {entity.name: entity.keys for entity in found.entities}
    assert keys["tides"] == ("repo:tides",)
    assert keys["src/parser.py"] == ("path:tides:src/parser.py",)
    assert keys["tides#12"] == ("issue:tides#12",)
    assert keys["Fix the parser"] == ("commit:abc",)


def test_a_commit_of_very_many_files_names_fifty() -> None:
    files = [{"path": f"f{n}", "status": "A"} for n in range(200)]
    found = extract(item="commit:a", kind="commit", title="Import", attributes={"repository": "r", "files": files})
    assert sum(r.phrase_class == "change" for r in found.relations) == 50


def test_a_mailmap_states_nothing_of_its_own() -> None:
    assert extract(item="mailmap:r", kind="mailmap", title=".mailmap").entities == []
