"""all-MiniLM-L6-v2 as a graph that multiplies whole numbers, made from the packaged file; knows no text, runs nothing.

The packaged graph holds its weights as int8, but multiplies in float: onnxruntime makes floats of them when it loads. Here
both sides of every product with weights are 8 bits wide, which processors multiply several times as fast. The weights are
the packaged ones, to the bit. What meets them is rounded token by token: each token's numbers have a scale of their
own, so that a token's numbers, and so a text's vector, do not depend on what else is in the batch, and an outlier in one
costs the others nothing. All else (attention, gelu, layer norms) stays float. How near the vectors are to those of the
packaged graph, and what was tried besides: docs/adr/0003.

Texts of one run have the same number of tokens, so that nothing is padded and nothing has to be masked.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ctxsync.engine.onnx_file import CONTRIB, FLOAT, INT64, UINT8, Writer, tensors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

LAYERS, HEADS, WIDTH, INNER = 6, 12, 384, 1536
SIZE = WIDTH // HEADS
POSITIONS = 256
EPSILON = 1e-12
"""Of the layer norms, as BERT has it."""
INPUT, OUTPUT = "ids", "hidden"

# A token's numbers become 1 to 255 about this middle, the largest one 127 from it.
MIDDLE = 128
# Gelu is never under -0.17: a lower zero leaves more steps for what is above it. It still reaches that far down.
GELU_ZERO, GELU_LEAST = 32, 0.17
# Numbers that are all zero need a scale, too.
TINY = 1e-9

_SHAPES = [(WIDTH, WIDTH)] * 4 + [(WIDTH, INNER), (INNER, WIDTH)]


def graph(file: bytes, *, unsigned: bool = False) -> bytes:
    """Return the ONNX file of the graph: `ids` (texts, tokens) int64 to `hidden` (texts, tokens, 384) float32.

    Args:
        file: The packaged model.
        unsigned: Keep the weights as uint8, which gives the same numbers: for processors whose instructions for
            uint8 by int8 saturate (`probe`).

    Raises:
        ValueError: It is not the model that this was written for.
    """
    return _Builder(_Weights(file), unsigned=unsigned).file()


def probe() -> bytes:
    """Return the ONNX file of a product of uint8 by int8, `a` (8, 64) to `y`, whose sums of two exceed 16 bits."""
    import numpy as np

    writer = Writer()
    left = writer.input("a", UINT8, [8, 64])
    right = writer.constant(np.full((64, 32), 127, dtype=np.int8))
    product = writer.node("MatMulInteger", left, right, writer.constant(np.array(0, dtype=np.uint8)))
    writer.output(writer.node("Cast", product, to=FLOAT), "y", FLOAT, [8, 32])
    return writer.file()


class _Weights:
    """What the packaged file holds, by what it is for."""

    def __init__(self, file: bytes) -> None:
        self._held = tensors(file)
        # Those of products have numbers for names; they stand in the order in which they are used.
        names = [name.removesuffix("_q") for name in self._held if name.startswith("val_") and name.endswith("_q")]
        shapes = [self._held[f"{name}_q"].shape for name in names]
        if shapes != _SHAPES * LAYERS:
            raise ValueError("the products are not those of MiniLM")
        self._products = names

    def get(self, name: str) -> Any:
        """Return a tensor by its name, less what all names begin with."""
        try:
            return self._held[f"inner.{name}"]
        except KeyError as error:
            raise ValueError(f"it has no {name}") from error

    def product(self, layer: int, number: int) -> tuple[Any, Floats]:
        """Return int8 weights (in, out) and the scale of each column; 0 to 3 are query, key, value and output."""
        name = self._products[layer * len(_SHAPES) + number]
        try:
            return self._held[f"{name}_q"], self._held[f"{name}_scale"].reshape(-1)
        except KeyError as error:
            raise ValueError(f"it has no scale of {name}") from error


class _Builder:
    def __init__(self, weights: _Weights, *, unsigned: bool) -> None:
        import numpy as np

        self._weights = weights
        self._unsigned = unsigned
        self._writer = writer = Writer()
        self._ids = writer.input(INPUT, INT64, ["texts", "tokens"])
        self._flat = writer.node("Reshape", self._ids, self._whole([-1]))
        self._length = writer.node("Gather", writer.node("Shape", self._ids), self._whole([1]))
        self._rows = writer.node("Shape", self._flat)
        self._one = self._floats(1)
        self._zero_right = writer.constant(np.array(128, dtype=np.uint8)) if unsigned else ""
        # A zero for the scalar that a product takes, and one for each row, which rounding by rows takes.
        self._zeros = {
            zero: (
                writer.constant(np.array(zero, dtype=np.uint8)),
                writer.node("ConstantOfShape", self._rows, value=np.array([zero], dtype=np.uint8)),
            )
            for zero in (MIDDLE, GELU_ZERO)
        }
        self._by_text = self._joined([-1], [WIDTH])
        self._by_head = self._joined([-1], [HEADS, SIZE])
        self._by_row = self._whole([-1, WIDTH])

    def file(self) -> bytes:
        state = self._embedded()
        for layer in range(LAYERS):
            state = self._attended(layer, state)
            state = self._thought(layer, state)
        state = self._writer.node("Reshape", state, self._by_text)
        self._writer.output(state, OUTPUT, FLOAT, ["texts", "tokens", WIDTH])
        return self._writer.file()

    def _embedded(self) -> str:
        """Sum up the vectors of word, place and kind (which is always the first); words are made float one by one."""
        import numpy as np

        writer, get = self._writer, self._weights.get
        prefix = "embeddings."
        word = writer.node("Gather", writer.constant(get(f"{prefix}word_embeddings.weight_q")), self._flat)
        scale = writer.node("Gather", writer.constant(get(f"{prefix}word_embeddings.weight_scale")), self._flat)
        words = writer.node("Mul", writer.node("Cast", word, to=FLOAT), scale)
        places = get(f"{prefix}position_embeddings.weight_q")[:POSITIONS].astype(np.float32)
        places = places * get(f"{prefix}position_embeddings.weight_scale")[:POSITIONS]
        places = places + get(f"{prefix}token_type_embeddings.weight")[0]
        place = writer.node("Slice", self._floats(places), self._whole([0]), self._length, self._whole([0]))
        summed = writer.node("Add", writer.node("Reshape", words, self._by_text), place)
        return self._normed(writer.node("Reshape", summed, self._by_row), f"{prefix}LayerNorm")

    def _attended(self, layer: int, state: str) -> str:
        """Let each token take from the others what it asks for."""
        writer = self._writer
        prefix = f"encoder.layer.{layer}.attention."
        rounded = self._rounded(state)
        # The division by the root of the size stands in the scale of the queries. A bias of the keys adds the same to all
        # that a query is compared with, which softmax takes out; one of the values passes through whole to the output.
        weights, scale = self._weights.product(layer, 0)
        root = math.sqrt(SIZE)
        query = self._product(rounded, weights, scale / root, self._weights.get(f"{prefix}self.query.bias") / root)
        key = self._product(rounded, *self._weights.product(layer, 1))
        value = self._product(rounded, *self._weights.product(layer, 2))
        query = writer.node("Transpose", writer.node("Reshape", query, self._by_head), perm=[0, 2, 1, 3])
        key = writer.node("Transpose", writer.node("Reshape", key, self._by_head), perm=[0, 2, 3, 1])
        value = writer.node("Transpose", writer.node("Reshape", value, self._by_head), perm=[0, 2, 1, 3])
        share = writer.node("Softmax", writer.node("MatMul", query, key), axis=-1)
        taken = writer.node("Transpose", writer.node("MatMul", share, value), perm=[0, 2, 1, 3])
        taken = writer.node("Reshape", taken, self._by_row)
        weights, scale = self._weights.product(layer, 3)
        through = (self._weights.get(f"{prefix}self.value.bias") @ weights) * scale
        bias = self._weights.get(f"{prefix}output.dense.bias") + through
        given = self._product(self._rounded(taken), weights, scale, bias)
        return self._normed(writer.node("Add", given, state), f"{prefix}output.LayerNorm")

    def _thought(self, layer: int, state: str) -> str:
        writer, get = self._writer, self._weights.get
        prefix = f"encoder.layer.{layer}."
        inner = self._product(
            self._rounded(state), *self._weights.product(layer, 4), get(f"{prefix}intermediate.dense.bias")
        )
        inner = writer.node("Gelu", inner, domain=CONTRIB)
        outer = self._product(
            self._rounded_gelu(inner), *self._weights.product(layer, 5), get(f"{prefix}output.dense.bias")
        )
        return self._normed(writer.node("Add", outer, state), f"{prefix}output.LayerNorm")

    def _rounded(self, state: str) -> tuple[str, str, str]:
        """Return numbers as uint8, the scale of each row, and the zero."""
        top = self._writer.node("ReduceMax", self._writer.node("Abs", state), axes=[1], keepdims=1)
        return self._by_scale(state, top, 127, TINY, MIDDLE)

    def _rounded_gelu(self, state: str) -> tuple[str, str, str]:
        top = self._writer.node("ReduceMax", state, axes=[1], keepdims=1)
        return self._by_scale(state, top, 255 - GELU_ZERO, GELU_LEAST / GELU_ZERO, GELU_ZERO)

    def _by_scale(self, state: str, top: str, steps: int, least: float, zero: int) -> tuple[str, str, str]:
        import numpy as np

        writer = self._writer
        scale = writer.node("Mul", top, self._floats(np.array([1 / steps])))
        scale = writer.node("Max", scale, self._floats(np.array([least])))
        scalar, rows = self._zeros[zero]
        rounded = writer.node("QuantizeLinear", state, writer.node("Reshape", scale, self._whole([-1])), rows, axis=0)
        return rounded, scale, scalar

    def _product(self, left: tuple[str, str, str], weights: Any, scale: Any, bias: Any = None) -> str:
        """Multiply rounded rows by weights; the columns' scale is applied within the product, the rows' after it."""
        import numpy as np

        writer = self._writer
        rounded, rows, zero = left
        right = (weights.view(np.uint8) ^ 0x80) if self._unsigned else weights
        inputs = [rounded, writer.constant(right), self._one, self._floats(scale), zero]
        inputs += [self._zero_right] if self._unsigned else []
        made = writer.node("Mul", writer.node("MatMulIntegerToFloat", *inputs, domain=CONTRIB), rows)
        return made if bias is None else writer.node("Add", made, self._floats(bias))

    def _normed(self, state: str, name: str) -> str:
        get = self._weights.get
        scale, bias = self._floats(get(f"{name}.weight")), self._floats(get(f"{name}.bias"))
        return self._writer.node("LayerNormalization", state, scale, bias, axis=-1, epsilon=EPSILON)

    def _joined(self, before: list[int], after: list[int]) -> str:
        """Return a shape with the number of tokens of a text within."""
        return self._writer.node("Concat", self._whole(before), self._length, self._whole(after), axis=0)

    def _whole(self, values: list[int]) -> str:
        import numpy as np

        return self._writer.constant(np.array(values, dtype=np.int64))

    def _floats(self, values: Any) -> str:
        import numpy as np

        return self._writer.constant(np.asarray(values, dtype=np.float32))
