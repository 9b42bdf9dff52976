"""Warnings that point at the user's line, however deep they are raised."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import sklearn

#: Code that stands between the user's line and the warning: this package, and what
#: calls it on the user's behalf.
_BETWEEN = (str(Path(__file__).parent), str(Path(sklearn.__file__).parent))


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn about the call that the user wrote.

    Parameters
    ----------
    message : str
    category : type, default=UserWarning

    Notes
    -----
    A fixed ``stacklevel`` names one of our own files as soon as a call goes through
    one function more. ``skip_file_prefixes`` does the same from Python 3.12 on.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
