"""Make ``fit`` and ``partial_fit`` all or nothing; explain unknown arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])

#: Remedies for arguments of other libraries that ``fit`` does not take.
_REMEDIES = {
    "group": "group sizes are LightGBM's: pass the query of each row as qid=, "
    "np.repeat(np.arange(len(sizes)), sizes)",
    "groups": "pass the query of each row as qid=; groups of items are a column of X, "
    "BALToR(groups='sex'); kinds of queries are certified by "
    "RiskControlledRanker.fit(..., groups=)",
    "group_id": "pass the query of each row as qid=",
    "sample_weight": "fit counts pairs alike; weights enter score and evaluate of what "
    "abstains, and a model can be trained with weights outside and passed fitted",
    "eval_set": "train outside, with early stopping, and pass the fitted ranker",
}


def all_or_nothing(fit: Fit) -> Fit:
    """Decorate ``fit`` so that it leaves the estimator fitted or not fitted at all.

    It first removes the results of an earlier fit. Otherwise a failed refit could leave
    the model of one fit with the threshold of another. The error for an unknown
    argument suggests another way.
    """
    known = list(signature(fit).parameters)[1:]

    @wraps(fit)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name not in known:
                takes = f"it takes {', '.join(known[:-1])} and {known[-1]}"
                # Most remedies name a query.
                remedy = _REMEDIES.get(name, takes) if "qid" in known else takes
                raise TypeError(
                    f"{type(self).__name__}.{fit.__name__}() got an unexpected keyword "
                    f"argument {name!r}: {remedy}."
                )
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
    fit(twin, *args, **kwargs)
    # One assignment, which an interrupt (Ctrl-C) finds either done or not done.
    self.__dict__ = twin.__dict__
    return self
