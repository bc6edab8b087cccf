"""Which message speaks for a meeting: of the invitations to it, its updates and its cancellation, the latest. Knows no fact.

Ranked, highest first: a more trusted source, the organizer's own message, a later SEQUENCE (RFC 5546 2.1.4), a later
message. The others say nothing of the meeting, only of themselves; a cancellation that speaks leaves nothing said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.engine.graph.rows import query

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxsync.engine.graph.memory import Memory
    from ctxsync.engine.graph.records import Episode
    from ctxsync.engine.graph.statements import Plan

INVITING = """
SELECT DISTINCT e.episode FROM node AS n JOIN mention AS m ON m.node = n.id JOIN episode AS e ON e.id = m.episode
WHERE n.node = ? AND m.until IS NULL
"""
SPEAKS = """
SELECT 1 FROM evidence WHERE episode = :episode AND active AND relation <> 'references' AND :node IN (head, tail) LIMIT 1
"""

Rank = tuple[int, bool, int, int, str]


class Invitations:
    """Ranks the messages that invite to the same meeting.

    Args:
        memory: The objects of the batch.
        plan: Returns what an episode says that counts; nothing where none does.
        trust: Returns the trust in an episode.
    """

    def __init__(self, memory: Memory, plan: Callable[[Episode], Plan | None], trust: Callable[[Episode], int]) -> None:
        self.memory = memory
        self._plan = plan
        self._trust = trust
        self._ranks: dict[str, dict[str, Rank]] = {}

    def forget(self) -> None:
        """Let go of what is cached, with the memory."""
        self._ranks.clear()

    def silent(self, episode: Episode, plan: Plan) -> frozenset[str]:
        """Return the meetings of which an episode says nothing, for another message speaks."""
        return frozenset(node for node, *_ in plan.invites if self._speaker(node) != episode.text)

    def change(self, episode: Episode, plan: Plan, *, counts: bool) -> list[Episode]:
        """Take an episode's invitations in, or out; return the other episodes that speak no longer, or from now on.

        What is in the graph tells who spoke: the ranks of before are not kept, and trust may have changed since.
        """
        changed: dict[str, Episode] = {}
        for node, sequence, by_organizer in plan.invites:
            ranks = self._of(node)
            if counts:
                ranks[episode.text] = self._rank(episode, sequence, by_organizer=by_organizer)
            else:
                ranks.pop(episode.text, None)
            if ranks.keys() <= {episode.text}:
                continue
            self.memory.flush()
            speaker = self._speaker(node)
            for text in sorted(ranks.keys() - {episode.text}):
                other = self.memory.find_episode(text)
                if other is not None and (text == speaker) != self._speaks(other, node):
                    changed[text] = other
        return list(changed.values())

    def _speaks(self, episode: Episode, node: str) -> bool:
        id_ = self.memory.node(node).id
        return bool(query(self.memory.db, SPEAKS, {"episode": episode.id, "node": id_}))

    def _rank(self, episode: Episode, sequence: int, *, by_organizer: bool) -> Rank:
        return self._trust(episode), by_organizer, sequence, episode.occurred_at, episode.text

    def _speaker(self, node: str) -> str:
        ranks = self._of(node)
        return max(ranks, key=lambda text: ranks[text]) if ranks else ""

    def _of(self, node: str) -> dict[str, Rank]:
        found = self._ranks.get(node)
        if found is None:
            found = self._ranks[node] = {}
            if not self.memory.complete:
                self.memory.flush()
                for (text,) in query(self.memory.db, INVITING, (node,)):
                    self._take(node, text)
        return found

    def _take(self, node: str, text: str) -> None:
        episode = self.memory.find_episode(text)
        plan = self._plan(episode) if episode is not None and episode.counted > 0 else None
        for invited, sequence, by_organizer in plan.invites if plan is not None else ():
            if invited == node and episode is not None:
                self._ranks[node][text] = self._rank(episode, sequence, by_organizer=by_organizer)
