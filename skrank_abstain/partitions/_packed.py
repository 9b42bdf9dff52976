"""Answers of partitions, compressed on their way to the calling process."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from skrank_abstain.partitions._protocol import Partitions


def ask(parts: Partitions, task: Callable[..., Any], *args: Any) -> Iterator[Any]:
    """Yield ``task(partition, *args)`` of each partition, in their order.

    Answers are unpacked one by one: sums never hold all of them.
    """
    return map(_unpacked, parts.map(_packed, task, *args))


class _Packed(NamedTuple):
    """A pickle without its arrays, and the item size and bytes of each array."""

    pickled: bytes
    arrays: list[tuple[int, bytes]]


def _packed(partition: Any, task: Callable[..., Any], *args: Any) -> _Packed:
    arrays: list[pickle.PickleBuffer] = []
    answer = task(partition, *args)
    pickled = pickle.dumps(answer, protocol=5, buffer_callback=arrays.append)
    return _Packed(pickled, [_squeezed(each) for each in arrays])


def _squeezed(array: pickle.PickleBuffer) -> tuple[int, bytes]:
    # The first bytes of all numbers, then the second ones, and so on: most are zeros in
    # counts and equal in sorted floats, and runs of equal bytes cost next to nothing.
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
