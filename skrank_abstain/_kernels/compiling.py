"""Compilation of kernels, cached on disk where something is writable."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def jit(function: Kernel) -> Kernel:
    """Compile ``function`` on its first call, without the GIL.

    The compiled code is cached beside the module or in the user's cache directory;
    where neither is writable it lasts as long as the process. A damaged cache, as of a
    disk that was full, is emptied and the function compiled anew. With
    ``NUMBA_DISABLE_JIT=1`` the function is interpreted: slow, equally right, and as
    silent about overflow as compiled code.
    """
    if numba.config.DISABLE_JIT:
        return np.errstate(all="ignore")(function)
    # nogil: chunks of queries run side by side in threads. error_model: a division by
    # zero gives inf or NaN, as in numpy; raising as Python does costs a branch each
    # time. Neither the entry for C nor the passes over what was typed are needed here:
    # a tenth of the time of compiling.
    options = {"nogil": True, "error_model": "numpy"}
    options |= {"no_cfunc_wrapper": True, "no_rewrites": True}
    compiled = numba.njit(**options)(function)
    try:
        # What cache=True does, with a cache of ours.
        compiled._cache = _MendedCache(function)
    except RuntimeError as error:
        # Numba looks for a writable place when it decorates, not when it compiles.
        if "cannot cache function" not in str(error):
            raise
    return cast(Kernel, compiled)


class _MendedCache(FunctionCache):
    """The cache of one function; whatever cannot be read of it counts as absent."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # damaged bytes raise anything
            self.flush()
            return None


class _CheckedFile(IndexDataCacheFile):
    """Compiled code with its hash: LLVM would end the process over a flipped bit."""

    def _save_data(self, name: str, data: Any) -> None:
        code = pickle.dumps(data)
        super()._save_data(name, (sha256(code).digest(), code))

    def _load_data(self, name: str) -> Any:
        digest, code = super()._load_data(name)
        if sha256(code).digest() != digest:
            raise ValueError(f"{name} is damaged")
        return pickle.loads(code)
