# A small GGUF version 3 writer: typed metadata, then tensors as F32 or Q8_0, each at a multiple of 32 bytes.
import struct

import numpy as np

ALIGNMENT = 32
TYPE_F32, TYPE_Q8_0 = 0, 8
BLOCK = 32  # Q8_0: a half scale and 32 signed bytes


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


# A value's type decides how it is written: kind -> (type id, writer).
SCALARS = {
    "u32": (4, lambda v: struct.pack("<I", v)),
    "i32": (5, lambda v: struct.pack("<i", v)),
    "f32": (6, lambda v: struct.pack("<f", v)),
    "bool": (7, lambda v: struct.pack("<?", v)),
    "string": (8, string),
}
ARRAY = 9


def metadata(key, kind, value):
    type_id, write = SCALARS[kind.removesuffix("[]")]
    if kind.endswith("[]"):
        body = struct.pack("<IIQ", ARRAY, type_id, len(value)) + b"".join(map(write, value))
    else:
        body = struct.pack("<I", type_id) + write(value)
    return string(key) + body


def to_q8_0(matrix):
    """float32 (rows, columns) -> scales (blocks,) float16 and quants (blocks, 32) int8; d = amax / 127."""
    blocks = matrix.reshape(-1, BLOCK)
    scales = np.abs(blocks).max(axis=1) / np.float32(127)
    inverse = np.divide(1, scales, out=np.zeros_like(scales), where=scales != 0)
    scaled = blocks * inverse[:, None]
    quants = np.trunc(scaled + np.copysign(np.float32(0.5), scaled)).astype(np.int8)  # halves away from zero
    return scales.astype(np.float16), quants


def from_q8_0(matrix):
    """What a reader of the file sees in place of matrix."""
    scales, quants = to_q8_0(matrix)
    return (scales.astype(np.float32)[:, None] * quants).reshape(matrix.shape)


def tensor_bytes(array):
    if array.ndim == 1:
        return TYPE_F32, array.astype("<f4").tobytes()
    scales, quants = to_q8_0(array)
    block = np.dtype([("d", "<f2"), ("qs", "i1", BLOCK)])
    packed = np.empty(len(scales), dtype=block)
    packed["d"], packed["qs"] = scales, quants
    return TYPE_Q8_0, packed.tobytes()


def write_gguf(path, entries, tensors):
    """entries: (key, kind, value). tensors: name -> float32 array; vectors stay F32, matrices become Q8_0."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries))
    head += b"".join(metadata(*entry) for entry in entries)
    data = b""
    for name, array in tensors.items():
        type_id, body = tensor_bytes(array)
        dims = array.shape[::-1]  # GGUF counts from the fastest dimension
        head += string(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, type_id, len(data))
        data += body + bytes(-len(body) % ALIGNMENT)
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + data)
