"""One table of counts, and all that follows from it.

An engine counts pairs by query, class and outcome, a class being pairs that the asked
regions treat alike. Totals, profile, coverage and tables of losses are sums over it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import check_choice
from skrank_abstain.concentration import ratio_interval, widened
from skrank_abstain.pairs import PairDecisions, Queries, Table, pair_labels


@dataclass(frozen=True, eq=False)
class PairTotals(Table):
    """Sums over the pairs of each query, in order of first appearance.

    A pair counts 1, or the product of its items' weights. All arrays have shape
    (n_queries,). ``to_frame`` has a row for each query.

    Attributes
    ----------
    qid : ndarray
        The queries, as they were given; their numbers where none were.
    pairs : ndarray, float64
        All pairs.
    accepted : ndarray, float64
        Accepted pairs.
    correct : ndarray, float64
        Accepted pairs with a correct label: the right order of two items that differ,
        or a tie called on two that are equal. Any order of equals is wrong.
    correct_all : ndarray, float64
        Pairs with a correct label, accepted or not.
    tied : ndarray, float64
        Truly tied pairs.
    accepted_tied : ndarray, float64
        Accepted pairs that are truly tied.
    answered_tie : ndarray, float64
        Accepted pairs that are predicted to be ties.
    ordered : ndarray, float64
        Accepted pairs of different relevance in the right order, and half of those
        predicted to be ties.
    misranked : ndarray, float64
        Accepted pairs that are predicted in the wrong order, whatever the loss.
    unlike, discordant : ndarray, float64
        Accepted pairs of different relevance; those that are not ``ordered``.
    loss, loss_all : ndarray, float64
        Sum of the losses of the accepted, and of all pairs, under the ranker's own
        loss.
    coin_loss, tie_loss : ndarray, float64
        What the accepted pairs would have lost had a coin ordered each of them, or had
        each been called a tie: yardsticks of ``loss``.
    by_group : dict or None
        Where ``evaluate`` got ``groups``, the totals of each by name. If these vary
        within queries, the totals of the pairs of each two groups by two names, in the
        order of their texts; of one group twice if a query has two of its items. All
        over the same queries, with zeros where a query has no such pair.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> data, new = (make_ranking(n_queries=60, random_state=k) for k in (0, 1))
    >>> ranker = BALToR(Ridge(), coverage=0.5, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> totals = ranker.evaluate(new.data, new.target, qid=new.qid)
    >>> totals.accepted.shape, round(totals.coverage, 1)
    ((60,), 0.5)
    """

    qid: NDArray[Any]
    pairs: FloatArray
    accepted: FloatArray
    correct: FloatArray
    correct_all: FloatArray
    tied: FloatArray
    accepted_tied: FloatArray
    answered_tie: FloatArray
    ordered: FloatArray
    misranked: FloatArray
    loss: FloatArray
    loss_all: FloatArray
    coin_loss: FloatArray
    tie_loss: FloatArray
    # No field: sums go over the fields.
    by_group: ClassVar[dict[Any, PairTotals] | None] = None
    by_better: ClassVar[dict[Any, PairTotals] | None] = None

    @classmethod
    def of_decisions(
        cls,
        decisions: PairDecisions,
        y: FloatArray,
        queries: Queries,
        weight: FloatArray | None,
        loss: FloatArray,
    ) -> PairTotals:
        """Add up decided pairs one by one.

        Parameters
        ----------
        decisions : PairDecisions
        y : ndarray of shape (n_items,), float64
            Relevance, higher is better.
        queries : Queries
            The query of each item.
        weight : ndarray of shape (n_items,), float64, or None
        loss : ndarray of shape (3, 3), float64
        """
        left, right, label = decisions.left, decisions.right, decisions.label
        truth, tie = pair_labels(y, left, right), label == 0
        # A tie is wrong about any order, whichever column that stands in.
        outcome = np.where(truth == 0, 1, np.where(tie | (label == truth), 0, 2))
        counts = np.zeros((queries.n_queries, 4, 4))
        entry = queries.codes[left], 2 * tie + decisions.accepted, outcome
        mass = 1.0 if weight is None else weight[left] * weight[right]
        np.add.at(counts, entry, mass)
        calls_tie = np.array([False, False, True, True])
        tally = Tally(counts, np.array([[0.0, 1, 0, 1]]), calls_tie, loss)
        return tally.totals(queries.values)

    def of_queries(self, queries: Any) -> PairTotals:
        """Return the totals of some queries.

        Parameters
        ----------
        queries : slice or ndarray, bool or int
            Their positions, or a mark for each query.

        Returns
        -------
        totals : PairTotals
        """
        sums = (column[queries] for column in self._sums())
        return PairTotals(self.qid[queries], *sums)

    def times(self, weight: Any) -> PairTotals:
        """Return the totals of queries that count by a weight, (n_queries,)."""
        return PairTotals(self.qid, *(column * weight for column in self._sums()))

    def less(self, *parts: PairTotals) -> PairTotals:
        """Return the totals without those of some parts of each query's pairs."""
        rest = zip(self._sums(), *(part._sums() for part in parts), strict=True)
        return PairTotals(self.qid, *(whole - sum(others) for whole, *others in rest))

    def summed(self, number: IntArray, qid: NDArray[Any]) -> PairTotals:
        """Return the totals of ``qid``, whose parts these queries are, by number."""
        sums: Any = (np.bincount(number, each, qid.size) for each in self._sums())
        return PairTotals(qid, *sums)

    def _sums(self) -> list[FloatArray]:
        return [getattr(self, each.name) for each in fields(self)[1:]]

    def _columns(self) -> dict[str, NDArray[Any]]:
        derived = ("answered_order", "unlike", "discordant")
        names = [each.name for each in fields(self)]
        return {name: getattr(self, name) for name in (*names, *derived)}

    def __repr__(self) -> str:
        n_pairs, decided = self.pairs.sum(), self.accepted.sum()
        wrong = self.misranked.sum()
        called = 2 * abs(round(self.unlike.sum() - self.ordered.sum() - wrong, 6))
        return (
            f"PairTotals({n_pairs:g} pairs of {np.sum(self.pairs > 0)} queries: "
            f"{decided:g} decided, {n_pairs - decided:g} open; of "
            f"{self.unlike.sum():g} decided pairs that differ {wrong:g} are in the "
            f"wrong order and {called:g} called a tie)"
        )

    @property
    def answered_order(self) -> FloatArray:
        """Accepted pairs of which one item is predicted to be preferred, by query."""
        return self.accepted - self.answered_tie

    @property
    def coverage(self) -> float:
        """Share of pairs accepted; NaN for no pairs."""
        return _ratio(self.accepted, self.pairs)

    @property
    def accuracy(self) -> float:
        """Share of accepted pairs with a correct label, whatever the loss.

        NaN without accepted pairs. An order of equals is wrong, a tie called on equals
        right. Where many pairs are tied and none may be called a tie, report the
        ``discordance``: it leaves them out.
        """
        return _ratio(self.correct, self.accepted)

    @property
    def misranking_rate(self) -> float:
        """Share of wrong orders among the decided orders; NaN without any.

        Equals that got an order count as right: of the pairs that differ it is the
        ``discordance``.
        """
        return _ratio(self.misranked, self.answered_order)

    @property
    def selective_risk(self) -> float:
        """Mean loss of accepted pairs under the ranker's own loss; NaN without any."""
        return _ratio(self.loss, self.accepted)

    @property
    def yardstick(self) -> float:
        """Mean loss of the better blind answer to accepted pairs; NaN without any.

        A coin that orders each pair, or a tie for all of them.
        """
        blind = self.coin_loss, self.tie_loss
        return min(_ratio(each, self.accepted) for each in blind)

    @property
    def unlike(self) -> FloatArray:
        """Accepted pairs of different relevance, by query."""
        return self.accepted - self.accepted_tied

    @property
    def discordant(self) -> FloatArray:
        """Accepted pairs of different relevance in the wrong order, by query.

        A pair that is called a tie counts one half.
        """
        return self.unlike - self.ordered

    @property
    def discordance(self) -> float:
        """Share of the accepted pairs that differ in the wrong order.

        A tie counts one half, so that a coin has .5 on any data; NaN without such a
        pair.
        """
        return _ratio(self.discordant, self.unlike)

    @property
    def concordance(self) -> float:
        """One minus the discordance: the selective AUC."""
        return _ratio(self.ordered, self.unlike)

    @property
    def score(self) -> float:
        """Concordance of all pairs that differ, an abstention counting one half, too.

        The AUC if all are accepted; a coin has .5 at any coverage.
        """
        differ = self.pairs - self.tied
        return _ratio(self.ordered + (differ - self.unlike) / 2, differ)

    def discordance_interval(
        self, weighting: str = "pairs", *, confidence: float = 0.95
    ) -> tuple[float, float, float]:
        """Return the discordance and an interval over queries.

        Parameters
        ----------
        weighting : {"pairs", "queries"}, default="pairs"
            What counts alike, pairs in ``discordance``; the two may be far apart. A
            certificate counts queries,
            unless it was asked for another weighting: E[w / D] / E[d / D], d the
            accepted ones of the D pairs of a query that differ, and w those in the
            wrong order. A query that decides more of its pairs weighs more in it.
        confidence : float, default=0.95
            In (0, 1).

        Returns
        -------
        discordance, low, high : float
            The ends are in [0, 1]; NaN with fewer than two queries. Where n queries all
            have the same share, such as no wrong order, the interval allows for a part
            1 - ((1 - confidence) / 2)^(1 / n) of other queries that they may have
            missed, as that of ``theory.auc_confidence_interval`` does.
        """
        check_choice(weighting, "weighting", ("pairs", "queries"))
        columns = parts_of(self, "discordance", weighting)
        wrong, unlike = (column[~np.isnan(column)] for column in columns)
        ends = ratio_interval(wrong, unlike, confidence=confidence)
        share, n = _ratio(wrong, unlike), int((unlike > 0).sum())
        return share, *widened(share, *ends, n, confidence)


def parts_of(
    totals: PairTotals, what: str, weighting: str
) -> tuple[FloatArray, FloatArray]:
    """Return numerators and denominators of a quantity by query.

    Parameters
    ----------
    totals : PairTotals
    what : {"coverage", "discordance", "selective risk", "loss of a coin"}
    weighting : {"pairs", "queries"}
        What counts alike.

    Returns
    -------
    part, whole : ndarray of shape (n_queries,), float64
        NaN in queries without such pairs.
    """
    part, whole, every = {
        "coverage": (totals.accepted, totals.pairs, totals.pairs),
        "discordance": (totals.discordant, totals.unlike, totals.pairs - totals.tied),
        "selective risk": (totals.loss, totals.accepted, totals.pairs),
        "loss of a coin": (totals.coin_loss, totals.accepted, totals.pairs),
    }[what]
    some = np.where(every > 0, every, np.nan)
    size = some if weighting == "queries" else some / some
    return part / size, whole / size


def _ratio(part: FloatArray, whole: FloatArray) -> float:
    total = float(whole.sum())
    return float(part.sum()) / total if total > 0 else float("nan")


@dataclass(frozen=True, eq=False)
class RiskProfile(Table):
    """Pairs, and how their predictions came out, at each conditional risk.

    ``to_frame`` has a row for each risk, with the four curves.

    Attributes
    ----------
    risk : ndarray of shape (n_risks,), float64
        Distinct risks, ascending.
    n_pairs : ndarray of shape (n_risks,), float64
        Pairs of this risk.
    loss : ndarray of shape (n_risks,), float64
        Sum of the losses of their predictions, under the ranker's own loss; for the
        zero-one loss the number of errors.
    n_unlike, ordered : ndarray of shape (n_risks,), float64
        Pairs of different relevance, and those of them in the right order, a predicted
        tie counting one half.
    correct : ndarray of shape (n_risks,), float64
        Pairs with a correct label, as in `PairTotals`.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.selection import RiskProfile
    >>> risk, n_pairs, loss = np.array([[0.1, 0.4], [6, 4], [0, 2]])
    >>> right = n_pairs - loss  # labels; no pair is a tie
    >>> profile = RiskProfile(risk, n_pairs, loss, n_pairs, right, right)
    >>> profile.coverage, profile.selective_risk, profile.accuracy
    (array([0.6, 1. ]), array([0. , 0.2]), array([1. , 0.8]))
    """

    risk: FloatArray
    n_pairs: FloatArray
    loss: FloatArray
    n_unlike: FloatArray
    ordered: FloatArray
    correct: FloatArray

    def _columns(self) -> dict[str, NDArray[Any]]:
        curves = ("coverage", "selective_risk", "concordance", "accuracy")
        return {name: getattr(self, name) for name in (*vars(self), *curves)}

    @property
    def coverage(self) -> FloatArray:
        """Share of the pairs with at most each risk, shape (n_risks,)."""
        accepted = np.cumsum(self.n_pairs)
        # A slice, so that nothing is divided by zero without pairs.
        return accepted / accepted[-1:]

    @property
    def selective_risk(self) -> FloatArray:
        """Mean loss of the pairs with at most each risk, shape (n_risks,)."""
        return np.cumsum(self.loss) / np.cumsum(self.n_pairs)

    @property
    def accuracy(self) -> FloatArray:
        """Share of correct labels among the pairs with at most each risk, (n_risks,).

        As in `PairTotals`: an order of equals is wrong.
        """
        return np.cumsum(self.correct) / np.cumsum(self.n_pairs)

    @property
    def concordance(self) -> FloatArray:
        """Share of the pairs of different relevance in the right order, (n_risks,).

        Of those with at most each risk; NaN before the first.
        """
        unlike = np.cumsum(self.n_unlike)
        return np.cumsum(self.ordered) / np.where(unlike > 0, unlike, np.nan)


@dataclass(frozen=True, eq=False)
class Tally:
    """Pairs by query, class and outcome.

    Attributes
    ----------
    counts : ndarray of shape (n_queries, n_classes, 4), float64
        By outcome: concordant, tied, discordant, and untied pairs of equal values. A
        pair counts 1, or its weight.
    accepted : ndarray of shape (n_regions, n_classes), float64
        Probability that a region accepts a pair of the class.
    tie : ndarray of shape (n_classes,), bool
        Whether a tie is predicted.
    loss : ndarray of shape (3, 3), float64
    risk : ndarray of shape (n_classes,), float64, or None
        Conditional risk of the class, where it has one.
    drawn : ndarray of shape (n_queries, 2, 4), float64, or None
        The accepted ones of the pairs that are accepted with a probability between 0
        and 1, as orders and as ties. None: they count with their probability.
    """

    counts: FloatArray
    accepted: FloatArray
    tie: BoolArray
    loss: FloatArray
    risk: FloatArray | None = None
    drawn: FloatArray | None = None

    def mass(self) -> tuple[float, float]:
        """Return the expected number of accepted pairs, and of those called a tie."""
        accepted = self.counts.sum(axis=(0, 2)) * self.accepted[0]
        return float(accepted.sum()), float(accepted[self.tie].sum())

    def at_regions(self, *, discordance: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return accepted pairs and their loss, (n_queries, n_regions) both.

        For the discordance: pairs that differ, and those of them in the wrong order.
        """
        # Neighbouring classes are mostly treated alike: the steps between them are
        # sparse. Sums in a fixed order, which a matrix product does not promise.
        steps = csr_array(np.diff(self.accepted, prepend=0.0))

        def add(mass: FloatArray) -> FloatArray:
            return np.asarray((steps @ np.cumsum(mass[:, ::-1], axis=1)[:, ::-1].T).T)

        pairs = self.counts.sum(axis=2)
        _, ordered, spent = self._outcomes(self.counts, self.tie)
        if discordance:
            unlike = pairs - self.counts[:, :, 1]
            return add(unlike), add(unlike - ordered)
        return add(pairs), add(spent)

    def totals(self, qid: NDArray[Any] | None = None) -> PairTotals:
        """Return the sums over the pairs of each query, decided by the first region.

        ``qid`` names the queries; without it they are numbered.
        """
        counts, accepted, tie = self.counts, self.accepted[0], self.tie
        if self.drawn is not None:
            # The drawn pairs become classes of their own: the accepted ones are added
            # there and taken out of the class that they were counted in.
            counts = np.concatenate([counts, self.drawn, -self.drawn], axis=1)
            fixed = np.where(accepted < 1, 0.0, accepted)
            accepted = np.concatenate([fixed, [1, 1, 0, 0]])
            tie = np.concatenate([tie, [False, True, False, True]])
        mass = counts.sum(axis=2)
        tied = counts[:, :, 1]
        right, ordered, spent = self._outcomes(counts, tie)
        coin = self.loss[0, 1] * tied + self.loss[0, 2] / 2 * (mass - tied)
        return PairTotals(
            qid=np.arange(len(counts)) if qid is None else qid,
            pairs=mass.sum(axis=1),
            accepted=mass @ accepted,
            correct=right @ accepted,
            correct_all=right.sum(axis=1),
            tied=tied.sum(axis=1),
            accepted_tied=tied @ accepted,
            answered_tie=mass @ (accepted * tie),
            ordered=ordered @ accepted,
            misranked=np.where(tie, 0.0, counts[:, :, 2]) @ accepted,
            loss=spent @ accepted,
            loss_all=spent.sum(axis=1),
            coin_loss=coin @ accepted,
            tie_loss=self.loss[1, 0] * (mass - tied) @ accepted,
        )

    def profile(self) -> RiskProfile:
        """Return the pairs by risk, equal risks merged."""
        levels, entry = np.unique(np.asarray(self.risk), return_inverse=True)
        counts = self.counts.sum(axis=0)
        pairs = counts.sum(axis=1)
        right, ordered, spent = self._outcomes(counts, self.tie)
        sums = (
            np.bincount(entry.reshape(-1), values, levels.size).astype(np.float64)
            for values in (pairs, spent, pairs - counts[:, 1], ordered, right)
        )
        return RiskProfile(levels, *sums)

    def _outcomes(self, counts: FloatArray, tie: BoolArray) -> tuple[FloatArray, ...]:
        """Return correct labels, pairs in the right order, and losses, by class.

        A called tie is half a right order, as equal scores are in the AUC (equation 1
        of Agarwal, Har-Peled and Roth 2005, "A Uniform Convergence Bound for the Area
        Under the ROC Curve").
        """
        right, tied, wrong, equal = np.moveaxis(counts, -1, 0)
        # Neither label is right for the last column: such pairs are not tied, and there
        # is no order to predict. An order never meets it: equal values are called ties.
        unlike = right + wrong + equal
        of_order = self.loss[0, 1] * tied + self.loss[0, 2] * wrong
        spent = np.where(tie, self.loss[1, 0] * unlike, of_order)
        return np.where(tie, tied, right), np.where(tie, unlike / 2, right), spent


class OperatingPoint(NamedTuple):
    """What happens to labelled pairs at one threshold.

    Attributes
    ----------
    coverage : float
        The calibration coverage that was asked for.
    threshold : float
        On the conditional risk.
    totals : PairTotals
        By query.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> half, whole = ranker.operating_points(
    ...     data.data, data.target, qid=data.qid, coverages=[0.5, 1.0]
    ... )
    >>> half.threshold < whole.threshold, whole.totals.coverage
    (True, 1.0)
    """

    coverage: float
    threshold: float
    totals: PairTotals


class OperatingPoints(list[OperatingPoint], Table):
    """Operating points; ``to_frame`` has a row for each, all queries together."""

    def _columns(self) -> dict[str, Any]:
        pooled = ("coverage", "selective_risk", "discordance", "accuracy")
        rows = [[*point[:2], *(getattr(point[2], n) for n in pooled)] for point in self]
        columns = np.reshape(rows, (-1, 2 + len(pooled))).T
        return dict(zip(("target", "threshold", *pooled), columns, strict=True))
