"""Builds a small model with the files, inputs and outputs of a GLiNER2 export: run it with a folder to write one there.

Its weights are a rule: it knows the first and last words of some names, and a span scores high for a type where it
begins with a first and ends with a last word of that type. The graphs are those of the library's own export: an
encoder, span representations, label embeddings read at the `[E]` marks, and a classifier that is loaded and not used.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

TYPES = ("person", "place", "organization", "concept", "artifact", "event", "time", "idea", "fact")
NAMES = {
    "nadia okoro": "person",
    "fennel labs": "organization",
    "quillfeather": "organization",
    "lisbon": "place",
    "harbour summit": "event",
    "monday": "time",
    "may 2025": "time",
    "she": "person",
}
MARKS = ("[PAD]", "[UNK]", "[SEP_STRUCT]", "[SEP_TEXT]", "[P]", "[C]", "[E]", "[R]", "[L]", "[DESCRIPTION]")
HIDDEN = 20
FIRST, LAST = 0, len(TYPES)
"""Where in a hidden state it stands that a word is the first, or the last, of a name of each type."""
BOTH, BIAS = 8.0, 12.0
"""A span with both ends scores 2 * 8 - 12 = 4 (0.98 after the sigmoid), with one end -4."""


def build(folder: Path, *, names: dict[str, str] = NAMES, precision: str = "fp32") -> Path:
    """Write the model's files into a folder, and return it."""
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    words = sorted({word for name in names for word in name.split()} | set(TYPES))
    vocabulary = {token: number for number, token in enumerate((*MARKS, "(", ")", "entities", *words))}
    _tokenizer(vocabulary).save(str(folder / "tokenizer.json"))
    suffix = "" if precision == "fp32" else f"_{precision}"
    files = {part: f"onnx/{part}{suffix}.onnx" for part in ("encoder", "classifier", "span_rep", "count_embed")}
    _json(folder / "config.json", {"hidden_size": HIDDEN, "vocab_size": len(vocabulary)})
    _json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"})
    marks = {mark: vocabulary[mark] for mark in MARKS if mark not in ("[PAD]", "[UNK]")}
    _json(folder / "gliner2_config.json", {"max_width": 8, "special_tokens": marks, "onnx_files": {precision: files}})
    for part, model in (
        ("encoder", _encoder(vocabulary, names)),
        ("classifier", _classifier()),
        ("span_rep", _span_rep()),
        ("count_embed", _count_embed()),
    ):
        onnx.checker.check_model(model)
        (folder / files[part]).write_bytes(model.SerializeToString())
    return folder


def _json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def _tokenizer(vocabulary: dict[str, int]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens([AddedToken(mark, normalized=False) for mark in MARKS])
    return tokenizer


def _model(
    nodes: list[onnx.NodeProto],
    ins: list[onnx.ValueInfoProto],
    outs: list[onnx.ValueInfoProto],
    weights: Mapping[str, NDArray[Any]],
) -> onnx.ModelProto:
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "tiny", ins, outs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _floats(name: str, *shape: str | int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _numbers(name: str, *shape: str | int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.INT64, shape)


def _encoder(vocabulary: dict[str, int], names: dict[str, str]) -> onnx.ModelProto:
    """A word's state says which names it begins and ends; the state at `[E]` says which type's word comes next."""
    own = np.zeros((len(vocabulary), HIDDEN), np.float32)
    following = np.zeros((len(vocabulary), HIDDEN), np.float32)
    mark = np.zeros((len(vocabulary), 1), np.float32)
    mark[vocabulary["[E]"]] = 1
    for name, kind in names.items():
        own[vocabulary[name.split()[0]], FIRST + TYPES.index(kind)] = 1
        own[vocabulary[name.split()[-1]], LAST + TYPES.index(kind)] = 1
    for number, kind in enumerate(TYPES):
        following[vocabulary[kind], FIRST + number] = 1
    nodes = [
        helper.make_node("Gather", ["own", "input_ids"], ["state"]),
        helper.make_node("Slice", ["input_ids", "one", "end", "one"], ["rest"]),
        helper.make_node("Pad", ["rest", "pads"], ["next"]),
        helper.make_node("Gather", ["following", "next"], ["coming"]),
        helper.make_node("Gather", ["mark", "input_ids"], ["marked"]),
        helper.make_node("Mul", ["coming", "marked"], ["label"]),
        helper.make_node("Add", ["state", "label"], ["both"]),
        helper.make_node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["seen", "last"], ["mask"]),
        helper.make_node("Mul", ["both", "mask"], ["hidden_states"]),
    ]
    weights: dict[str, NDArray[Any]] = {
        "own": own,
        "following": following,
        "mark": mark,
        "one": np.array([1], np.int64),
        "end": np.array([2**31], np.int64),
        "pads": np.array([0, 0, 0, 1], np.int64),
        "last": np.array([2], np.int64),
    }
    ins = [_numbers("input_ids", "batch", "seq_len"), _numbers("attention_mask", "batch", "seq_len")]
    return _model(nodes, ins, [_floats("hidden_states", "batch", "seq_len", HIDDEN)], weights)


def _span_rep() -> onnx.ModelProto:
    first, last = np.zeros((HIDDEN, HIDDEN), np.float32), np.zeros((HIDDEN, HIDDEN), np.float32)
    for number in range(len(TYPES)):
        first[FIRST + number, number] = last[LAST + number, number] = 1
    bias = np.zeros(HIDDEN, np.float32)
    bias[-1] = 1
    nodes = []
    for side in ("start", "end"):
        nodes += [
            helper.make_node("Unsqueeze", [f"span_{side}_idx", "two"], [f"{side}_at"]),
            helper.make_node("GatherND", ["hidden_states", f"{side}_at"], [f"{side}_state"], batch_dims=1),
            helper.make_node("MatMul", [f"{side}_state", side], [f"{side}_rep"]),
        ]
    nodes += [
        helper.make_node("Add", ["start_rep", "end_rep"], ["ends"]),
        helper.make_node("Add", ["ends", "bias"], ["span_representations"]),
    ]
    ins = [
        _floats("hidden_states", "batch", "seq_len", HIDDEN),
        _numbers("span_start_idx", "batch", "num_spans"),
        _numbers("span_end_idx", "batch", "num_spans"),
    ]
    weights: dict[str, NDArray[Any]] = {"start": first, "end": last, "bias": bias, "two": np.array([2], np.int64)}
    return _model(nodes, ins, [_floats("span_representations", "batch", "num_spans", HIDDEN)], weights)


def _count_embed() -> onnx.ModelProto:
    turn, bias = np.zeros((HIDDEN, HIDDEN), np.float32), np.zeros(HIDDEN, np.float32)
    for number in range(len(TYPES)):
        turn[FIRST + number, number] = BOTH
    bias[-1] = -BIAS
    nodes = [
        helper.make_node("MatMul", ["label_embeddings", "turn"], ["turned"]),
        helper.make_node("Add", ["turned", "bias"], ["transformed_embeddings"]),
    ]
    ins, outs = [_floats("label_embeddings", "n", HIDDEN)], [_floats("transformed_embeddings", "n", HIDDEN)]
    return _model(nodes, ins, outs, {"turn": turn, "bias": bias})


def _classifier() -> onnx.ModelProto:
    nodes = [helper.make_node("MatMul", ["hidden_state", "weight"], ["logit"])]
    weights = {"weight": np.zeros((HIDDEN, 1), np.float32)}
    return _model(nodes, [_floats("hidden_state", "batch", HIDDEN)], [_floats("logit", "batch", 1)], weights)


if __name__ == "__main__":
    sys.stdout.write(f"{build(Path(sys.argv[1]))}\n")
