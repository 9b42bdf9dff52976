"""What is saved of a fitted estimator: plain arrays, and which version saved them."""

from __future__ import annotations

from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Self

import numpy as np
from sklearn.exceptions import InconsistentVersionWarning

from skrank_abstain._warnings import warn_user

try:
    __version__ = version("skrank-abstain")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

_STAMP = "_skrank_abstain_version"
#: Where the dict that stands for a value or for an attribute says which.
_KIND = "skrank_abstain"
_KINDS: dict[str, type[Value]] = {}
#: Types that arrays are stored in where that changes no number.
_SMALLER = {"f": (np.float32,), "i": (np.int8, np.int16, np.int32)}


class Value:
    """Base of the frozen dataclasses that fitted estimators hold.

    Inside an estimator they are saved as dicts of their fields: what has to be trusted
    when a file is read is then the estimator alone, and classes that nobody sees can be
    renamed.
    """

    def __init_subclass__(cls) -> None:
        _KINDS[cls.__name__] = cls

    def to_plain(self) -> dict[str, Any]:
        """Return what is saved, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def of_plain(cls, **plain: Any) -> Self:
        """Return the value that ``to_plain`` was called on."""
        return cls(**plain)


class Saved:
    """Mixin of estimators that are saved plainly and stamped with our version.

    Whatever asks for the state gets it: pickle, joblib, skops, ``copy.deepcopy``.
    """

    #: Attributes of which a fitted estimator has all, with those that bases name.
    _fitted_state: tuple[str, ...] = ()

    def __copy__(self) -> Self:
        # Shared, not taken apart: a copy with another threshold costs nothing.
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        # What is held under two names, such as a model that came fitted, is saved once.
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
            kinds = type(self).__mro__
            fitted = {n for kind in kinds for n in vars(kind).get("_fitted_state", ())}
            params = self._get_param_names()  # type: ignore[attr-defined]
            # Looked up in the state: a class may have a default, which is not what was
            # fitted.
            is_fitted = not fitted.isdisjoint(state)
            for attribute in (*params, *(fitted if is_fitted else ())):
                state[attribute]
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


def _to_plain(value: Any, own: str, names: dict[int, str]) -> Any:
    name = names.get(id(value), own)
    if name != own:
        return {_KIND: "attribute", "name": name}
    if not isinstance(value, Value):
        return value
    plain = {key: _to_plain(each, "", names) for key, each in value.to_plain().items()}
    return {_KIND: type(value).__name__} | {k: _narrow(v) for k, v in plain.items()}


def _of_plain(value: Any, state: dict[str, Any]) -> Any:
    if isinstance(value, Value):
        raise TypeError(f"{type(value).__name__} must be saved plainly.")
    if not isinstance(value, dict) or _KIND not in value:
        return value
    plain = {name: _of_plain(_widen(each), state) for name, each in value.items()}
    kind = plain.pop(_KIND)
    if kind == "attribute":
        return state[plain["name"]]
    found = _KINDS[kind].of_plain(**plain)
    if found.to_plain().keys() != plain.keys():
        raise KeyError(f"{kind} was saved with other fields.")  # no default stands in
    return found


def _narrow(value: Any) -> Any:
    """Return the name of an array's type and a smaller one, if that loses nothing."""
    if isinstance(value, np.ndarray):
        for kind in _SMALLER.get(value.dtype.kind, ()):
            with np.errstate(all="ignore"):
                small = value.astype(kind)
            if (small == value).all():
                return value.dtype.name, small
    return value


def _widen(value: Any) -> Any:
    return value[1].astype(value[0]) if isinstance(value, tuple) else value
