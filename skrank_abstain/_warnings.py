"""Warnings that point at the user's line, however deep they are raised."""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from pathlib import Path

import joblib
import sklearn

#: The code that stands between the user's line and the warning: folders of this package
#: and of what calls it on the user's behalf, and the module that loads what was saved.
#: With a separator at the end: a folder whose name only begins like one is the user's.
_BETWEEN = (
    *(
        str(Path(file).parent) + os.sep
        for file in (__file__, sklearn.__file__, joblib.__file__)
    ),
    pickle.__file__,
)


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn about the call that the user wrote.

    Parameters
    ----------
    message : str or Warning
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
