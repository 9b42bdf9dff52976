"""A fit is all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])


def all_or_nothing(fit: Fit) -> Fit:
    """Make a method ``fit`` that leaves an estimator fitted, or not fitted at all.

    What an earlier fit learned is forgotten at the start. Else, after a refit that
    failed, a ranker could judge by the threshold of one fit what the model of another
    says.
    """

    @wraps(fit)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        forget(self)
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:  # Ctrl-C is none of the errors
            forget(self)
            # Not all that is private: scikit-learn keeps settings there.
            for name, value in list(vars(self).items()):
                if name not in before or value is not before[name]:
                    delattr(self, name)
            raise

    return cast("Fit", whole)


def forget(estimator: Any) -> None:
    """Remove what ``fit`` has learned: names that end with an underscore."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
