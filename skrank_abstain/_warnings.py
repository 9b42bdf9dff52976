"""What users are told: warnings that point at their line, and libraries to install."""

import contextlib
import importlib
import os
import pickle
import re
import sys
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import joblib
import sklearn

_PACKAGES = (__file__, sklearn.__file__, joblib.__file__)
#: Code between the user's line and the warning: this package, libraries that call it
#: for the user, and the module that loads saved objects. Folders end with a separator,
#: so that a user's folder with a longer name does not match.
_BETWEEN = (
    *(str(Path(file).parent) + os.sep for file in _PACKAGES),
    pickle.__file__,
    contextlib.__file__,
)
_VALIDATION = f"{Path(sklearn.__file__).parent}{os.sep}model_selection{os.sep}"
#: A coverage that exceeds the target by no more than this needs no warning.
_MOST_EXCESS = 0.1
#: Lists that `hearing` fills, the innermost last.
_LISTS: ContextVar[tuple[list[str], ...]] = ContextVar("_LISTS", default=())


@contextlib.contextmanager
def hearing() -> Iterator[list[str]]:
    """Keep the texts of all that `warn_user` says meanwhile; also a decorator."""
    said: list[str] = []
    token = _LISTS.set((*_LISTS.get(), said))
    try:
        yield said
    finally:
        _LISTS.reset(token)


def heard() -> list[str]:
    """Return what was said since the innermost `hearing` began."""
    return _LISTS.get()[-1] if _LISTS.get() else []


def user_asks() -> bool:
    """Whether the user's code asks, and no search or cross-validation does for it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        if frame.f_code.co_filename.startswith(_VALIDATION):
            return False
        frame = frame.f_back
    return True


def require(library: str, what: str, install: str) -> Any:
    """Import an optional library, or say what needs it and how to install it.

    The package works without it: call this where it is used.
    """
    try:
        return importlib.import_module(library)
    except ImportError as error:
        name = library.partition(".")[0]
        raise ImportError(f"{what} requires {name}; install {install}.") from error


def ending_search(message: str) -> ValueError:
    """Return the error of a mistake that all scores share, so that it ends a search.

    Such as a missing ``qid``, which a search without metadata routing has not. Where a
    score raises, scikit-learn warns that scoring failed, sets NaN, and takes the first
    candidate. That warning becomes an error, where it tells of this one.
    """
    warnings.filterwarnings("error", f"(?s)Scoring failed.*{re.escape(message)}")
    return ValueError(message)


def warn_of_excess(what: str, reached: float, asked: float, n: int, why: str) -> None:
    """Warn where ``fit`` accepts many more pairs or queries than were asked for.

    ``reached`` and ``asked`` are shares of the ``n``.
    """
    if reached > asked + _MOST_EXCESS + 1 / n:
        warn_user(
            f"{reached:.0%} of the calibration {what} are accepted where "
            f"coverage={asked:g} was asked for: {why}"
        )


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn about the call that the user wrote.

    Parameters
    ----------
    message : str or Warning
    category : type, default=UserWarning

    Notes
    -----
    The depth of our own calls varies, so ``stacklevel`` is counted. From Python 3.12
    on, ``skip_file_prefixes`` does the same.
    """
    for said in _LISTS.get():
        said.append(str(message))
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
