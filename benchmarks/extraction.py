"""How many sections of about 50 words a second the chain of tiers 0 and 1 extracts, and the memory of the process."""

from __future__ import annotations

import random
import resource
import statistics
import time

from benchmarks.report import Row
from ctxsync.engine.embedding import Embedder
from ctxsync.engine.extraction.base import Episode, Identity
from ctxsync.engine.extraction.chain import build_chain
from ctxsync.engine.schema import universal

COUNT = 640
BATCH = 64
PEOPLE = ("Nadia Okoro", "Tom Berg", "Priya Raman", "Elin Marsh", "Jonas Weber", "Ada Holm")
PLACES = ("Lisbon", "Oslo", "Port Ellery", "Graz", "Whitby")
FIRMS = ("Harbourlight", "Fennel Labs", "Copperline", "Brightwater Group")
SYSTEMS = ("ingest service", "billing pipeline", "tide API", "orders database", "search index")
TOOLS = ("Kafka", "Postgres", "Redis", "RabbitMQ", "Kubernetes")
SENTENCES = (
    "{person} works at {firm} since March 2024 and lives in {place}.",
    "The {system} depends on {tool}, which nobody has touched for a year or so.",
    "We talked about the {system} with {person}, who would rather rewrite it in the winter.",
    "The weather in {place} was grey, and the long meeting did not make it any better.",
    "{person} took over the {system} from {other} last week.",
    "An outage of the {system} was caused by an expired certificate on Tuesday.",
    "There is a list of open questions, and most of them are about money.",
)


def sections(count: int) -> list[Episode]:
    """Make fictional sections, the same ones each time."""
    dice = random.Random(7)
    made = []
    for number in range(count):
        text = " ".join(
            dice.choice(SENTENCES).format(
                person=dice.choice(PEOPLE),
                other=dice.choice(PEOPLE),
                place=dice.choice(PLACES),
                firm=dice.choice(FIRMS),
                system=dice.choice(SYSTEMS),
                tool=dice.choice(TOOLS),
            )
            for _ in range(4)
        )
        made.append(Episode(f"e{number}", f"note:{number}", "note", dice.choice(PEOPLE), text, 1_779_271_200_000))
    return made


def rows(count: int = COUNT) -> list[Row]:
    made = sections(count)
    begun = time.perf_counter()
    chain = build_chain(universal(), Identity(("Robin Vale",), ("email:robin@example.com",)))
    list(chain.extract(made[:2]))
    load = time.perf_counter() - begun
    taken: list[float] = []
    used = time.process_time()
    for first in range(0, count, BATCH):
        begun = time.perf_counter()
        list(chain.extract(made[first : first + BATCH]))
        taken.append(time.perf_counter() - begun)
    used = time.process_time() - used
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    begun = time.perf_counter()
    Embedder().embed([section.text for section in made])
    embedding = time.perf_counter() - begun
    both = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return [
        Row("tiers 0 and 1 over sections of 50 words", BATCH / statistics.median(taken), "sections/s", least=40),
        Row("  the same in processor time", count / used, "sections/s", least=40),
        Row("  resident at most", resident, "MB", most=700),
        Row("  models loaded", load, "s"),
        Row("  vectors of the same sections", count / embedding, "sections/s"),
        Row("  resident at most, with the model of the vectors", both, "MB", most=700),
    ]
