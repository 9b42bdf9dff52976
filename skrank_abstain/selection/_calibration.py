"""What a rule is, and the calibration that it selects a region from.

A tie model is fitted, and the pairs that set the threshold are kept.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from functools import cache, cached_property
from itertools import combinations_with_replacement, permutations
from typing import Any, NamedTuple

import numpy as np

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._saving import Value
from skrank_abstain._validation import (
    check_choice,
    check_fraction,
    encode_qid,
    listed,
    rounded_share,
    shown,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.concentration import coverage_interval
from skrank_abstain.pairs import Scores
from skrank_abstain.selection import _engine
from skrank_abstain.selection._bins import BinEngine
from skrank_abstain.selection._gaps import GapEngine
from skrank_abstain.selection._tally import PairTotals
from skrank_abstain.tie_models import (
    EQUAL,
    BinModel,
    DifferenceModel,
    GradedRelevance,
    TieModel,
)

#: Two groups with pairs in fewer calibration queries get the threshold of all pairs.
FEWEST_QUERIES = 30
#: Largest number of thresholds in the tables of losses.
_N_THRESHOLDS = 100
#: `fit` warns from this share of ties among the accepted pairs.
_MOST_TIES = 0.95
#: It warns of a coin from this share of wrong orders, of at least so many pairs; it
#: looks at so many queries.
_MUCH_WRONG, _ENOUGH_PAIRS, _ENOUGH_QUERIES = 0.45, 100, 200


@dataclass(frozen=True, eq=False)
class Groups(Value):
    """Kinds of queries, such as sites, or of items.

    Attributes
    ----------
    code : ndarray of shape (n_queries,) or (n_items,), int64
        Number of the group of each query that sets the threshold, or of each item.
    names : list
        By code; [None] without groups.
    """

    code: IntArray
    names: list[Any]

    @classmethod
    def one(cls, n_queries: int) -> Groups:
        """Put all queries into one group, which has no name."""
        return cls(np.zeros(n_queries, dtype=np.int64), [None])

    def take(self, rows: IntArray) -> Groups:
        """Return the groups of some rows."""
        return Groups(self.code[rows], self.names)

    def counts(self) -> dict[Any, int]:
        """Return the number of queries of each group."""
        counts = np.bincount(self.code, minlength=len(self.names))
        return dict(zip(self.names, counts.tolist(), strict=True))


def totals_by_group(
    items: Scores, groups: Groups, totals: Callable[[Scores], PairTotals]
) -> dict[Any, PairTotals]:
    """Add up what happens to the pairs of each group.

    Parameters
    ----------
    items : Scores
    groups : Groups
        Of the queries, or of the rows of X if they vary within queries.
    totals : callable
        Adds up all pairs of some items.

    Returns
    -------
    totals : dict
        Over all queries, by name: zeros where a query is of another group. Or, by two
        names, of the pairs of each two groups of items, and of the items of one group
        if a query has two of them. No pair is formed.
    """
    here, names = items.ascending, groups.names
    if groups.code.size == here.n_queries:
        whole = totals(here)
        return {name: whole.times(groups.code == k) for k, name in enumerate(names)}
    code = groups.code[here.rows]

    @cache
    def of(*which: int) -> PairTotals:
        some = here.apart(~np.isin(code, which))
        return totals(some).of_queries(slice(here.n_queries))

    def between(one: int, other: int) -> PairTotals:
        return of(one) if one == other else of(one, other).less(of(one), of(other))

    cells = combinations_with_replacement(range(len(names)), 2)
    found = {(names[one], names[other]): between(one, other) for one, other in cells}
    # A label, for instance, makes no pair with itself.
    return {(a, b): all_ for (a, b), all_ in found.items() if a != b or any(all_.pairs)}


def totals_by_better(
    items: Scores, groups: Groups, totals: Callable[[Scores], PairTotals]
) -> dict[Any, PairTotals]:
    """Add up the pairs of two groups of items by the group of the better item.

    Parameters
    ----------
    items : Scores
        With relevance.
    groups, totals
        As in `totals_by_group`.

    Returns
    -------
    totals : dict
        Over all queries, by the group of the better item and that of the worse one.
        Tied pairs belong to neither order. Empty for groups of queries.

    Notes
    -----
    Two different grades agree above the first bit that only the higher one has. So for
    each bit, take the items of the better group that have it and those of the worse
    group that do not, and divide each query by the bits above it: all pairs across the
    two groups are wanted ones, and each wanted pair comes once. No pair is formed;
    O(n log n) for each two groups and each bit of the number of grades.
    """
    here, names = items.ascending, groups.names
    if groups.code.size == here.n_queries:
        return {}
    code, grade, query = groups.code[here.rows], here.grades, here.queries.codes
    bits = np.arange(int(grade.max(initial=0)).bit_length())[:, None]
    has, above = grade >> bits & 1 == 1, grade >> bits + 1

    def among(marked: Any) -> PairTotals:
        bit, item = np.nonzero(marked)
        some, first = here.divided(item, above[bit, item], query[item], bit)
        return totals(some).summed(query[first], here.queries.values)

    kinds = range(len(names))
    high, low = ([mark & (code == k) for k in kinds] for mark in (has, ~has))
    highs, lows = ([among(marked) for marked in each] for each in (high, low))

    def better(one: int, other: int) -> PairTotals:
        return among(high[one] | low[other]).less(highs[one], lows[other])

    return {(names[a], names[b]): better(a, b) for a, b in permutations(kinds, 2)}


class LossTables(NamedTuple):
    """Shares of each query's pairs, at ever more lenient thresholds.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,), float64
        On the risk; they accept evenly spaced shares of the tuning pairs.
    tuning, rest : tuple of two ndarrays of shape (n_queries, n_thresholds), float64
        Accepted pairs, and their loss divided by the largest one; for a discordance
        accepted pairs that differ, and those of them in the wrong order.
    """

    thresholds: FloatArray
    tuning: tuple[FloatArray, FloatArray]
    rest: tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Calibration(Value):
    """The fitted tie model and the pairs from which a rule selects its region.

    Attributes
    ----------
    model : TieModel
        Fitted.
    items : Scores
        Items whose pairs set the threshold.
    loss : ndarray of shape (3, 3)
    tuning : Scores or None
        Items that only fitted the tie model; None if ``items`` did.
    seed : int
        For rules that draw random numbers.
    groups : Groups or None
        Groups of the queries of ``items``; None for one group.
    item_groups : list or None
        Names of the groups of items, each two of which have a threshold of their own.
    engine : RiskEngine
        Engine of the model.

    Examples
    --------
    ``fit`` passes one to the rule, which asks its ``engine`` and ``items``.

    >>> from dataclasses import dataclass
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import SelectiveRanker
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.selection import Rule, RuleText
    >>> @dataclass(frozen=True)
    ... class HalfTheWorst(Rule):
    ...     def select(self, calibration):
    ...         return calibration.engine.below(calibration.engine.highest / 2)
    ...     def in_words(self, calibration, threshold):
    ...         return RuleText("half the largest risk", "Nothing is promised.")
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = SelectiveRanker(Ridge(), rule=HalfTheWorst(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> 0 < ranker.threshold_ < 1 / 3
    True
    """

    model: TieModel
    items: Scores
    loss: FloatArray
    tuning: Scores | None = None
    seed: int = 0
    groups: Groups | None = None
    item_groups: list[Any] | None = None

    @cached_property
    def engine(self) -> _engine.RiskEngine:
        """The engine that finds the pairs below a risk."""
        return risk_engine(self.model, self.loss, self.tuning or self.items)

    def at_coverage(
        self,
        coverage: float,
        *,
        quantile: str = "inverted_cdf",
        boundary: str = "accept",
    ) -> Any:
        """Return the region of the pairs up to the coverage quantile of the risk.

        Parameters
        ----------
        coverage : float
            Target share of accepted pairs, in (0, 1]. 1 accepts every pair, also those
            riskier than any calibration pair.
        quantile : {"inverted_cdf", "linear"}, default="inverted_cdf"
            The order statistic of rank ``ceil(coverage * n_pairs)``, or numpy's linear
            interpolation between two.
        boundary : {"accept", "randomize"}, default="accept"
            Whether pairs on the threshold are all accepted, or each with the
            probability that makes the calibration coverage exact.

        Raises
        ------
        ValueError
            If the coverage is outside (0, 1] or cannot be reached, or an option is
            unknown.

        Notes
        -----
        Theorem 3.2 and Algorithm 1 of the paper on bounded abstention
        (arXiv:2505.23437).
        """
        check_quantile(coverage, quantile, boundary)
        engine, sound = self.engine, self.items.sound
        most = self.largest_coverage
        # Rounding in the division must not refuse a coverage that can be reached.
        if most < 1 and (most == 0 or coverage > most * (1 + 1e-12)):
            # Rounded down, so that the coverage in the message can be reached.
            most = math.floor(most * 1e4) / 1e4
            raise ValueError(
                f"coverage must be lower, got {coverage:g}: it is a share of all "
                f"pairs, and {self.items.n_pairs - sound.n_pairs} of "
                f"{self.items.n_pairs} calibration pairs have a novel item and are "
                f"abstained on. Ask for at most {most:g}, or pass a lower "
                "novelty_level."
            )
        if most < 1:
            coverage = min(coverage * self.items.n_pairs / sound.n_pairs, 1.0)
        # Not the quantile: new pairs may be riskier than all calibration pairs.
        if coverage == 1:
            region = engine.below(engine.highest)
        elif quantile == "linear":
            place = coverage * (sound.n_pairs - 1)
            ranks = math.floor(place) + 1, math.ceil(place) + 1
            risks = [engine.surest(sound, rank).risk for rank in ranks]
            region = engine.below(float(np.quantile(risks, place % 1)))
        else:
            rank = int(rounded_share(coverage, sound.n_pairs))
            region = engine.surest(sound, rank)
        if self.item_groups is not None:
            return self._by_groups(region, coverage)
        if boundary == "accept" or quantile == "linear" or coverage == 1:
            return region
        n_accepted = self._mass(region, sound)
        n_below = self._mass(replace(region, kappa=0.0), sound)
        # kappa = (c - rho(r < tau)) / rho(r = tau) of Theorem 3.2, in numbers of pairs.
        kappa = (coverage * sound.n_pairs - n_below) / (n_accepted - n_below)
        return replace(region, kappa=float(np.clip(kappa, 0, 1)), seed=self.seed)

    def _mass(self, region: Any, scores: Scores) -> float:
        return self.engine.tally(scores, [region], outcomes=False).mass()[0]

    def _by_groups(self, pooled: Any, coverage: float) -> _engine.CellRegion:
        """Return a region for each two groups of items that have enough queries."""
        n_groups = len(self.item_groups or [])
        of_cell = np.zeros((n_groups, n_groups), dtype=np.int64)
        regions = [pooled]
        cells = _engine.cells_of(self.items, n_groups) if coverage < 1 else {}
        for cell, n_queries in cells.items():
            if n_queries >= FEWEST_QUERIES:
                of_cell[cell] = of_cell[cell[::-1]] = len(regions)
                regions.append(self._of_cell(cell, coverage))
        return _engine.CellRegion(tuple(regions), of_cell)

    def _of_cell(self, cell: _engine.Cell, coverage: float) -> Any:
        """Return the smallest region of a risk that accepts the coverage of a cell."""
        engine = self.engine

        def accepted(region: Any) -> float:
            tally = _engine.tally_of(engine, cell, self.items, [region], outcomes=False)
            return tally.mass()[0]

        # Where nothing is below the risk 0, all of it may be wanted.
        low, high = -1.0, engine.highest
        region = engine.below(high)
        wanted = rounded_share(coverage, round(accepted(region)))
        # Halving ends where the two are neighbours, or the count is met to the pair.
        while low < (middle := (low + high) / 2) < high:
            tried = engine.below(middle)
            if (found := accepted(tried)) < wanted:
                low = middle
                continue
            high, region = middle, tried
            if found == wanted:
                break
        return region

    @property
    def largest_coverage(self) -> float:
        """The largest share of the calibration pairs that can be accepted."""
        return float(self.items.sound.n_pairs / self.items.n_pairs)

    def codes_of_groups(self, group: Any) -> IntArray | None:
        """Return the numbers of the groups of new items, (n_items,); None without.

        Raises
        ------
        ValueError
            If there are groups that the calibration items do not have.
        """
        if self.item_groups is None:
            return None
        codes, found = encode_qid(group, len(group), name="groups")
        known = self.item_groups
        new = [name for name in found.tolist() if name not in known]
        if new:
            raise ValueError(
                f"groups must be those of fit ({listed(known)}), got {listed(new)}, "
                "which have no threshold."
            )
        return np.array([*map(known.index, found.tolist())], np.int64)[codes]

    def totals(self, region: Any, items: Scores, groups: Any = None) -> PairTotals:
        """Add up what happens to all pairs, or to those of two groups of items."""
        # Pairs that were given one by one are queries without a name.
        qid = items.queries.values if items.unit is None else None
        if groups is None:
            return self.engine.tally(items, [region]).totals(qid)
        names = self.item_groups or []
        if len(groups) != 2 or not {*groups} <= {*names}:
            raise ValueError(
                f"groups must be two of those of fit ({listed(names)}), got {groups!r}."
            )
        cell: Any = tuple(sorted(map(names.index, groups)))
        return _engine.tally_of(self.engine, cell, items, [region.at(cell)]).totals(qid)

    @property
    def is_graded(self) -> bool:
        """Whether the tie model knows the grades of items, as a review needs."""
        return isinstance(self.model, GradedRelevance)

    @cached_property
    def graded(self) -> Calibration:
        """The same pairs under a model of grades; fitted once."""
        model = GradedRelevance().fit_items(self.tuning or self.items)
        return replace(self, model=model)

    def select(self, rule: Rule) -> _engine.Region:
        """Return the region that a rule selects, or raise."""
        region = rule.select(self)
        name = f"{type(rule).__name__}.select"
        if not hasattr(region, "risk"):
            raise TypeError(
                f"{name} must return a region, as calibration.engine.below(0.3) and "
                f"calibration.at_coverage(0.8) do, got {region!r}."
            )
        if np.isnan(region.risk):
            raise ValueError(f"{name} must return a region with a threshold, got NaN.")
        return region

    def coverage(self, region: Any) -> float:
        """Return the expected share of the calibration pairs that are accepted."""
        return self._mass(region, self.items) / self.items.n_pairs

    def warn_of_ties(self, region: Any) -> None:
        """Warn where nearly all accepted pairs are called ties."""
        accepted, ties = self.engine.tally(self.items, [region], outcomes=False).mass()
        if accepted and ties >= _MOST_TIES * accepted and self.loss[0, 1] > 0:
            warn_user(
                f"Nearly all accepted pairs are ties: of {accepted:.0f} accepted "
                f"calibration pairs {accepted - ties:.0f} are decided by order. If "
                "only a wrong order costs, pass loss='misranking': only equal scores "
                "are then called a tie."
            )

    def warn_of_coin(self, region: Any) -> None:
        """Warn where the decided orders are hardly better than a coin's."""
        some = self.items
        if some.unit is None:  # no more are needed to see it
            some = some.take_queries(np.arange(min(some.n_queries, _ENOUGH_QUERIES)))
        warn_of_coin(self.totals(region, some))

    def coverage_interval(self, region: Any, **options: Any) -> FloatArray:
        """Return an interval for the coverage of new queries, as the function does."""
        found = self.totals(region, self.items)
        return coverage_interval(found.accepted, found.pairs, seed=self.seed, **options)

    def group_counts(self, some: IntArray | None = None) -> dict[Any, int]:
        """Return the number of (some) queries of each group; by None without groups."""
        if self.groups is None:
            return {None: self.items.n_queries if some is None else some.size}
        every = self.groups.counts()
        found = every if some is None else self.groups.take(some).counts()
        return {name: found[name] for name, count in every.items() if count}

    def loss_tables(
        self, margin_of: float | None = None, most: float | None = None
    ) -> LossTables:
        """Return accepted pairs and their loss, by query and threshold.

        Parameters
        ----------
        margin_of : float, default=None
            Thresholds are on the `margins` of this bound, and all pairs are those that
            differ.
        most : float, default=None
            What counts are divided by; None: by the pairs of the query.
        """
        tuning = self.tuning or self.items
        # The thresholds, too, come from the tuning pairs: a test of thresholds that its
        # own data chose promises nothing.
        profile = self.engine.tally(tuning, margin_of=margin_of).profile()
        # The last one accepts every pair, so that a bound which holds without
        # abstention can be certified.
        share, highest = profile.coverage, self.engine.highest
        if margin_of is not None:
            # An order is at most half as often wrong as its items differ.
            share, highest = np.cumsum(profile.n_unlike), 0.5
            share = share / max(share[-1], 1)
        wanted = share[-1] * np.arange(1, _N_THRESHOLDS) / _N_THRESHOLDS
        found = profile.risk[np.searchsorted(share, wanted)].clip(max=highest)
        thresholds = np.unique(np.append(found, highest))

        def shares(items: Scores) -> tuple[FloatArray, FloatArray]:
            accepted, cost = _engine.at_thresholds(
                self.engine, items, thresholds, margin_of
            )
            # Over the largest loss they lie in [0, 1], as the bounds for means assume.
            every, largest = items.pair_counts.astype(np.float64), self.loss.max()
            if margin_of is not None:
                totals = self.totals(self.engine.below(highest), items)
                every, largest = totals.pairs - totals.tied, 1.0
            whole = np.maximum(every, 1)[:, None] if most is None else most
            return accepted / whole, cost / (largest * whole)

        return LossTables(thresholds, shares(tuning), shares(self.items))


def fit_calibration(
    model: TieModel,
    loss: FloatArray,
    data: Scores,
    tuning: Scores | None = None,
    *,
    seed: int = 0,
    groups: Groups | None = None,
    item_groups: list[Any] | None = None,
) -> Calibration:
    """Fit a tie model in place, and keep the pairs that set the threshold.

    Parameters
    ----------
    model : TieModel
    loss : ndarray of shape (3, 3)
    data : Scores
        Labelled items whose pairs set the threshold, at least one.
    tuning : Scores, default=None
        Of other queries, which fit the tie model; None: ``data`` fits it.
    seed, groups, item_groups
        As in `Calibration`.

    Notes
    -----
    The threshold is a quantile of in-sample risks, those of the model that will decide.
    Out-of-fold risks are less optimistic, but each fold's model spreads them in its own
    way: the share of new pairs below their quantile is further from the target (by up
    to .09 in our measurements). Values learned from labels and features are out of fold
    all the same.
    """
    tuned = fit_values(model, data if tuning is None else tuning).ascending
    if tuning is None:
        return Calibration(model, tuned, loss, None, seed, groups, item_groups)
    if data.rows is None:
        new = model.checked_transform(data.score, data.queries, data.X)
        data = replace(data, value=new)
    return Calibration(model, data.ascending, loss, tuned, seed, groups)


def fit_values(model: TieModel, data: Scores) -> Scores:
    """Fit a tie model in place; return the items with out-of-fold values.

    Pairs that were given have scores alone.
    """
    if data.rows is None:
        values = model.checked_fit_transform(data.score, data.y, data.queries, data.X)
        data = replace(data, value=values)
    model.fit_items(data.ascending)
    return data


def risk_engine(model: TieModel, loss: FloatArray, items: Scores) -> _engine.RiskEngine:
    """Return the engine of a fitted tie model.

    The items set the unit of gaps and the tolerance of equal values.

    Raises
    ------
    TypeError
        If the model is neither a model of the score difference nor one of bins.
    """
    tolerance = EQUAL * items.largest_value
    if isinstance(model, BinModel):
        return BinEngine(model, loss, tolerance)
    if isinstance(model, DifferenceModel):
        return GapEngine(model, loss, items.largest_gap, tolerance)
    raise TypeError(
        "tie_model must be a DifferenceModel or a BinModel, which say how its pairs "
        f"can be counted, got {shown(model)}."
    )


class Bound(NamedTuple):
    """The number that a rule promises to keep, for the verdict of a report.

    Attributes
    ----------
    what : {"discordance", "selective risk", "coverage"}
        The quantity; of the coverage the bound is the least, of the others the most.
    limit : float
    weighting : {"queries", "pairs"}
        What counts alike.
    blind : bool, default=False
        Whether a coin keeps the bound, or nearly keeps it.

    Examples
    --------
    >>> from skrank_abstain.selection import Bound
    >>> Bound("coverage", 0.7, "pairs").limit
    0.7
    """

    what: str
    limit: float
    weighting: str
    blind: bool = False


class RuleText(NamedTuple):
    r"""A rule in the words of a report.

    Attributes
    ----------
    done : str
        How the threshold was set; completes "a pair is decided if its conditional
        risk is at most 0.3 (...)".
    promised : str, default="NOTHING IS PROMISED about errors: ..."
        What holds for new queries, and what does not: a sentence for everybody, with
        which the report begins, and after each ``"\n- "`` a detail.
    bound : Bound, default=None
        What observed numbers are held against.

    Examples
    --------
    >>> from skrank_abstain.selection import RuleText
    >>> RuleText("the median of the risks", "Nothing is promised.").done
    'the median of the risks'
    """

    done: str
    promised: str = (
        "NOTHING IS PROMISED about errors: the threshold is an estimate, which targets "
        "the coverage or the cost; it does not guarantee an accuracy."
    )
    bound: Bound | None = None


class Rule(Value, ABC):
    """Base of the selection rules: frozen values with two methods.

    ``select`` returns the accepted region: ``calibration.at_coverage(0.8)`` or
    ``calibration.engine.below(0.3)``. ``in_words`` tells an auditor how the
    threshold was set and what it promises.

    Attributes
    ----------
    tuning_size : float
        Share of the calibration queries that fit the tie model and set no threshold,
        which a promise about new queries needs. 0: all queries do both.
    largest_query : int or None
        Items of the largest query that ``fit`` and predictions allow; None: any.
    groups : str, int or None
        Column of X with the groups of the items, if the rule goes by them.

    Examples
    --------
    >>> from skrank_abstain.selection import Coverage, Price, Rule
    >>> isinstance(Coverage(0.8), Rule), Price(0.2)
    (True, Price(cost=0.2))
    """

    tuning_size: float = 0.0
    largest_query: int | None = None
    groups: str | int | None = None

    def check(self, loss: FloatArray) -> None:
        """Refuse parameters that make no sense with a loss, before data come in."""

    def warn_of_promise(self, calibration: Calibration, region: _engine.Region) -> None:
        """Warn in ``fit`` where a promise is weaker than it looks."""

    @abstractmethod
    def select(self, calibration: Calibration) -> _engine.Region:
        """Return the accepted region.

        Parameters
        ----------
        calibration : Calibration
            ``engine``, ``items`` and ``seed``. Where ``tuning_size`` is not 0, the
            queries of the items did not fit the tie model.
        """

    @abstractmethod
    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        """Tell how the threshold was set and what it promises."""


def check_rule(rule: Any) -> Rule:
    """Return ``rule`` if it is one.

    Raises
    ------
    TypeError
        If it is not a rule, or not a value.
    """
    if not isinstance(rule, Rule):
        raise TypeError(
            "rule must be a rule of skrank_abstain.selection, such as Coverage(0.8), "
            f"got {shown(rule)}."
        )
    kind: type = type(rule)
    if not is_dataclass(kind):
        raise TypeError(
            "rule must be a value: put @dataclass(frozen=True) before the class "
            f"{kind.__name__}."
        )
    return rule


def check_largest_query(largest: int, largest_query: int | None) -> None:
    """Refuse a query that is larger than a promise about pairs allows.

    Parameters
    ----------
    largest : int
        Items of the largest query.
    largest_query : int or None
        None allows any size.

    Raises
    ------
    ValueError
        If ``largest`` exceeds ``largest_query``.
    """
    if largest_query is not None and largest > largest_query:
        raise ValueError(
            f"X must hold queries of at most largest_query={largest_query} items, got "
            f"one of {largest}: the promise weighs pairs and covers no larger query. "
            "Rank it by predict and leave its pairs to a person, or fit with a larger "
            "largest_query."
        )


def check_quantile(coverage: float, quantile: str, boundary: str = "accept") -> None:
    """Validate a coverage; reject unknown or incompatible options."""
    check_fraction(coverage, "coverage", include_one=True)
    check_choice(boundary, "boundary", ("accept", "randomize"))
    check_choice(quantile, "quantile", ("inverted_cdf", "linear"))
    if boundary == "randomize" and quantile == "linear":
        raise ValueError(
            "boundary='randomize' must go with quantile='inverted_cdf', got "
            "quantile='linear': an interpolated threshold has no pairs on it."
        )


def warn_of_coin(found: PairTotals) -> None:
    """Warn where the decided orders are hardly better than a coin's."""
    wrong, n_unlike = found.discordant.sum(), found.unlike.sum()
    # A called tie is half wrong, and has a warning of its own.
    orders = found.answered_order.sum() > found.answered_tie.sum()
    if orders and n_unlike >= _ENOUGH_PAIRS and wrong >= _MUCH_WRONG * n_unlike:
        warn_user(
            f"{wrong / n_unlike:.0%} of the decided pairs that differ are in the wrong "
            "order (a coin: 50%): check that higher is better in y as in scores, that "
            "y and qid belong to the rows of X, and that its columns stand as the "
            "model was trained."
        )
