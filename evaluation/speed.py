"""Measures the chain: sections a second on sections of about 50 words, and the memory of the whole process.

usage: python evaluation/speed.py [SECTIONS] [--embed]
"""

import random
import resource
import sys
import time

from ctxsync.engine.extraction.base import Episode, Identity
from ctxsync.engine.extraction.chain import build_chain
from ctxsync.engine.schema import universal

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


def main() -> None:
    """Print the measurements."""
    counts = [int(a) for a in sys.argv[1:] if a.isdigit()]
    made = sections(counts[0] if counts else 640)
    chain = build_chain(universal(), Identity(("Robin Vale",), ("email:robin@example.com",)))
    started = time.perf_counter()
    list(chain.extract(made[:2]))
    print(f"load {time.perf_counter() - started:.1f} s")
    started, cpu = time.perf_counter(), time.process_time()
    relations = 0
    for first in range(0, len(made), 64):
        relations += sum(len(found.relations) for found, _ in chain.extract(made[first : first + 64]))
    took, used = time.perf_counter() - started, time.process_time() - cpu
    words = sum(len(e.text.split()) for e in made) / len(made)
    print(
        f"{len(made)} sections of {words:.0f} words: {len(made) / took:.0f} a second ({len(made) / used:.0f} a CPU second)"
    )
    print(f"{relations / len(made):.1f} relations a section")
    if "--embed" in sys.argv:
        from ctxsync.engine.embedding import Embedder

        started = time.perf_counter()
        Embedder().embed([e.text for e in made])
        print(f"embedded {len(made) / (time.perf_counter() - started):.0f} a second")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
