"""The state of estimators: fitted as a whole or not, saved as plain arrays; files."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import joblib
from sklearn.exceptions import InconsistentVersionWarning

from skrank_abstain._warnings import hearing, warn_user

try:
    __version__ = version("skrank-abstain")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

Fit = TypeVar("Fit", bound=Callable[..., Any])

_STAMP = "_skrank_abstain_version"
#: Key of a saved dict's kind: a class of values, or another attribute.
_KIND = "skrank_abstain"
_KINDS: dict[str, type[Value]] = {}


class Value:
    """Base of the frozen dataclasses that fitted estimators hold.

    They are saved as dicts of their fields, so that a reader only needs to trust the
    class of the estimator. Values of other packages are saved unchanged.
    """

    def __init_subclass__(cls) -> None:
        if cls.__module__.startswith("skrank_abstain."):
            _KINDS[cls.__name__] = cls

    def to_plain(self) -> dict[str, Any]:
        """Return the fields to save, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def of_plain(cls, **plain: Any) -> Self:
        """Return the value that ``to_plain`` was called on."""
        return cls(**plain)


class Saved:
    """Mixin of estimators that are saved plainly and stamped with our version.

    Pickle, joblib, skops and ``copy.deepcopy`` all get this state.
    """

    def __copy__(self) -> Self:
        # Values are shared, so that a copy with another threshold costs nothing.
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        # An object with two names, such as a prefit model, is saved once.
        names = {
            id(value): name
            for name, value in reversed(state.items())
            if hasattr(value, "__dict__") and not isinstance(value, Value)
        }
        plain = {name: _to_plain(value, name, names) for name, value in state.items()}
        return {**plain, _STAMP: __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        found = state.pop(_STAMP, "unknown")
        name = type(self).__name__
        try:
            plain = {name: _of_plain(value, state) for name, value in state.items()}
            super().__setstate__(plain)  # type: ignore[misc]
            self.get_params(deep=False)  # type: ignore[attr-defined]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"This {name} was saved by skrank_abstain {found} and cannot be read "
                f"by {__version__}: fit it again, or install the version that saved it."
            ) from error
        if found != __version__:
            warn_user(
                InconsistentVersionWarning(
                    estimator_name=f"{name} of skrank_abstain",
                    current_sklearn_version=__version__,
                    original_sklearn_version=found,
                )
            )


def all_or_nothing(fit: Fit) -> Fit:
    """Decorate ``fit`` so that it leaves the estimator fitted or not fitted at all.

    It first removes the results of an earlier fit. Otherwise a failed refit could leave
    the model of one fit with the threshold of another. ``partial_fit``, which goes on
    from them, must make new objects: if it fails, the earlier ones stay, unchanged.
    """

    @wraps(fit)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(self, "get_params"):
            kind, name = fit.__qualname__.rpartition(".")[0], fit.__name__
            raise TypeError(
                f"{name} needs an instance: {kind}(...).{name}, not {kind}.{name}."
            )
        if fit.__name__ != "partial_fit":
            self.__dict__ = {k: v for k, v in vars(self).items() if not k.endswith("_")}
        twin = object.__new__(type(self))
        twin.__dict__ = dict(vars(self))
        with hearing() as twin._warned:
            fit(twin, *args, **kwargs)
        # One assignment, which an interrupt (Ctrl-C) finds either done or not done.
        self.__dict__ = twin.__dict__
        return self

    return cast("Fit", whole)


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file beside and rename it: a full disk or a kill leaves the old one."""
    goal = os.path.realpath(path)
    os.stat(os.path.dirname(goal))  # the error names a folder that is missing
    beside = Path(f"{goal}.{os.getpid()}.part")
    try:
        beside.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(beside, goal)
    finally:
        beside.unlink(missing_ok=True)


def identify(*parts: Any) -> str:
    """Return 16 digits that identify fitted objects, the same in every process.

    Of an object that cannot be pickled the type counts.
    """
    found = [type(part).__qualname__ for part in parts]
    for number, part in enumerate(parts):
        with suppress(Exception):  # libraries raise errors of many kinds
            found[number] = joblib.hash(part, hash_name="sha1")
    # Of digits and one e, a table would make a number.
    return f"r{joblib.hash(found, hash_name='sha1')[:15]}"


def _to_plain(value: Any, own: str, names: dict[int, str]) -> Any:
    name = names.get(id(value), own)
    if name != own:
        return {_KIND: "attribute", "name": name}
    if _KINDS.get(type(value).__name__) is not type(value):
        return value
    plain = {key: _to_plain(each, "", names) for key, each in value.to_plain().items()}
    return {_KIND: type(value).__name__, **plain}


def _of_plain(value: Any, state: dict[str, Any]) -> Any:
    if type(value) in _KINDS.values():
        raise TypeError(f"{type(value).__name__} must be saved plainly.")
    if not isinstance(value, dict) or _KIND not in value:
        return value
    plain = {name: _of_plain(each, state) for name, each in value.items()}
    kind = plain.pop(_KIND)
    if kind == "attribute":
        return state[plain["name"]]
    found = _KINDS[kind].of_plain(**plain)
    if found.to_plain().keys() != plain.keys():
        raise KeyError(f"{kind} was saved with other fields.")  # no default stands in
    return found
