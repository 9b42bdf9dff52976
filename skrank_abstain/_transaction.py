"""Make ``fit`` and ``partial_fit`` all or nothing."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from skrank_abstain._warnings import hearing

Fit = TypeVar("Fit", bound=Callable[..., Any])


def all_or_nothing(fit: Fit) -> Fit:
    """Decorate ``fit`` so that it leaves the estimator fitted or not fitted at all.

    It first removes the results of an earlier fit. Otherwise a failed refit could leave
    the model of one fit with the threshold of another.
    """

    @wraps(fit)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(self, "get_params"):
            name = fit.__qualname__[:-4]
            raise TypeError(f"fit needs an instance: {name}(...).fit, not {name}.fit.")
        self.__dict__ = {
            name: value for name, value in vars(self).items() if not name.endswith("_")
        }
        return _on_a_twin(fit, self, args, kwargs)

    return cast("Fit", whole)


def new_or_old(partial_fit: Fit) -> Fit:
    """Decorate ``partial_fit`` so that it can be repeated if it fails.

    It must make new objects, and leave the objects of the earlier state unchanged.
    """

    @wraps(partial_fit)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _on_a_twin(partial_fit, self, args, kwargs)

    return cast("Fit", whole)


def _on_a_twin(fit: Fit, self: Any, args: Any, kwargs: Any) -> Any:
    twin = object.__new__(type(self))
    twin.__dict__ = dict(vars(self))
    with hearing() as twin._warned:
        fit(twin, *args, **kwargs)
    # One assignment, which an interrupt (Ctrl-C) finds either done or not done.
    self.__dict__ = twin.__dict__
    return self
