"""Checks for missing or mistaken queries, which would go unnoticed otherwise."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from skrank_abstain._validation import is_scalar
from skrank_abstain._warnings import warn_user
from skrank_abstain.intake._item_rows import Items
from skrank_abstain.pairs import Queries

#: A batch without qid that is this many times the largest calibration query warns.
_TIMES = 10
#: This many one-item queries suggest that item names were passed as qid.
_MANY_ALONE = 5

_REMEDY = (
    "Pass the query of each row as qid= (or name a column of X with qid_col=), through "
    "a search with metadata routing; qid=0 says that one query is meant."
)
#: What to do instead of passing arguments of other libraries to ``fit``.
_REMEDIES = {
    "group": "group sizes are LightGBM's: pass the query of each row as qid=, "
    "np.repeat(np.arange(len(sizes)), sizes)",
    "groups": "pass the query of each row as qid=; kinds of queries are certified "
    "by RiskControlledRanker.fit(..., groups=)",
    "group_id": "pass the query of each row as qid=",
    "sample_weight": "a threshold is a quantile over pairs, which count alike; "
    "weights of items enter score and evaluate, and a ranker can be trained with "
    "weights outside and passed fitted",
    "eval_set": "train outside, with early stopping, and pass the fitted ranker",
}


class OneQueryWarning(UserWarning):
    """All rows are taken as one query, and nothing says that this is meant.

    Training and calibration then compare items of different queries. Pass the query of
    each row as ``qid``; a scalar such as ``qid=0`` says that all rows are one query.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR, OneQueryWarning
    >>> from skrank_abstain.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     ranker = BALToR(Ridge(), random_state=0).fit(data.data, data.target)
    >>> caught[0].category is OneQueryWarning
    True
    """


def doubt_about_queries(
    estimator: Any, X: Any, qid: Any, items: Items
) -> OneQueryWarning | None:
    """Return a warning if all rows are one query, or qid looks like group sizes.

    Parameters
    ----------
    estimator : estimator
        Named in the message.
    X, qid : object
        As the user passed them.
    items : Items
    """
    queries, name = items.queries, type(estimator).__name__
    # A number says that one query is meant; a text may be the name of a column that is
    # not in X.
    if qid is not None and is_scalar(qid) and not isinstance(qid, str):
        return None
    if queries.n_queries == 1:
        given = "a qid that is the same for all rows" if items.has_qid else "no qid"
        return OneQueryWarning(
            f"All {queries.n_items} rows are one query: {name} got {given}."
            f"{_index_that_repeats(X)} {_REMEDY}"
        )
    if _look_like_sizes(queries):
        return OneQueryWarning(
            "qid looks like group sizes, one per row: each of its values v stands in "
            f"a multiple of v rows, got {queries.values[:5].tolist()}. Groups of one "
            f"size would be one query. {name} wants the query of each row: "
            "np.repeat(np.arange(len(sizes)), sizes)."
        )
    return None


def _index_that_repeats(X: Any) -> str:
    """Name the first level of a pandas index that may be the query."""
    index: Any = getattr(X, "index", None)
    n_levels = getattr(index, "nlevels", 0)
    for level in range(n_levels):
        if not index.get_level_values(level).is_unique:
            where, which = "the", ""
            if n_levels > 1:
                where, which = f"level {level} of the", f".get_level_values({level})"
            return (
                f" The values in {where} index of X repeat: if they are the query, "
                f"pass qid=X.index{which}."
            )
    return ""


def _look_like_sizes(queries: Queries) -> bool:
    """Whether each value comes in runs of a multiple of it, some in several runs.

    An identifier comes in one run, or in runs of any length.
    """
    values = np.asarray(queries.values)
    if values.dtype.kind not in "iu" or values.min() < 1:
        return False
    start = np.flatnonzero(np.diff(queries.codes, prepend=-1))
    length = np.diff(start, append=queries.n_items)
    of_run = values[queries.codes[start]]
    return start.size > values.size and not (length % of_run).any()


def warn_of_batch(estimator: Any, items: Items) -> None:
    """Warn if rows to score seem to lack their queries, or name items as queries."""
    n_items, largest = items.queries.n_items, estimator._largest_query
    if items.has_qid and items.queries.n_queries == n_items >= _MANY_ALONE:
        warn_user(
            f"Each of the {n_items} rows is a query of its own, so that there is "
            f"no pair: is qid the items' names? {type(estimator).__name__} takes "
            "names as item_id=, and as qid= what the items of one list share.",
        )
    if not items.has_qid and estimator._fitted_with_qid and n_items > _TIMES * largest:
        warn_user(
            f"All {n_items} rows are one query: {type(estimator).__name__} got no qid, "
            f"and the largest query it was calibrated on has {largest} rows. {_REMEDY}",
            OneQueryWarning,
        )


def refuse_fit_arguments(estimator: Any, unknown: dict[str, Any]) -> NoReturn:
    """Raise a TypeError for an unknown argument of ``fit``, with what to do instead."""
    name = next(iter(unknown))
    remedy = _REMEDIES.get(name, "it takes X, y and qid")
    raise TypeError(
        f"{type(estimator).__name__}.fit() got an unexpected keyword argument "
        f"{name!r}: {remedy}."
    )
