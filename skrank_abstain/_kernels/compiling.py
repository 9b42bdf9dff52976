"""Compilation of kernels, cached on disk where something is writable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def jit(function: Kernel) -> Kernel:
    """Compile ``function`` on its first call, without the GIL.

    The compiled code is cached beside the module or in the user's cache directory;
    where neither is writable it lasts as long as the process. With
    ``NUMBA_DISABLE_JIT=1`` the function is interpreted: slow, equally right, and as
    silent about overflow as compiled code.
    """
    if numba.config.DISABLE_JIT:
        return np.errstate(all="ignore")(function)
    # nogil: chunks of queries run side by side in threads. error_model: a division by
    # zero gives inf or NaN, as in numpy; raising as Python does costs a branch each
    # time.
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return cast(Kernel, numba.njit(cache=True, **options)(function))
    except RuntimeError as error:
        # Numba looks for a writable place when it decorates, not when it compiles.
        if "cannot cache function" not in str(error):
            raise
        return cast(Kernel, numba.njit(**options)(function))
