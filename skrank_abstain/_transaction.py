"""A fit is all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])

#: What scikit-learn keeps on an estimator beside its parameters, fitted or not.
_SETTINGS = ("_metadata_request", "_sklearn_output_config")


def all_or_nothing(fit: Fit) -> Fit:
    """Make a method ``fit`` that leaves an estimator fitted, or not fitted at all.

    What an earlier fit learned is forgotten at the start. Else, after a refit that
    failed, a ranker could judge by the threshold of one fit what the model of another
    says.
    """

    @wraps(fit)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        forget(self)
        try:
            return fit(self, *args, **kwargs)
        except BaseException:  # Ctrl-C is none of the errors
            forget(self)
            raise

    return cast("Fit", whole)


def forget(estimator: Any) -> None:
    """Remove what ``fit`` has learned: names with an underscore before or behind."""
    kept = {*estimator.get_params(deep=False), *_SETTINGS}
    for name in vars(estimator).keys() - kept:
        if name.startswith("_") or name.endswith("_"):
            delattr(estimator, name)
