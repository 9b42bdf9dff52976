"""What partitions answer, made small for its way to this process."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from skrank_abstain.partitions._protocol import Partitions


def ask(parts: Partitions, task: Callable[..., Any], *args: Any) -> Iterator[Any]:
    """Return what ``task(partition, *args)`` is of each partition, in their order.

    They are unpacked one by one: what is added up never lies here as a whole.
    """
    return map(_unpacked, parts.map(_packed, task, *args))


class _Packed(NamedTuple):
    """A pickle without the data of its arrays, and these: item size and bytes."""

    pickled: bytes
    arrays: list[tuple[int, bytes]]


def _packed(partition: Any, task: Callable[..., Any], *args: Any) -> _Packed:
    arrays: list[pickle.PickleBuffer] = []
    answer = task(partition, *args)
    pickled = pickle.dumps(answer, protocol=5, buffer_callback=arrays.append)
    return _Packed(pickled, [_squeezed(each) for each in arrays])


def _squeezed(array: pickle.PickleBuffer) -> tuple[int, bytes]:
    # First the first bytes of all numbers, then the second ones: of counts most are
    # zeros, of neighbouring floats equal, and runs of equal bytes cost next to nothing.
    size = memoryview(array).itemsize
    planes = np.frombuffer(array.raw(), dtype=np.uint8).reshape(-1, size).T
    packer = zlib.compressobj(level=1, strategy=zlib.Z_RLE)
    return size, packer.compress(planes.tobytes()) + packer.flush()


def _unpacked(answer: _Packed) -> Any:
    arrays = []
    for size, packed in answer.arrays:
        planes = np.frombuffer(zlib.decompress(packed), dtype=np.uint8)
        arrays.append(planes.reshape(size, -1).T.copy())
    return pickle.loads(answer.pickled, buffers=arrays)
