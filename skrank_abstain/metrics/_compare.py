"""Two rankers on the same queries: which of them is better, and by how much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import (
    check_fraction,
    check_loss,
    check_relevance,
    check_row_order,
    encode_qid,
    name_of_loss,
)
from skrank_abstain.concentration import RatioDifference, difference_of
from skrank_abstain.metrics._curves import area_of_prefixes, cumulate_queries
from skrank_abstain.metrics._scorers import find_ranker
from skrank_abstain.pairs import PairDecisions, Table, group_queries, pair_labels
from skrank_abstain.selection import PairTotals, warn_of_coin

#: Groups of queries that are left out in turn. Each costs one pass over the pairs; the
#: t quantile of so many is 1.2 % above that of any number of them.
_GROUPS = 100


@dataclass(frozen=True)
class Comparison(Table):
    """What `compare` returns; ``to_frame`` has a row for each quantity.

    Attributes
    ----------
    coverage : float
        Share of the pairs that both decide; for the matched discordance, of the pairs
        that differ.
    loss : str
        Name of the loss, or its values.
    risk, discordance, unlike_coverage, matched_discordance, aurc, own_coverage : \
RatioDifference
        Named tuples ``(a, b, difference, low, high, pvalue)``: see `compare`.
    """

    coverage: float
    loss: str
    risk: RatioDifference
    discordance: RatioDifference
    unlike_coverage: RatioDifference
    matched_discordance: RatioDifference
    aurc: RatioDifference
    own_coverage: RatioDifference

    def __str__(self) -> str:
        rows = [[name, *getattr(self, name)] for name in _QUANTITIES]
        head = ("{:20}" + "{:>12}" * 6).format("", *RatioDifference._fields)
        lines = [("{:20}" + "{:12.4f}" * 6).format(*row) for row in rows]
        said = f"Both decide a share of {self.coverage:g} (loss: {self.loss}). "
        said += "The difference is a - b; lower is better, but for the two coverages."
        return "\n".join([said, head, *lines])

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns = np.array([getattr(self, name) for name in _QUANTITIES]).T
        numbers = dict(zip(RatioDifference._fields, columns, strict=True))
        return {"quantity": np.array(_QUANTITIES), **numbers}


#: All fields but the coverage and the loss.
_QUANTITIES = [each.name for each in fields(Comparison)][2:]


def compare(
    a: Any,
    b: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    qid: Any = None,
    coverage: float | None = None,
    loss: Any = None,
    confidence: float = 0.95,
) -> Comparison:
    """Compare two rankers on the same queries, at equal coverage.

    Six quantities; lower is better in all but the coverages. The risk is the mean loss
    of the decided pairs. The discordance is the share of wrong orders among the decided
    pairs that differ (a called tie counts one half; a coin has .5), and the unlike
    coverage is the share of all pairs that differ that these make up. A ranker that
    decides ties first decides fewer pairs that differ at the same coverage, and has a
    lower discordance for that reason alone: the matched discordance compares the two
    where each decides the share ``coverage`` of the pairs that differ. The area under
    the risk-coverage curve (AURC) depends neither on a coverage nor on what is
    accepted. The own coverage is the share of the pairs that each ranker accepts by its
    own threshold.

    Parameters
    ----------
    a, b : object
        Fitted selective rankers, or Pipelines or searches that end in one; or the
        `PairDecisions` of the two about the same pairs, as where they were fitted on
        other columns; ``item_id`` of both are held against each other.
    X : array-like, sparse matrix or frame of shape (n_items, n_features), default=None
        Items that neither trained nor calibrated them; not needed for decisions.
    y : array-like of shape (n_items,)
        Relevance of each row, higher is better.
    qid : None, scalar or array-like of shape (n_items,), default=None
        Query of each row; not needed for decisions.
    coverage : float, default=None
        Share of the pairs to compare at, in (0, 1]: each ranker keeps so many pairs,
        accepted pairs before abstained ones, and those of lowest risk first. The lower
        one of the two rankers' own coverages by default: whoever has that coverage
        keeps exactly the accepted pairs.
    loss : {"misranking", "clear_order", "zero_one"} or array-like of shape (3, 3), \
default=None
        Loss of both. By default that of the rankers, or of the one that made the
        decisions.
    confidence : float, default=0.95
        Of each interval, in (0, 1).

    Returns
    -------
    comparison : Comparison
        ``comparison.risk``, ``.discordance``, ``.unlike_coverage``,
        ``.matched_discordance``, ``.aurc`` and ``.own_coverage`` are named tuples ``(a,
        b, difference, low, high, pvalue)``, the difference being ``a - b``;
        ``to_frame()`` has a row for each.

    Raises
    ------
    TypeError
        If ``a`` or ``b`` is neither a selective ranker nor decisions.
    ValueError
        If ``loss`` is None and there are different losses, or none is known, or the
        decisions are about other pairs or in another order, or there is no pair.

    See Also
    --------
    skrank_abstain.concentration.paired_ratio_test : Any ratio of two rankers' totals,
        each at its own coverage.

    Notes
    -----
    Pairs of equal risk count as if in random order. Whole queries are left out, in up
    to 100 groups in turn, and the differences of the two rankers without each group
    give the standard error: the grouped jackknife [1]_, with thresholds that move with
    the sample, and a t quantile. What both find hard cancels. The interval of the
    unlike coverage is some 30 % too wide, since the threshold moves by whole pairs.
    Forms the pairs: 100 passes over them, and O(n_pairs log n_pairs) once.

    References
    ----------
    .. [1] Wolter (2007). "Introduction to Variance Estimation", second edition,
       chapter 4. Springer.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.metrics import compare
    >>> known, new = (make_ranking(n_queries=60, random_state=k) for k in (0, 1))
    >>> good, poor = (
    ...     BALToR(Ridge(alpha), random_state=0).fit(
    ...         known.data, known.target, qid=known.qid
    ...     )
    ...     for alpha in (1, 1e5)
    ... )
    >>> found = compare(good, poor, new.data, new.target, qid=new.qid)
    >>> found.discordance.low < found.discordance.difference < 0
    True
    """
    both = [_decisions(each, X, y, qid) for each in (a, b)]
    (first, *_), (second, *_) = both
    known = [own for *_, own in both if own is not None] if loss is None else [loss]
    losses = {name_of_loss(matrix): matrix for matrix in map(check_loss, known)}
    if len(losses) != 1:
        raise ValueError(
            "a and b must have one loss, got "
            f"{' and '.join(losses) or None}: pass loss= to measure both by the same."
        )
    (costs,) = losses.values()
    named = first.left_id is not None and second.left_id is not None
    names = ["left", "right", "qid", *["left_id", "right_id"] * named]
    if not all(np.array_equal(getattr(first, n), getattr(second, n)) for n in names):
        raise ValueError(
            "b must decide the same pairs as a, in the same order, got others: call "
            "predict_pairs of both on the same rows, and pass what they return."
        )
    for pairs, relevance, _ in both:
        _check_names(pairs, X, relevance)
    if not len(first):
        raise ValueError("a and b must decide at least one pair, got none.")
    share = min(first.coverage, second.coverage)
    if coverage is not None:
        share = check_fraction(coverage, "coverage", include_one=True)
    elif share == 0:
        name = "b" if first.coverage else "a"
        raise ValueError(f"coverage must be given, since {name} accepts no pair.")
    n_items = None if first.place is None else first.place.size
    codes, queries = encode_qid(first.qid, len(first), unit="pair")
    curves = []
    for each, (pairs, relevance, _) in zip((a, b), both, strict=True):
        # Rankers of labels may have other orders of y.
        values = check_relevance(relevance, n_items)
        truth = pair_labels(values, pairs.left, pairs.right)
        if each is pairs:  # no ranker, whose evaluate has warned
            every = group_queries(None, values.size)
            warn_of_coin(PairTotals.of_decisions(pairs, values, every, None, costs))
        curves.append(_curve(pairs, truth, costs, codes, share))

    def measure(times: FloatArray) -> FloatArray:
        return np.array([curve(times) for curve in curves])

    whole = measure(np.ones(queries.size))
    # By name, so that the order of the rows changes nothing.
    group = np.argsort(np.argsort([repr(name) for name in queries.tolist()])) % _GROUPS
    size = np.bincount(group)
    without = [measure((group != each).astype(float)) for each in range(size.size)]
    # Each group's linear share of the error, as of a mean over groups.
    kept = (1 - size / queries.size)[:, None, None]
    influence = size.size * kept * (whole - np.array(without))
    rows = zip(whole.T.tolist(), (influence[:, 0] - influence[:, 1]).T, strict=True)
    n = size.size - 1
    found = (difference_of(one, two, own, n, confidence) for (one, two), own in rows)
    return Comparison(share, name_of_loss(costs), *found)


def _decisions(each: Any, X: Any, y: Any, qid: Any) -> tuple[PairDecisions, Any, Any]:
    """Return decisions about all pairs, the relevance of their rows, and the loss."""
    if isinstance(each, PairDecisions):
        return each, y, each._loss
    check_row_order(X, y=y, qid=qid)
    ranker, X, y, qid = find_ranker(each, X, y, qid, "predict_pairs")
    ranker.evaluate(X, y, qid=qid)  # which warns of rows that fit got
    return ranker.predict_pairs(X, qid=qid), y, getattr(ranker, "loss", "misranking")


def _check_names(pairs: PairDecisions, *tables: Any) -> None:
    """Refuse tables whose index names the items of the pairs in another order."""
    if pairs.left_id is None or pairs.right_id is None:
        return
    rows = np.concatenate([pairs.left, pairs.right])
    names = [*pairs.left_id, *pairs.right_id]
    for table in tables:
        fits = hasattr(table, "iloc") and rows.max(initial=-1) < len(table)
        labels = table.index[rows].tolist() if fits else names
        if labels != names and {*labels} == {*names}:
            raise ValueError(
                "X and y must have their rows in the order of those that a and b "
                f"decided, got an index with {labels[0]!r} for {names[0]!r}: pass "
                "y.loc[item_id], or y.to_numpy() where positions are right."
            )


def _curve(
    pairs: PairDecisions,
    truth: IntArray,
    costs: FloatArray,
    codes: IntArray,
    share: float,
) -> Callable[[FloatArray], tuple[float, ...]]:
    """Return the quantities by how often each query counts."""
    differ = (truth != 0).astype(np.float64)
    # A called tie is half wrong about a pair that differs.
    wrong = differ * (1 - truth * pairs.label) / 2
    cost = costs[pairs.label + 1, truth + 1]
    # Items that are far apart are decided first where there is no risk.
    risk: Any = pairs.risk if pairs.distance is None else -pairs.distance
    if pairs.novel is not None:
        risk = np.where(pairs.novel, np.inf, risk)
    by_risk = cumulate_queries(cost, risk, codes)
    # Groups, draws and people's answers decide pairs of higher risk than open ones.
    order = np.unique(risk, return_inverse=True)[1] + len(pairs) * pairs.abstained
    columns = np.array([cost, wrong, differ, pairs.accepted])
    points = cumulate_queries(columns, order, codes)

    def measure(times: FloatArray) -> tuple[float, ...]:
        count, sums, _ = points(times)
        if not count.size:
            return (np.nan,) * len(_QUANTITIES)
        count, *curves, own = (np.append(0, each) for each in (count, *sums))
        _, errors, unlike = curves
        at = share * count[-1]
        lost, false, decided = (np.interp(at, count, each) for each in curves)
        with np.errstate(invalid="ignore"):  # where no pair differs
            return (
                lost / at,
                false / decided,
                decided / unlike[-1],
                np.interp(share * unlike[-1], unlike, errors) / (share * unlike[-1]),
                area_of_prefixes(*by_risk(times)[:2]),
                own[-1] / count[-1],
            )

    return measure
