"""Compilation of kernels, cached on disk where something is writable."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import FunctionCache

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def jit(function: Kernel) -> Kernel:
    """Compile ``function`` on its first call, without the GIL.

    The compiled code is cached beside the module or in the user's cache directory;
    where neither is writable it lasts as long as the process. A damaged cache is
    emptied and the function compiled again; on a full disk nothing is cached. With
    ``NUMBA_DISABLE_JIT=1`` the function is interpreted: slow, with the same results,
    and as silent about overflow as compiled code.
    """
    if numba.config.DISABLE_JIT:
        return np.errstate(all="ignore")(function)
    # nogil: chunks of queries run side by side in threads. error_model: a division by
    # zero gives inf or NaN, as in numpy; raising as Python does costs a branch each
    # time. The last two skip what no kernel needs: a tenth of the compilation time.
    compiled = numba.njit(
        nogil=True, error_model="numpy", no_cfunc_wrapper=True, no_rewrites=True
    )(function)
    # What cache=True does, with our cache. Without a writable place it raises here,
    # before anything is compiled.
    with suppress(RuntimeError):
        compiled._cache = _ForgivingCache(function)
    return cast(Kernel, compiled)


# It extends a private class: numba's own cache=True raises when the disk is full or a
# file is damaged, and neither its environment variables nor its locators, which choose
# the folder, change that.
class _ForgivingCache(FunctionCache):
    """A cache whose failures never stop a call."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # damaged bytes raise anything
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        # The disk is full, or damaged files could not be removed from it.
        with suppress(Exception):
            super().save_overload(sig, data)
