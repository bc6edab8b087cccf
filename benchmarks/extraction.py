"""What tiers 0 and 1 and the vectors of a section of about 60 words cost, alone and in batches, and the memory they take."""

from __future__ import annotations

import random
import resource
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from benchmarks.report import Row
from ctxsync.engine.embedding import Embedder
from ctxsync.engine.extraction.base import Episode, Identity
from ctxsync.engine.extraction.chain import build_chain
from ctxsync.engine.schema import universal

COUNT = 640
BATCH, ALONE = 64, 200
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
            for _ in range(5)
        )
        made.append(Episode(f"e{number}", f"note:{number}", "note", dice.choice(PEOPLE), text, 1_779_271_200_000))
    return made


def rows(count: int = COUNT) -> list[Row]:
    made = sections(count)
    begun = time.perf_counter()
    chain = build_chain(universal(), Identity(("Robin Vale",), ("email:robin@example.com",)))
    embedder = Embedder()
    list(chain.extract(made[:2]))
    embedder.embed([made[0].text])
    load = time.perf_counter() - begun
    alone: list[float] = []
    in_turn: list[float] = []
    with ThreadPoolExecutor(1) as beside:
        # As a sync does it: the vectors are made outside the interpreter's lock, on the other core.
        for section in made[:ALONE]:
            begun = time.perf_counter()
            vector = beside.submit(embedder.embed, [section.text])
            list(chain.extract([section]))
            vector.result()
            alone.append(1000 * (time.perf_counter() - begun))
    for section in made[:ALONE]:
        begun = time.perf_counter()
        list(chain.extract([section]))
        embedder.embed([section.text])
        in_turn.append(1000 * (time.perf_counter() - begun))
    begun, used = time.perf_counter(), time.process_time()
    for first in range(0, count, BATCH):
        list(chain.extract(made[first : first + BATCH]))
    taken, used = time.perf_counter() - begun, time.process_time() - used
    begun = time.perf_counter()
    with ThreadPoolExecutor(1) as beside:
        vectors = []
        for first in range(0, count, BATCH):
            batch = made[first : first + BATCH]
            list(chain.extract(batch))
            vectors.append(beside.submit(embedder.embed, [section.text for section in batch]))
        for vector in vectors:
            vector.result()
    both = time.perf_counter() - begun
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    centiles = statistics.quantiles(alone, n=20)
    return [
        Row(
            "tiers 0 and 1 and the vector beside, a section of 60 words, median",
            statistics.median(alone),
            "ms",
            most=20,
        ),
        Row("  95 of 100 take at most", centiles[18], "ms", most=60),
        Row("  median, the vector after the extraction", statistics.median(in_turn), "ms"),
        Row("  in batches, vectors beside the extraction", count / both, "sections/s", least=60),
        Row("  in batches, without vectors", count / taken, "sections/s"),
        Row("  the same in processor time", count / used, "sections/s"),
        Row("  resident at most", resident, "MB", most=600),
        Row("  models loaded", load, "s"),
    ]
