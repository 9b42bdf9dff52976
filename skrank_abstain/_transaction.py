"""Make ``fit`` all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])


def all_or_nothing(fit: Fit) -> Fit:
    """Decorate ``fit`` so that it leaves the estimator fitted or not fitted at all.

    It removes what an earlier fit learned first. Otherwise a failed refit could leave
    the model of one fit with the threshold of another.
    """

    @wraps(fit)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        forget(self)
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:  # KeyboardInterrupt is not an Exception
            forget(self)
            # Only what fit changed: scikit-learn keeps settings in private attributes.
            for name, value in list(vars(self).items()):
                if name not in before or value is not before[name]:
                    delattr(self, name)
            raise

    return cast("Fit", whole)


def forget(estimator: Any) -> None:
    """Remove what ``fit`` learned: attributes that end with an underscore."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
