"""Calibration of a fitted ranker on labelled queries in partitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Self, cast

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_fraction,
    listed,
    shown,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.estimators import SelectiveRanker
from skrank_abstain.intake import (
    TrainingRecord,
    check_labelled_items,
    check_pairs_to_calibrate,
    columns_of_fit,
    divide_queries,
    find_repeats,
    hash_rows,
    warn_of_repeats,
)
from skrank_abstain.pairs import group_queries
from skrank_abstain.partitions._check import refuse_split_queries
from skrank_abstain.partitions._dispatch import as_partitions
from skrank_abstain.partitions._labelled import LabelledPartitions, describe_labelled
from skrank_abstain.partitions._packed import ask
from skrank_abstain.partitions._protocol import Each, Partitions
from skrank_abstain.partitions._rows import Features, check_names, rows_of
from skrank_abstain.scorers import (
    describe,
    is_fitted,
    names_in_model,
    resolve_model,
    score_items,
)
from skrank_abstain.selection import Calibration, Groups, LabelledScores, RiskProfile
from skrank_abstain.tie_models import resolve_tie_model

#: Rows that are compared with each other: 20 bytes of each come here.
_MOST_COMPARED = 1 << 19


def calibrate(
    ranker: SelectiveRanker,
    frame: Any,
    *,
    label: str | None = None,
    qid: str | None = None,
    coverages: Iterable[float] | None = None,
) -> SelectiveRanker:
    """Calibrate a ranker, whose model is fitted, on labelled queries in partitions.

    Parameters
    ----------
    ranker : SelectiveRanker
        `BALToR`, `CostAbstainer`, `RiskControlledRanker` or `SelectiveRanker` around a
        fitted model: a booster, also one that Dask or Spark trained, the path of its
        file, or a fitted scikit-learn estimator. Not changed.
    frame : list, str, path, pyarrow dataset, Dask DataFrame or Spark DataFrame
        The labelled queries. A list holds frames or tuples ``(X, y, qid)``; a path is
        that of Parquet files. Each query lies in one partition as a whole.
    label, qid : str
        Columns of the relevance and of the query. Features are the columns that the
        model was fitted on, or all others where it has no names. None for tuples.
    coverages : iterable of float, default=None
        For ``at_coverage`` of a ranker that was saved: it cannot look at the partitions
        again. Whatever ``at_coverage``, ``at_cost`` or ``at_risk`` were asked before is
        remembered, too.

    Returns
    -------
    fitted : SelectiveRanker
        A fitted clone, the same to the last bit as ``ranker.fit`` on all rows, one
        partition after the other, gives (with an integer ``random_state``, where a
        rule is random).

    Raises
    ------
    ValueError
        If a query lies in two partitions (`check_partitions` says the same), no query
        has two items, the ranker looks for novel items, or an input breaks a rule of
        ``fit``.
    TypeError
        If the tie model learns from all features at once
        (``"feature_aware_relevance"``), or the frame is of no known kind.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Notes
    -----
    The model scores each partition where it lies, once. What comes here are numbers of
    pairs, samples of some 100,000 pairs or items, and 20 bytes or so of each query
    (for a certified risk 1,600). Rows are compared with each other, for queries
    that are there twice, where they are no more than half a million.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.partitions import calibrate
    >>> train = make_ranking(n_queries=60, random_state=0)
    >>> model = Ridge().fit(train.data, train.target)
    >>> parts = [
    ...     (part.data, part.target, part.qid + 100 * seed)
    ...     for seed in (1, 2)
    ...     for part in [make_ranking(n_queries=30, random_state=seed)]
    ... ]
    >>> ranker = calibrate(BALToR(model, coverage=0.7), parts)
    >>> ranker.n_queries_, round(ranker.coverage_, 2)
    (60, 0.7)
    """
    if not isinstance(ranker, SelectiveRanker):
        raise TypeError(
            "ranker must be a SelectiveRanker, such as BALToR or RiskControlledRanker, "
            f"got {shown(ranker)}."
        )
    check_names(frame, label=label, qid=qid)
    if ranker.qid_col is not None:
        raise ValueError(
            f"qid_col must be None over partitions, got {ranker.qid_col!r}: give the "
            "column as qid= instead."
        )
    if ranker.novelty is not None:
        raise ValueError(
            "novelty must be None over partitions, where no detector is fitted, got "
            f"{describe(ranker.novelty)}. Calibrate on one machine; what it says of new"
            " queries can be asked over partitions."
        )
    fitted = _unfitted(ranker)
    # What can be refused is refused before anything is scored.
    rule = fitted._checked_rule()
    wanted = _checked_coverages(fitted, coverages)
    tie_model = resolve_tie_model(fitted.tie_model)
    model = resolve_model(fitted.estimator)
    if not is_fitted(model):
        raise NotFittedError(
            "calibrate takes a ranker whose model is fitted, got "
            f"{describe(model)}, which is not: train it on other queries first."
        )
    rows = as_partitions(frame, qid=qid)
    features = Features(*names_in_model(model))
    parts = rows.keep(_score, _unfitted(ranker), model, label, qid, features)
    described = [*ask(parts, _describe)]
    if not described:
        raise ValueError("frame must have rows, got no partition.")
    refuse_split_queries([each.ids for each in described], frame, qid)
    columns = _common_columns(described)
    _warn_of_one_query(described)
    data = LabelledPartitions.described(parts, [each.scores for each in described])
    sizes = data.summary.sizes
    check_pairs_to_calibrate(sizes)
    repeats = None
    if sizes.sum() <= _MOST_COMPARED:
        repeats = _compare_rows(parts, data.summary.starts)
    # As `fit` draws: the first number splits off a training part, which is not here.
    random = check_random_state(fitted.random_state)
    _, seed = random.randint(2**31 - 1, size=2).tolist()
    rest, tuning, group = data, None, np.zeros_like(sizes)
    if rule.tuning_size:
        chosen = divide_queries(sizes, group, rule.tuning_size, seed)
        tuning, rest = (data.take(queries) for queries in chosen)
        group = group[chosen[1]]
    record = TrainingRecord(
        model,
        prefit=True,
        columns=columns,
        several_queries=sizes.size > 1,
        largest_query=int(sizes.max()),
        repeats=repeats,
        rest=cast("Any", rest),
        tuning=cast("Any", tuning),
        groups=Groups(group, [None]),
        seed=seed,
        rows=np.empty(0, dtype=np.int64),
    )
    fitted._calibrate(rule, tie_model, record)
    _remember(fitted, rule, wanted)
    return cast("SelectiveRanker", fitted)


@dataclass(frozen=True, eq=False)
class PartitionedCalibration(Calibration):
    """A calibration that remembers what its rules selected.

    Attributes
    ----------
    regions : dict
        By the text of the rule.
    shares : dict
        Accepted pairs and pairs of each query, by the text of a region.
    """

    regions: dict[str, Any] = field(default_factory=dict)
    shares: dict[str, Any] = field(default_factory=dict)

    def select(self, rule: Any) -> Any:
        key = repr(rule)
        if key not in self.regions:
            self.regions[key] = super().select(rule)
        return self.regions[key]

    def accepted_by_query(self, region: Any) -> tuple[FloatArray, FloatArray]:
        # Regions of one risk differ in how many pairs they accept.
        key = f"{region.risk!r} {self.engine.accepted_mass(region, self.items)!r}"
        if key not in self.shares:
            self.shares[key] = super().accepted_by_query(region)
        accepted, pairs = self.shares[key]
        return accepted, pairs

    def profile(self) -> RiskProfile | None:
        return None if self.items.parts is None else super().profile()

    def to_plain(self) -> dict[str, Any]:
        plain = super().to_plain()
        regions: dict[str, Any] = plain.pop("regions")
        return plain | regions

    @classmethod
    def of_plain(cls, **plain: Any) -> Self:
        known = {each.name for each in fields(cls)}
        regions = {key: plain.pop(key) for key in [*plain] if key not in known}
        return cls(**plain, regions=regions)


@dataclass(frozen=True, eq=False)
class _Scored(LabelledScores):
    """Scored items of a partition.

    Attributes
    ----------
    columns : dict
        What the ranker says of the columns.
    hashes : ndarray of shape (n_items,), uint64, or None
        Of the rows; None where they cannot be read.
    doubt : Warning or None
        Of the queries, if the partition were all there is.
    """

    columns: dict[str, Any] = field(default_factory=dict)
    hashes: Any = None
    doubt: Warning | None = None


@dataclass(frozen=True)
class _About:
    """What is asked of a scored partition."""

    ids: Any
    columns: dict[str, Any]
    doubt: Warning | None
    scores: tuple[FloatArray, tuple[Any, ...]]


def _score(
    partition: Any,
    ranker: Any,
    model: Any,
    label: str | None,
    qid: str | None,
    features: Features,
) -> _Scored:
    """Return the scored items of a partition."""
    X, y, ids = rows_of(
        partition, label=label, qid=qid, features=features.of(partition)
    )
    if y is not None and not len(y):
        nothing = np.empty(0)
        return _Scored(nothing, nothing, group_queries(nothing, 0))
    # Not half of a fit, which could not be sent: what is learned here is returned.
    here = _unfitted(ranker)
    items, relevance, doubt = check_labelled_items(here, X, y, ids)
    columns = columns_of_fit(here)
    scores = score_items(model, items.X)
    hashes = hash_rows(items.X)
    told: dict[str, Any] = {"columns": columns, "hashes": hashes, "doubt": doubt}
    return _Scored(scores, relevance, items.queries, **told)


def _unfitted(ranker: Any) -> Any:
    """Return a ranker of the same parameters; a clone's model would not be fitted."""
    return type(ranker)(**ranker.get_params(deep=False))


def _describe(data: _Scored) -> _About:
    about = describe_labelled(data)
    return _About(data.queries.values, data.columns, data.doubt, about)


def _compare_rows(parts: Partitions, starts: IntArray) -> Any:
    """Return what `fit` finds out about rows that are there twice."""
    found = [*ask(parts, _send_rows, Each(starts[:-1].tolist()))]
    read = all(hashes is not None for hashes, _, _ in found)
    hashes, codes, y = zip(*found, strict=True)
    code = np.concatenate(codes)
    repeats = find_repeats(
        np.concatenate(hashes) if read else None,
        group_queries(code, code.size),
        np.arange(code.size),
        np.concatenate(y),
        copies=True,
    )
    warn_of_repeats(repeats)
    return repeats


def _send_rows(data: _Scored, start: int) -> tuple[Any, IntArray, FloatArray]:
    """Return hash, number of the query and relevance of each row."""
    hashes = np.empty(0, np.uint64) if not data.y.size else data.hashes
    return hashes, data.queries.codes + start, data.y


def _common_columns(described: list[_About]) -> dict[str, Any]:
    """Return what the partitions agree on about the columns."""
    first: dict[str, Any] = {}
    for number, about in enumerate(described):
        if not about.columns:
            continue
        first = first or about.columns
        for name, value in about.columns.items():
            before: Any = first.get(name)
            if not np.array_equal(value, before):
                texts = [
                    shown(each) if np.ndim(each) == 0 else listed(each.tolist())
                    for each in (value, before)
                ]
                raise ValueError(
                    f"partition {number} must have the columns of those before, in "
                    f"their order, got {name} = {texts[0]} after {texts[1]}."
                )
    return first


def _warn_of_one_query(described: list[_About]) -> None:
    """Warn as ``fit`` does; a partition of one query is nothing to warn of."""
    doubts = [about.doubt for about in described if len(about.ids)]
    if len(doubts) == 1 and doubts[0] is not None:
        warn_user(doubts[0])


def _checked_coverages(ranker: Any, coverages: Iterable[float] | None) -> list[float]:
    if coverages is None:
        return []
    if not isinstance(coverages, Iterable):
        raise TypeError(
            f"coverages must be None or some coverages, as in [0.5, 0.7], got "
            f"{shown(coverages)}."
        )
    if not hasattr(ranker, "at_coverage"):
        raise ValueError(
            f"coverages must be None for {type(ranker).__name__}, whose rule has no "
            "coverage; before it is saved, ask for each level that is wanted later."
        )
    return [check_fraction(value, "coverages", include_one=True) for value in coverages]


def _remember(ranker: Any, rule: Any, coverages: list[float]) -> None:
    """Ask now what a saved ranker can be asked."""
    calibration = ranker._calibration
    plain = {each.name: getattr(calibration, each.name) for each in fields(calibration)}
    ranker._calibration = PartitionedCalibration(
        **plain, regions={repr(rule): ranker._region}
    )
    for each in [ranker, *(ranker.at_coverage(value) for value in coverages)]:
        each._calibration.accepted_by_query(each._region)  # the interval is of these
