"""Runs the English model over documents, part by part; what comes out is what `nlp.pipe` gives.

spaCy's recogniser of names takes the interpreter's lock for each of its 74 moves at each token, which cost as much as all
the rest of the model. Here the same weights are read over numpy, for all tokens at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.attrs import IS_SPACE, SENT_START
from spacy.tokens import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Documents that go through the network together: more of them do not fit the processor's caches.
BATCH = 16


class Pipeline:
    """The parts of a spaCy pipeline.

    Args:
        nlp: All of its parts are trained ones. A recogniser of names of another build than the usual one works as well,
            at spaCy's own speed.
    """

    def __init__(self, nlp: Any) -> None:
        for _, part in nlp.pipeline:
            for node in part.model.walk():
                # numpy's products take two thirds of the time of those that come with spaCy.
                node.ops.use_blis = False
        self._parts = [Names(part) if Names.reads(part) else part for _, part in nlp.pipeline]

    def analyse(self, docs: Sequence[Any]) -> None:
        """Tag, parse and label documents, in place; they are best given in order of their length."""
        for first in range(0, len(docs), BATCH):
            batch = list(docs[first : first + BATCH])
            for part in self._parts:
                part.set_annotations(batch, part.predict(batch))


class Names:
    """Labels the names of documents with a recogniser's weights, greedily, move by move, as spaCy does.

    Outside a name a move depends on the next token alone, so the moves of all tokens are weighed at once; within one
    it depends on the name's first token and on the last one as well. The rules of which move is allowed are those of
    `spacy.pipeline.ner` for documents without labels: no name goes beyond its sentence or begins with a space.
    """

    def __init__(self, part: Any) -> None:
        self._vectors, self._lower = part.model.get_ref("tok2vec"), part.model.get_ref("lower")
        upper = part.model.get_ref("upper")
        self._weights, self._bias = upper.get_param("W"), upper.get_param("b")
        self._moves = [tuple(part.moves.get_class_name(k).partition("-")[::2]) for k in range(part.moves.n_moves)]
        # What is added to the scores of a token outside names: the moves that may not be chosen there, and those that
        # may not where a sentence ends. The move `U` without a label is for documents that come with labels.
        self._outside, self._alone = (
            np.array([0 if k in kinds and (k == "O" or label) else -np.inf for k, label in self._moves], np.float32)
            for kinds in ("OUB", "OU")
        )
        self._nothing = self._moves.index(("O", ""))
        self._inner = {label: self._moves.index(("I", label)) for kind, label in self._moves if kind == "I"}
        self._last = {label: self._moves.index(("L", label)) for kind, label in self._moves if kind == "L"}

    @staticmethod
    def reads(part: Any) -> bool:
        """Say whether a part is a recogniser of names of the build that is read here: three tokens to a state."""
        names = getattr(part, "move_names", ())
        model = part.model
        return (
            "O" in names
            and model.has_ref("upper") is True
            and model.get_ref("lower").get_dim("nF") == 3
            and model.get_ref("lower").get_dim("nP") > 1
            and not model.attrs.get("unseen_classes")
            and part.cfg.get("beam_width", 1) == 1
        )

    def predict(self, docs: Sequence[Any]) -> list[list[tuple[int, int, str]]]:
        """Return the names of each document: first token, one past the last one, label."""
        if not any(len(doc) for doc in docs):
            return [[] for _ in docs]
        # Row 0 stands for no token at all.
        tokens = self._lower.predict(self._vectors.predict(docs))
        scores = self._scores(tokens[1:, 0] + tokens[0, 1] + tokens[0, 2])
        any_move = (scores + self._outside).argmax(axis=1)
        one_token = (scores + self._alone).argmax(axis=1)
        found = []
        offset = 0
        for doc in docs:
            end = offset + len(doc)
            shape = doc.to_array([SENT_START, IS_SPACE]).astype(np.int64)
            closing = np.append(shape[1:, 0] == 1, True)
            moves = np.where(closing, one_token[offset:end], any_move[offset:end])
            moves[shape[:, 1] == 1] = self._nothing
            found.append(self._names(moves, closing, tokens[offset + 1 : end + 1]))
            offset = end
        return found

    def set_annotations(self, docs: Sequence[Any], names: Sequence[Sequence[tuple[int, int, str]]]) -> None:
        """Label the documents."""
        for doc, spans in zip(docs, names, strict=True):
            doc.set_ents([Span(doc, start, end, label=label) for start, end, label in spans], default="outside")

    def _scores(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the scores of the moves for each state, from the sum of its tokens' parts."""
        hidden = (hidden + self._lower.get_param("b")).max(axis=-1)
        result: NDArray[np.float32] = hidden @ self._weights.T + self._bias
        return result

    def _names(
        self, moves: NDArray[np.intp], closing: NDArray[np.bool_], tokens: NDArray[np.float32]
    ) -> list[tuple[int, int, str]]:
        """Return the names of one document, by the best move of each token outside names."""
        found = []
        end = 0
        for start in np.flatnonzero(moves != self._nothing).tolist():
            if start < end:
                continue
            kind, label = self._moves[moves[start]]
            end = start + 1
            if kind == "B":
                while not closing[end] and self._goes_on(tokens, start, end, label):
                    end += 1
                end += 1
            found.append((start, end, label))
        return found

    def _goes_on(self, tokens: NDArray[np.float32], start: int, at: int, label: str) -> bool:
        """Say whether a name that began at `start` has more tokens behind `at`."""
        scores = self._scores(tokens[at, 0] + tokens[start, 1] + tokens[at - 1, 2])
        return bool(scores[self._inner[label]] > scores[self._last[label]])
