"""What a GLiNER2 model folder holds: the files that `gliner2_config.json` names, and their digest; opens no model.

The layout is that of the library `gliner2-onnx`: four graphs for each precision, and a tokenizer beside them.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from ctxsync.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONFIG = "gliner2_config.json"
BESIDE = ("config.json", "tokenizer.json", "tokenizer_config.json")
PARTS = ("encoder", "classifier", "span_rep", "count_embed")
TOKENS = ("[P]", "[L]", "[E]", "[SEP_TEXT]")
# On processors half precision is converted back at each step: no faster, so what is whole comes first.
PRECISIONS = ("fp32", "fp16")
MANIFEST = "ctxsync-model.json"
"""What the store writes into a folder that it keeps: `files` with sizes and SHA-256, and `digest` over them."""
DATA = (".data", "_data")
"""What a graph's file of plain tensors beside it ends with, after the graph's own name."""
_CHUNK = 1 << 20
REMEDY = "Get the whole folder of an ONNX export for `gliner2-onnx`; docs/models.md names the files."


def config_of(path: Path) -> dict[str, Any]:
    """Return the settings of a model folder.

    Raises:
        ModelError: They are missing, are no JSON, or are not those of such a model.
    """
    for name in (CONFIG, *BESIDE):
        try:
            value = json.loads((path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or "it is not JSON"
            raise ModelError(f"{path / name} cannot be read: {said}.", remedy=REMEDY) from error
        if not isinstance(value, dict):
            raise ModelError(f"{path / name} holds no settings.", remedy=REMEDY)
        if "auto_map" in value:
            raise ModelError(f"{path / name} asks for code of its own to be run.", remedy=REMEDY)
    config: dict[str, Any] = json.loads((path / CONFIG).read_text(encoding="utf-8"))
    tokens, width = config.get("special_tokens"), config.get("max_width")
    if not isinstance(tokens, dict) or any(not isinstance(tokens.get(token), int) for token in TOKENS):
        raise ModelError(f"{path / CONFIG} lacks one of the tokens {', '.join(TOKENS)}.", remedy=REMEDY)
    if not isinstance(width, int) or width < 1 or not isinstance(config.get("onnx_files"), dict):
        raise ModelError(f"{path / CONFIG} lacks max_width or onnx_files.", remedy=REMEDY)
    return config


def precision_of(path: Path) -> str:
    """Return the precision to run: `fp32` where its graphs are there, else another one whose are.

    Raises:
        ModelError: No precision has all of its graphs.
    """
    offered = graphs(config_of(path))
    missing = ""
    order = [*(name for name in PRECISIONS if name in offered), *sorted(offered.keys() - set(PRECISIONS))]
    for precision in order:
        absent = [name for name in offered[precision] if not (path / name).is_file()]
        if not absent:
            return precision
        missing = missing or absent[0]
    raise ModelError(f"{path / missing if missing else path} is missing.", remedy=REMEDY)


def graphs(config: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the graphs of each precision as paths within the folder; a precision that is not whole is left out."""
    found = {}
    for precision, parts in config["onnx_files"].items():
        named = [parts.get(part) for part in PARTS] if isinstance(parts, dict) else []
        names = [name for name in named if isinstance(name, str) and is_inside(name)]
        if len(names) == len(PARTS):
            found[str(precision)] = tuple(names)
    return found


def is_inside(name: str) -> bool:
    """Say whether a relative path with slashes stays within its folder."""
    parts = name.split("/")
    return bool(name) and "\\" not in name and "\0" not in name and not any(part in ("", ".", "..") for part in parts)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, hex."""
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            hashed.update(chunk)
    return hashed.hexdigest()


def digest_over(files: Mapping[str, str]) -> str:
    """Return one SHA-256 over names and the SHA-256 of each: two folders with the same files have the same."""
    lines = "".join(f"{files[name]}  {name}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()


def digest_of(path: Path) -> str:
    """Return the digest of a model folder: that of its manifest where it has one, else computed from its files."""
    try:
        return str(json.loads((path / MANIFEST).read_text(encoding="utf-8"))["digest"])
    except (OSError, ValueError, KeyError, TypeError):
        names = [file for file in sorted(path.rglob("*")) if file.is_file() and file.name != MANIFEST]
        return digest_over({file.relative_to(path).as_posix(): sha256_of(file) for file in names})
