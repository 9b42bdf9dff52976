"""Calibration of a fitted ranker on labelled queries in partitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Self, cast

import numpy as np
from sklearn.exceptions import NotFittedError

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
    CalibrationData,
    check_labelled_rows,
    check_pairs_to_calibrate,
    columns_of_fit,
    divide_queries,
    draw_seeds,
    find_repeats,
    hash_rows,
    warn_of_repeats,
)
from skrank_abstain.pairs import ScoredItems, group_queries
from skrank_abstain.partitions._check import refuse_split_queries
from skrank_abstain.partitions._dispatch import as_partitions
from skrank_abstain.partitions._items import Part, PartitionedItems, describe
from skrank_abstain.partitions._packed import ask
from skrank_abstain.partitions._protocol import Each, Partitions
from skrank_abstain.partitions._rows import (
    ModelColumns,
    check_names,
    check_same_columns,
    rows_of,
)
from skrank_abstain.scorers import describe as describe_model
from skrank_abstain.scorers import (
    is_fitted,
    names_in_model,
    resolve_model,
    score_items,
)
from skrank_abstain.selection import Calibration, Groups, RiskProfile
from skrank_abstain.tie_models import resolve_tie_model

#: Calibration rows are compared with each other up to this number: each sends 20 bytes.
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
        Labelled queries, each in one partition. A list holds frames or tuples
        ``(X, y, qid)``; a path is that of Parquet files.
    label, qid : str
        Columns of the relevance and of the query; None for tuples. Features are the
        columns that the model was fitted on, or all others if it has no names.
    coverages : iterable of float, default=None
        Levels that ``at_coverage`` can take after the ranker was saved and loaded,
        when the partitions are gone. It also knows the levels that ``at_coverage``,
        ``at_cost`` or ``at_risk`` were called with before.

    Returns
    -------
    fitted : SelectiveRanker
        A fitted clone, as ``ranker.fit`` on all rows, one partition after the other.
        The same to the last bit if the model scores a row alike in any batch, and
        ``random_state`` is an integer where the rule draws.

    Raises
    ------
    ValueError
        If a query lies in two partitions (see `check_partitions`), no query has two
        items, the ranker looks for novel items, or an input breaks a rule of ``fit``.
    TypeError
        If the tie model learns from all features at once
        (``"feature_aware_relevance"``), or the frame is of an unknown kind.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Notes
    -----
    The model scores each partition once, where it lies. The calling process receives
    numbers of pairs, samples of some 100,000 pairs or items, and about 20 bytes for
    each query (1,600 for a certified risk). Repeated queries are looked for in up to
    half a million rows.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.partitions import calibrate
    >>> train = make_ranking(n_queries=60, random_state=0)
    >>> model = HistGradientBoostingRegressor().fit(train.data, train.target)
    >>> parts = [
    ...     (part.data, part.target, part.qid + 100 * seed)
    ...     for seed in (1, 2)
    ...     for part in [make_ranking(n_queries=30, random_state=seed)]
    ... ]
    >>> ranker = calibrate(BALToR(model, coverage=0.7), parts)
    >>> ranker.n_queries_, round(ranker.coverage_, 2)
    (60, 0.7)
    """
    # Refuse what can be refused before anything is scored.
    _check_ranker(ranker)
    check_names(frame, label=label, qid=qid)
    fitted = _unfitted(ranker)
    rule = fitted._checked_rule()
    if rule.groups is not None:
        raise ValueError(
            f"groups must be None over partitions, got {rule.groups!r}: thresholds by "
            "group are set on one machine; then partitions can be decided."
        )
    wanted = _checked_coverages(fitted, coverages)
    tie_model = resolve_tie_model(fitted.tie_model)
    model = resolve_model(fitted.estimator)
    if not is_fitted(model):
        raise NotFittedError(
            "calibrate takes a ranker whose model is fitted, got "
            f"{describe_model(model)}, which is not: train it on other queries first."
        )
    columns = ModelColumns(*names_in_model(model))
    check_same_columns(frame, columns, label, qid)
    rows = as_partitions(frame, qid=qid)
    parts = rows.keep(_score, _unfitted(ranker), model, label, qid, columns)
    answers = [*ask(parts, _describe)]
    if not answers:
        raise ValueError("frame must have rows, got no partition.")
    notes, described = zip(*answers, strict=True)
    refuse_split_queries([each.ids for each in notes], frame, qid)
    # A partition of one query is normal; all rows in one query are not.
    doubts = [each.doubt for each in notes if len(each.ids)]
    if len(doubts) == 1 and doubts[0] is not None:
        warn_user(doubts[0])
    data = PartitionedItems.of(parts, described)
    record = _record(fitted, rule, model, _common_columns(notes), data)
    fitted._calibrate(rule, tie_model, record)
    return _remembering(fitted, rule, wanted)


def _check_ranker(ranker: Any) -> None:
    """Refuse what cannot be calibrated over partitions."""
    if not isinstance(ranker, SelectiveRanker):
        raise TypeError(
            "ranker must be a SelectiveRanker, such as BALToR or RiskControlledRanker, "
            f"got {shown(ranker)}."
        )
    if ranker.qid_col is not None:
        raise ValueError(
            f"qid_col must be None over partitions, got {ranker.qid_col!r}: give the "
            "column as qid= instead."
        )
    if ranker.novelty is not None:
        raise ValueError(
            "novelty must be None over partitions, where no detector is fitted, got "
            f"{describe_model(ranker.novelty)}. Calibrate on one machine; then new "
            "queries can be decided over partitions."
        )


def _record(
    ranker: Any, rule: Any, model: Any, columns: dict[str, Any], data: PartitionedItems
) -> CalibrationData:
    """Return the record that ``fit`` would make of all rows."""
    sizes = data.summary.sizes
    check_pairs_to_calibrate(sizes)
    repeats = None
    if sizes.sum() <= _MOST_COMPARED:
        repeats = _compare_rows(cast("Partitions", data.parts), data.summary.starts)
    # `fit` draws twice, and splits off a training part with the first number.
    _, seed = draw_seeds(ranker.random_state)
    rest, tuning, group = data, None, np.zeros_like(sizes)
    if rule.tuning_size:
        chosen = divide_queries(sizes, group, rule.tuning_size, seed)
        tuning, rest = (data.take(queries) for queries in chosen)
        group = group[chosen[1]]
    return CalibrationData(
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


@dataclass(frozen=True, eq=False)
class PartitionedCalibration(Calibration):
    """A calibration that remembers answers for the time when the partitions are gone.

    Attributes
    ----------
    known : dict
        Regions by the text of the rule; accepted pairs and pairs of each query, shape
        (2, n_queries), by the text of a region; the shares of places.
    """

    items: Any  # PartitionedItems
    known: dict[str, Any] = field(default_factory=dict)

    def select(self, rule: Any) -> Any:
        key = repr(rule)
        if key not in self.known:
            self.known[key] = super().select(rule)
        return self.known[key]

    def place_shares(self) -> FloatArray:
        key = "place shares"
        if key not in self.known:
            self.known[key] = super().place_shares()
        found: FloatArray = self.known[key]
        return found

    def accepted_by_query(self, region: Any) -> tuple[FloatArray, FloatArray]:
        # Regions of one risk differ in how many pairs they accept.
        key = f"{region.risk!r} {self.engine.accepted_mass(region, self.items)!r}"
        if key not in self.known:
            self.known[key] = np.stack(super().accepted_by_query(region))
        accepted, pairs = self.known[key]
        return accepted, pairs

    def profile(self) -> RiskProfile | None:
        return None if self.items.parts is None else super().profile()

    def to_plain(self) -> dict[str, Any]:
        plain = super().to_plain()
        known: dict[str, Any] = plain.pop("known")
        return plain | known

    @classmethod
    def of_plain(cls, **plain: Any) -> Self:
        names = {each.name for each in fields(cls)}
        known = {key: plain.pop(key) for key in [*plain] if key not in names}
        return cls(**plain, known=known)


class _Notes(NamedTuple):
    """What a partition says about its rows, besides their scores.

    Attributes
    ----------
    ids : ndarray of shape (n_queries,)
    columns : dict
        What a ranker stores about the columns.
    doubt : Warning or None
        About the queries, if the partition held all rows.
    hashes : ndarray of shape (n_items,), uint64, or None
        Of the rows; None if they cannot be read.
    """

    ids: Any
    columns: dict[str, Any]
    doubt: Warning | None
    hashes: Any


def _score(
    partition: Any,
    ranker: Any,
    model: Any,
    label: str | None,
    qid: str | None,
    columns: ModelColumns,
) -> Part:
    """Return the scored items of a partition."""
    X, y, ids = rows_of(partition, label=label, qid=qid, features=columns.of(partition))
    if y is not None and not len(y):
        nothing = np.empty(0)
        notes = _Notes(nothing, {}, None, np.empty(0, dtype=np.uint64))
        none = ScoredItems.build(nothing, group_queries(nothing, 0), nothing)
        return Part(none, nothing, notes)
    # A ranker of its own: half of a fit could not be sent, what it learned is returned.
    here = _unfitted(ranker)
    rows, doubt = check_labelled_rows(here, X, y, ids)
    scores = score_items(model, rows.X, rows.named_queries)
    hashes = hash_rows(rows.X)
    notes = _Notes(rows.queries.values, columns_of_fit(here), doubt, hashes)
    return Part(
        ScoredItems.build(scores, rows.queries, rows.y), np.unique(rows.y), notes
    )


def _unfitted(ranker: Any) -> Any:
    """Return a ranker of the same parameters; a clone's model would not be fitted."""
    return type(ranker)(**ranker.get_params(deep=False))


def _describe(part: Part) -> tuple[_Notes, tuple[Any, ...]]:
    return part.notes._replace(hashes=None), describe(part)


def _compare_rows(parts: Partitions, starts: IntArray) -> Any:
    """Return the repeats that ``fit`` would find."""
    found = [*ask(parts, _send_rows, Each(starts[:-1].tolist()))]
    hashes, codes, y = zip(*found, strict=True)
    code = np.concatenate(codes)
    repeats = find_repeats(
        None if any(each is None for each in hashes) else np.concatenate(hashes),
        group_queries(code, code.size),
        np.arange(code.size),
        np.concatenate(y),
        copies=True,
    )
    warn_of_repeats(repeats)
    return repeats


def _send_rows(part: Part, start: int) -> tuple[Any, IntArray, FloatArray]:
    """Return hash, number of the query and relevance of each row."""
    items = part.items
    order = np.argsort(items.rows)
    codes = np.repeat(np.arange(items.n_queries), np.diff(items.offsets))
    y = part.relevance[items.known_grades]
    return part.notes.hashes, codes[order] + start, y[order]


def _common_columns(notes: Iterable[_Notes]) -> dict[str, Any]:
    """Return the columns that all partitions have."""
    first: dict[str, Any] = {}
    for number, found in enumerate(each.columns for each in notes):
        first = first or found
        for name, value in found.items():
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


def _remembering(ranker: Any, rule: Any, coverages: list[float]) -> SelectiveRanker:
    """Return the ranker with the answers that it will need after it was saved."""
    calibration = ranker._calibration
    plain = {each.name: getattr(calibration, each.name) for each in fields(calibration)}
    known = {repr(rule): ranker._region}
    ranker = ranker._calibrated_by(PartitionedCalibration(**plain, known=known))
    ranker._calibration.place_shares()  # for places with a confidence
    for each in [ranker, *(ranker.at_coverage(value) for value in coverages)]:
        each._calibration.accepted_by_query(each._region)  # for coverage_interval_
    return cast("SelectiveRanker", ranker)
