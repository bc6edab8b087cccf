"""Reading tensors out of an ONNX file and writing a graph as one; knows no model and runs nothing.

An ONNX file is one protobuf message, and the little of it that is needed here is plain: the package `onnx` would be
another 20 MB to install and 0.12 s to import. Field numbers are those of onnx.proto
(https://github.com/onnx/onnx/blob/main/onnx/onnx.proto), which never change.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Tensor = NDArray[Any]

# TensorProto.DataType.
FLOAT, UINT8, INT8, INT64 = 1, 2, 3, 7
_TYPES = {FLOAT: "<f4", UINT8: "|u1", INT8: "|i1", INT64: "<i8"}
_NUMBERS = {"float32": FLOAT, "uint8": UINT8, "int8": INT8, "int64": INT64}
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5

IR_VERSION, OPSET = 8, 17
"""What a written file asks of its reader: onnxruntime has known both since 1.13."""
CONTRIB = "com.microsoft"
"""The domain of onnxruntime's own operators, version 1."""


def tensors(file: bytes) -> dict[str, Tensor]:
    """Return the initializers of a model's graph, by name, in their order; views into `file`, not to be written to.

    Those of other types than `_TYPES`, and those whose values do not stand as raw bytes, are left out.

    Raises:
        ValueError: It is no ONNX file.
    """
    found: dict[str, Tensor] = {}
    try:
        for number, graph in _fields(memoryview(file)):
            for inner, value in _fields(graph) if number == 7 else ():
                if inner == 5:
                    found |= _tensor(value)
    except (IndexError, TypeError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"no ONNX file: {error}") from error
    return found


def _tensor(message: memoryview) -> dict[str, Tensor]:
    import numpy as np

    shape: list[int] = []
    name, kind, raw = "", 0, None
    for number, value in _fields(message):
        if number == 1:
            shape += [value] if isinstance(value, int) else _packed(value)
        elif number == 2:
            kind = value
        elif number == 8:
            name = bytes(value).decode()
        elif number == 9:
            raw = value
    if raw is None or kind not in _TYPES:
        return {}
    return {name: np.frombuffer(raw, dtype=_TYPES[kind]).reshape(shape)}


def _fields(message: memoryview) -> Iterator[tuple[int, Any]]:
    """Yield each field's number and value: an int, or the bytes of what is longer."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        size = {_EIGHT: 8, _FOUR: 4}.get(kind, -1)
        if kind == _BYTES:
            size, at = _varint(message, at)
        if size < 0 or at + size > len(message):
            raise IndexError("a field ends after its message")
        yield number, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _packed(message: memoryview) -> list[int]:
    values, at = [], 0
    while at < len(message):
        value, at = _varint(message, at)
        values.append(value)
    return values


class Writer:
    """Collects the nodes and constants of one graph.

    Names of values are made here; what a method returns is the name to give to the next node.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._count = 0

    def constant(self, value: Tensor) -> str:
        """Add a constant of float32, uint8, int8 or int64."""
        name = self._name()
        self._parts.append(_field(5, _tensor_message(value, name)))
        return name

    def input(self, name: str, kind: int, shape: Sequence[str | int]) -> str:
        """Declare an input of the graph; a size that is not known before is a name."""
        self._parts.append(_field(11, _value_info(name, kind, shape)))
        return name

    def output(self, value: str, name: str, kind: int, shape: Sequence[str | int]) -> None:
        """Declare that a value is an output of the graph, under a name."""
        self._node("Identity", [value], [name], "", {})
        self._parts.append(_field(12, _value_info(name, kind, shape)))

    def node(self, operator: str, *inputs: str, domain: str = "", **attributes: float | list[int] | Tensor) -> str:
        """Add a node with one output; return that. An optional input that is not given is the empty name."""
        return self.nodes(operator, *inputs, count=1, domain=domain, **attributes)[0]

    def nodes(self, operator: str, *inputs: str, count: int, domain: str = "", **attributes: Any) -> list[str]:
        """Add a node with `count` outputs; return these."""
        outputs = [self._name() for _ in range(count)]
        self._node(operator, inputs, outputs, domain, attributes)
        return outputs

    def file(self) -> bytes:
        """Return the graph as an ONNX file."""
        graph = b"".join([*self._parts, _field(2, b"graph")])
        opsets = [
            _field(8, _field(1, domain) + _whole(2, version))
            for domain, version in ((b"", OPSET), (CONTRIB.encode(), 1))
        ]
        return b"".join([_whole(1, IR_VERSION), _field(7, graph), *opsets])

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _node(
        self, operator: str, inputs: Sequence[str], outputs: Sequence[str], domain: str, attributes: dict[str, Any]
    ) -> None:
        parts = [_field(1, name.encode()) for name in inputs]
        parts += [_field(2, name.encode()) for name in outputs]
        parts += [_field(4, operator.encode()), _field(7, domain.encode())]
        parts += [_field(5, _attribute(name, value)) for name, value in attributes.items()]
        self._parts.append(_field(1, b"".join(parts)))


def _attribute(name: str, value: float | list[int] | Tensor) -> bytes:
    head = _field(1, name.encode())
    if isinstance(value, float):
        return head + _key(2, _FOUR) + struct.pack("<f", value) + _whole(20, 1)
    if isinstance(value, int):
        return head + _whole(3, value) + _whole(20, 2)
    if isinstance(value, list):
        return head + b"".join(_whole(8, each) for each in value) + _whole(20, 7)
    return head + _field(5, _tensor_message(value, "")) + _whole(20, 4)


def _tensor_message(value: Tensor, name: str) -> bytes:
    import numpy as np

    kind = _NUMBERS[value.dtype.name]
    raw = np.ascontiguousarray(value, dtype=_TYPES[kind]).tobytes()
    dims = b"".join(_whole(1, size) for size in value.shape)
    return dims + _whole(2, kind) + _field(8, name.encode()) + _field(9, raw)


def _value_info(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = [_field(2, size.encode()) if isinstance(size, str) else _whole(1, size) for size in shape]
    tensor = _whole(1, kind) + _field(2, b"".join(_field(1, size) for size in sizes))
    return _field(1, name.encode()) + _field(2, _field(1, tensor))


def _key(number: int, kind: int) -> bytes:
    return _encoded(number << 3 | kind)


def _whole(number: int, value: int) -> bytes:
    return _key(number, _VARINT) + _encoded(value)


def _field(number: int, value: bytes) -> bytes:
    return _key(number, _BYTES) + _encoded(len(value)) + value


def _encoded(value: int) -> bytes:
    value &= 0xFFFF_FFFF_FFFF_FFFF  # as int64 is written: a negative one as its two's complement
    done = bytearray()
    while value > 0x7F:
        done.append(value & 0x7F | 0x80)
        value >>= 7
    done.append(value)
    return bytes(done)
