"""Runs a GLiNER2 model through its library: windows of plain text in, names with a type and a score out.

One thread and no memory arena, as for the other models here. The library reads one text at a time, so windows are not
put into batches. It knows the hub that models come from; that is switched off before it is imported.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.gliner.files import config_of, precision_of
from ctxsync.engine.extraction.gliner.windows import prepared, windows
from ctxsync.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

THRESHOLD = 0.5
"""Score under which a name is not one: the default of GLiNER2 itself."""
DESCRIPTION = "[DESCRIPTION]"
BROKEN = "Run `ctxsync models remove gliner2`, then add it again; until then the built-in extractor reads."


@dataclass(frozen=True, slots=True)
class Find:
    """A name that the model found.

    Args:
        start: First character, in the text given.
        end: One past its last.
        name: The characters themselves.
        type: Of the schema.
        score: 0 to 1.
    """

    start: int
    end: int
    name: str
    type: str
    score: float


class Names:
    """Finds names in plain text. The model is opened at the first text (seconds for a large one).

    Args:
        path: The model folder.
        types: Descriptions of the schema's types, by name: the model is asked for each by its name in lower case.
    """

    def __init__(self, path: Path, types: Mapping[str, str]) -> None:
        self._path = path
        self._types = {name.lower(): name for name in types}
        self._about = {name.lower(): about for name, about in types.items()}
        self._runtime: Any = None

    def open(self) -> None:
        """Open the model, where that has not been done.

        Raises:
            ModelError: It cannot be opened: the folder is damaged, or the library is not there.
        """
        if self._runtime is not None:
            return
        try:
            self._runtime = _opened(self._path, self._about)
        except ModelError:
            raise
        except Exception as error:  # whatever library and onnxruntime raise over a file that is not what it should be
            raise ModelError(f"The model in {self._path} cannot be opened: {_said(error)}.", remedy=BROKEN) from error

    def find(self, text: str) -> list[Find]:
        """Return names that do not overlap, in order of place; where two do, the surer one.

        Raises:
            ModelError: The model cannot be opened, or does not run.
        """
        self.open()
        found: list[Find] = []
        shown = prepared(text)
        for window in windows(shown):
            try:
                entities = self._runtime.extract_entities(window.text, list(self._types), THRESHOLD)
            except Exception as error:  # as in open: the library's errors are many and its own
                raise ModelError(f"The model in {self._path} does not run: {_said(error)}.", remedy=BROKEN) from error
            for entity in entities:
                start, end = window.start + entity.start, window.start + entity.end
                if window.first <= start < window.last:
                    score = round(min(1.0, float(entity.score)), 3)
                    found.append(Find(start, end, text[start:end], self._types[entity.label], score))
        return _apart(found)


def _apart(found: Sequence[Find]) -> list[Find]:
    """Keep the surest of those that overlap: a name has one type here, and none lies within another."""
    kept: list[Find] = []
    for find in sorted(found, key=lambda f: (-f.score, f.start - f.end, f.start, f.type)):
        if all(find.end <= other.start or other.end <= find.start for other in kept):
            kept.append(find)
    return sorted(kept, key=lambda f: f.start)


def _opened(path: Path, about: Mapping[str, str]) -> Any:
    config, precision = config_of(path), precision_of(path)
    # The tokenizer comes from the folder. The hub's client reads these once, when it is imported, which somebody else may
    # have done; so its own switch is turned too.
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import huggingface_hub.constants
    import onnxruntime
    from gliner2_onnx import GLiNER2ONNXRuntime

    huggingface_hub.constants.HF_HUB_OFFLINE = True
    told = "".join(f" {DESCRIPTION} {label}: {text}" for label, text in about.items())
    if DESCRIPTION not in config["special_tokens"]:
        told = ""

    class Runtime(GLiNER2ONNXRuntime):  # type: ignore[misc]  # the library has no types
        """The library's runtime, with our session options and with descriptions beside the labels."""

        def _load_model(self, path: Path, providers: list[str]) -> Any:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            options.inter_op_num_threads = 1
            options.enable_cpu_mem_arena = False
            options.log_severity_level = 4
            return onnxruntime.InferenceSession(str(path), options, providers=providers)

        def _build_schema_prefix(self, task_name: str, labels: list[str], label_token_key: str) -> Any:
            # GLiNER2 puts `[DESCRIPTION] label: text` behind the task's name; the library leaves that out.
            return super()._build_schema_prefix(task_name + told, labels, label_token_key)

    return Runtime(path, precision=precision)


def _said(error: Exception) -> str:
    """Return the first line of an error, without the full stop."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(".")
