"""How long a question takes at 100,000 facts: a graph written straight into graph.sql's tables, a warm reader.

Names follow Zipf's law as real ones do: a few people and services are in most facts, most are in one or two.
Target (DESIGN, SPEC): simple questions p50 5 ms, p95 20 ms, no model.
"""

from __future__ import annotations

import bisect
import itertools
import random
import tempfile
import time
from importlib import resources
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Any

import apsw

from benchmarks.report import Row
from ctxsync.engine.names import normal
from ctxsync.engine.reading import Reader, ask, search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FACTS = 100_000
QUESTIONS = 400
YEAR = 31_557_600_000
NOW = 1_780_000_000_000

FIRST = [
    "Ada",
    "Ben",
    "Carla",
    "Dev",
    "Edda",
    "Femi",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kira",
    "Liam",
    "Mona",
    "Nils",
    "Olga",
    "Pia",
    "Quinn",
    "Rosa",
    "Sven",
    "Tara",
    "Ugo",
    "Vera",
    "Wim",
    "Xenia",
    "Yara",
    "Zeno",
    "Amir",
    "Bela",
    "Chidi",
    "Dora",
    "Elif",
    "Finn",
    "Gwen",
    "Hana",
    "Ivo",
    "Jana",
    "Kofi",
    "Lena",
    "Marek",
    "Nora",
]
LAST = [a + b for a in ("Brook", "Stone", "Hart", "Lind", "Ash", "Mor", "Wald", "Ber", "Oak", "Fern") for b in ("field", "man", "well", "ley", "ström", "ner", "gate", "wood", "ova", "ini")]  # fmt: skip
COLOURS = "amber blue cobalt dusty ember frosty golden hollow ivory jade keen lunar misty noble olive plain quiet rapid silver tidal".split()  # noqa: SIM905 (a list of words reads best as words)
THINGS = "gateway ledger parser queue router search index mailer billing cache export import audit report portal agent relay worker store proxy".split()  # noqa: SIM905 (a list of words reads best as words)
TOWNS = [
    a + b
    for a in ("North", "South", "East", "West", "New", "Old", "Upper", "Lower")
    for b in ("haven", "ford", "bridge", "port", "minster")
]

# relation, class, phrase, kind of head, kind of tail, share of all facts, share of those that have ended
SHAPES: tuple[tuple[str, str, str, str, str, float, float], ...] = (
    ("part_of", "employment", "works at", "Person", "Organization", 0.10, 0.4),
    ("located_at", "residence", "lives in", "Person", "Place", 0.05, 0.3),
    ("owned_by", "responsibility", "is maintained by", "Artifact", "Person", 0.08, 0.3),
    ("depends_on", "dependency", "depends on", "Artifact", "Artifact", 0.20, 0.2),
    ("participated_in", "work", "works on", "Person", "Artifact", 0.12, 0.1),
    ("participated_in", "authorship", "authored", "Person", "Event", 0.15, 0.0),
    ("references", "link", "links to", "Concept", "Concept", 0.20, 0.0),
    ("related_to", "tag", "is tagged", "Concept", "Concept", 0.07, 0.0),
    ("caused", "cause", "caused", "Event", "Event", 0.03, 0.0),
)
ASKED: tuple[tuple[str, str], ...] = (
    ("where does {head} work?", "employment"),
    ("who works at {tail}?", "employment"),
    ("where does {head} live?", "residence"),
    ("who maintains {head}?", "responsibility"),
    ("what does {tail} maintain?", "responsibility"),
    ("what depends on {tail}?", "dependency"),
    ("what does {head} depend on?", "dependency"),
    ("who works on {tail}?", "work"),
    ("does {head} depend on {tail}?", "dependency"),
    ("how many commits did {head} write?", "authorship"),
    ("who worked at {tail} in 2024?", "employment"),
    ("which notes link to {tail}?", "link"),
    ("what did {head} cause?", "cause"),
    ("when did {head} join {tail}?", "employment"),
    ("who is {head}?", "residence"),
)


class Zipf:
    """Draws from a list so that the n-th name is drawn in proportion to 1 / n."""

    def __init__(self, rows: Sequence[int], chance: random.Random) -> None:
        self.rows = rows
        self.chance = chance
        self.sums = list(itertools.accumulate(1 / rank for rank in range(1, len(rows) + 1)))

    def draw(self) -> int:
        return self.rows[bisect.bisect(self.sums, self.chance.random() * self.sums[-1])]


def names(kind: str, count: int) -> Iterator[str]:
    plain: dict[str, Callable[[], Iterator[str]]] = {
        "Person": lambda: (f"{first} {last}" for last in LAST for first in FIRST),
        "Organization": lambda: (f"{last} {suffix}" for suffix in ("Labs", "Group", "Works", "Bank") for last in LAST),
        "Place": lambda: (f"{town}{tail}" for tail in ("", " Bay", " Hill", " Park") for town in TOWNS),
        "Artifact": lambda: (
            f"{colour}-{thing}-{n}" if n else f"{colour}-{thing}"
            for n in range(100)
            for colour in COLOURS
            for thing in THINGS
        ),
        "Event": lambda: (
            f"Fix {colour} {thing} case {n}" for n in range(100) for colour in COLOURS for thing in THINGS
        ),
        "Concept": lambda: (
            f"{colour} {thing} notes {n}" for n in range(100) for colour in COLOURS for thing in THINGS
        ),
    }
    return itertools.islice(plain[kind](), count)


def build(path: Path, facts: int = FACTS, seed: int = 1) -> dict[str, list[str]]:
    """Write a graph of so many facts, each with a support; return the names by entity type."""
    chance = random.Random(seed)
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = OFF")
    db.execute(resources.files("ctxsync.schemas").joinpath("graph.sql").read_text(encoding="utf-8"))
    sizes = {"Person": 4000, "Organization": 400, "Place": 160, "Artifact": 12_000, "Event": 15_000, "Concept": 12_000}
    by_kind: dict[str, list[str]] = {}
    rows: dict[str, list[int]] = {}
    with db:
        db.execute("INSERT INTO meta VALUES ('layout', 1), ('position', 1)")
        db.execute("INSERT INTO moment VALUES (1, ?)", (NOW - YEAR,))
        db.execute("INSERT INTO source VALUES ('vault', 'notes', '/vault', 'own', 0, '{}')")
        number = 0
        for kind, size in sizes.items():
            by_kind[kind] = list(names(kind, max(20, size * facts // FACTS)))
            rows[kind] = []
            for name in by_kind[kind]:
                number += 1
                rows[kind].append(number)
                db.execute("INSERT INTO entity VALUES (?, ?)", (number, f"{number:032x}"))
                db.execute("INSERT INTO entity_version VALUES (?, ?, ?, 1, NULL)", (number, name, kind))
                db.execute("INSERT INTO name VALUES (?, ?, ?, 1, NULL)", (number, name, normal(name)))
                if kind in ("Event", "Concept"):
                    key = "commit" if kind == "Event" else "note"
                    db.execute("INSERT INTO identity_key VALUES (?, ?, ?, 1, NULL)", (number, key, f"{number:040x}"))
        episodes = max(1, facts // 4)
        for episode in range(1, episodes + 1):
            text = f"{chance.choice(by_kind['Person'])} on {chance.choice(by_kind['Artifact'])}: {chance.choice(by_kind['Concept'])}."
            db.execute(
                "INSERT INTO item VALUES (?, ?, 'note', ?, '{}', '[]', NULL)",
                (episode, f"note:{episode}", f"Note {episode}"),
            )
            db.execute("INSERT INTO sighting VALUES (?, 'vault', ?, 1, NULL)", (episode, f"notes/{episode}.md"))
            db.execute(
                "INSERT INTO episode (id, episode, item, source, kind, section, heading, title, text, occurred_at, author, author_node, "
                "thread, tags, position) VALUES (?, ?, ?, 'vault', 'note', '', '[]', ?, ?, ?, '', NULL, '', '[]', 1)",
                (episode, f"{episode:032x}", episode, f"Note {episode}", text, NOW - chance.randrange(3 * YEAR)),
            )
            db.execute("INSERT INTO holding VALUES (?, 1, 1, NULL)", (episode,))
            db.execute(
                "INSERT INTO passage (rowid, title, heading, text) VALUES (?, ?, '', ?)",
                (episode, f"Note {episode}", text),
            )
        draws = {kind: Zipf(values, chance) for kind, values in rows.items()}
        fact = 0
        for relation, phrase_class, phrase, head_kind, tail_kind, share, ended in SHAPES:
            pairs: set[tuple[int, int]] = set()
            while len(pairs) < facts * share:
                pairs.add(
                    (
                        chance.choice(rows[head_kind]) if chance.random() < 0.5 else draws[head_kind].draw(),
                        draws[tail_kind].draw(),
                    )
                )
                if len(pairs) % 50 == 0:
                    pairs.add((chance.choice(rows[head_kind]), chance.choice(rows[tail_kind])))
            for head, tail in sorted(pairs):
                fact += 1
                start = NOW - chance.randrange(YEAR, 4 * YEAR)
                end = start + YEAR // 2 if chance.random() < ended else None
                db.execute(
                    "INSERT INTO fact VALUES (?, ?, ?, ?, ?, ?)",
                    (fact, f"{fact:032x}", head, relation, phrase_class, tail),
                )
                db.execute(
                    "INSERT INTO fact_version VALUES (?, ?, ?, ?, ?, NULL, '', 1, NULL)",
                    (fact, phrase, start, end, 0.5 + chance.random() / 2),
                )
                db.execute(
                    "INSERT INTO evidence (id, evidence, episode, head, relation, phrase_class, phrase, tail, quote, start, stop, confidence, tier, "
                    "valid_from, valid_to, ends, occurred_at, since_at, trust) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 10, 0.9, 1, NULL, NULL, 0, ?10, ?10, 2)",
                    (
                        fact,
                        f"{fact:032x}",
                        chance.randint(1, episodes),
                        head,
                        relation,
                        phrase_class,
                        phrase,
                        tail,
                        phrase,
                        start,
                    ),
                )
                db.execute("INSERT INTO support VALUES (?, ?, 'states', 1, NULL)", (fact, fact))
    db.close()
    return by_kind


STATED = """
SELECT h.name, t.name FROM fact AS f JOIN name AS h ON h.entity = f.head JOIN name AS t ON t.entity = f.tail
WHERE f.phrase_class = ? AND f.id % 7 = 3 ORDER BY f.id
"""


def questions(path: Path, count: int, seed: int = 2) -> list[str]:
    """Ask about facts that are there: a name is asked about as often as it is in facts."""
    chance = random.Random(seed)
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    stated = {phrase_class: list(db.execute(STATED, (phrase_class,))) for _, phrase_class, *_ in SHAPES}
    db.close()
    asked = []
    for index in range(count):
        text, phrase_class = ASKED[index % len(ASKED)]
        head, tail = chance.choice(stated[phrase_class])
        asked.append(text.format(head=head, tail=tail))
    return asked


def measure(
    run: Callable[[str], Any], asked: Sequence[str], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, float]:
    """Return median and 95th percentile in milliseconds."""
    took: list[float] = []
    for text in asked:
        started = clock()
        run(text)
        took.append((clock() - started) * 1000)
    percentiles = quantiles(took, n=100)
    return percentiles[49], percentiles[94]


def rows(facts: int = FACTS, count: int = QUESTIONS) -> list[Row]:
    """Build a graph in a temporary folder and ask it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.db"
        build(path, facts)
        asked = questions(path, count)
        opened = time.perf_counter()
        reader = Reader.open(path)
        answered = 0

        def one(text: str) -> None:
            nonlocal answered
            found = ask(reader, text, now=NOW, vectors=False)
            answered += bool(found["answers"] or found["past"] or found["verdict"] or found["count"] is not None)

        one(asked[0])
        first = (time.perf_counter() - opened) * 1000
        for text in asked[:50]:
            one(text)
        answered = 0
        half, most = measure(one, asked)
        shared = answered
        work, works = measure(one, asked, time.process_time)
        found = [
            Row("ask, 100,000 facts, warm: median", half, "ms", most=5),
            Row("ask, 100,000 facts, warm: 95th percentile", most, "ms", most=20),
            Row("  median in processor time", work, "ms", most=5),
            Row("  95th percentile in processor time", works, "ms", most=20),
            Row("  questions that found an answer", 100 * shared / len(asked), "%"),
            Row("  first question, graph opened for it", first, "ms"),
        ]
        by_form = {text: measure(one, asked[index :: len(ASKED)]) for index, (text, _) in enumerate(ASKED)}
        slowest = max(by_form, key=lambda text: by_form[text][0])
        found.append(Row(f"  slowest form, median: {slowest}", by_form[slowest][0], "ms"))
        typos = [
            text.replace("e", "", 1) if index % 2 else text[:-3] + text[-2] + text[-3] + text[-1]
            for index, text in enumerate(asked[:60])
        ]
        found.append(Row("  misspelt, median", measure(one, typos)[0], "ms"))
        words = [" ".join(text.split()[2:]) for text in asked[:60]]
        searched = measure(lambda text: search(reader, text, now=NOW, vectors=False), words)
        found.append(Row("  search by words, median", searched[0], "ms"))
        reader.close()
    return found
