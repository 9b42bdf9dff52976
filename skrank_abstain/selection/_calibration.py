"""What a rule is, and the calibration that it selects a region from.

A tie model is fitted, and the pairs that set the threshold are kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from sklearn.utils import _safe_indexing

from skrank_abstain._saving import Value
from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    encode_qid,
    listed,
    shown,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import Queries, ScoredItems, ScoredPairs, group_queries
from skrank_abstain.selection._bin_engine import BinEngine
from skrank_abstain.selection._cells import Cell, CellEngine
from skrank_abstain.selection._engine import Region, RiskEngine
from skrank_abstain.selection._gap_engine import GapEngine
from skrank_abstain.selection._places import place_shares
from skrank_abstain.selection._sound_pairs import SoundPairs
from skrank_abstain.selection._totals import PairTotals, RiskProfile
from skrank_abstain.tie_models import (
    EQUAL,
    BinModel,
    DifferenceModel,
    GradedRelevance,
    TieModel,
    check_spread,
)

#: Largest number of thresholds in the tables of losses.
_N_THRESHOLDS = 100
#: `fit` warns from this share of ties among the accepted pairs.
_MOST_TIES = 0.95


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Scored items of labelled queries.

    Attributes
    ----------
    scores : ndarray of shape (n_items,), float64
    y : ndarray of shape (n_items,), float64
        Relevance, higher is better.
    queries : Queries
    X : array or frame of shape (n_items, n_features), default=None
        Their features.
    novel : ndarray of shape (n_items,), bool, default=None
        Items whose pairs are always abstained on.
    item_groups : Groups, default=None
        Groups of the items.
    """

    scores: FloatArray
    y: FloatArray
    queries: Queries
    X: Any = None
    novel: BoolArray | None = None
    item_groups: Groups | None = None

    def fit(self, model: TieModel) -> ScoredItems:
        """Fit a model; return the items by values from fits without their query."""
        check_spread(self.scores)
        values = model.checked_fit_transform(self.scores, self.y, self.queries, self.X)
        items = self._sorted(values)
        model.fit_items(items)
        return items

    def transformed_by(self, model: TieModel) -> ScoredItems:
        """Return the items sorted by their values."""
        values = model.checked_transform(self.scores, self.queries, self.X)
        return self._sorted(values)

    def _sorted(self, values: FloatArray) -> ScoredItems:
        group = None if self.item_groups is None else self.item_groups.code
        return ScoredItems.build(values, self.queries, self.y, self.novel, group=group)

    def take(self, rows: IntArray) -> LabelledScores:
        """Return the items at the given rows, which ascend."""
        return LabelledScores(
            self.scores[rows],
            self.y[rows],
            group_queries(self.queries.codes[rows], rows.size),
            None if self.X is None else _safe_indexing(self.X, rows),
            None if self.novel is None else self.novel[rows],
            None if self.item_groups is None else self.item_groups.take(rows),
        )

    def take_queries(self, queries: IntArray) -> LabelledScores:
        """Return the items of the given queries."""
        return self.take(np.flatnonzero(np.isin(self.queries.codes, queries)))


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

    def take(self, rows: IntArray) -> Groups:
        """Return the groups of some rows."""
        return Groups(self.code[rows], self.names)


class LossTables(NamedTuple):
    """Shares of each query's pairs, at ever more lenient thresholds.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,), float64
        On the risk; they accept evenly spaced shares of the tuning pairs.
    tuning, rest : tuple of two ndarrays of shape (n_queries, n_thresholds), float64
        Accepted pairs, and their loss divided by the largest one.
    """

    thresholds: FloatArray
    tuning: tuple[FloatArray, FloatArray]
    rest: tuple[FloatArray, FloatArray]


class Selects(Protocol):
    """What a calibration asks of a rule."""

    def select(self, calibration: Calibration) -> Region:
        """Return the accepted region."""


@dataclass(frozen=True, eq=False)
class Calibration(Value):
    """The fitted tie model and the pairs from which a rule selects its region.

    Attributes
    ----------
    model : TieModel
        Fitted.
    items : ScoredItems
        Items whose pairs set the threshold.
    loss : ndarray of shape (3, 3)
    tuning : ScoredItems or None
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
    ...         return calibration.engine.select_risk(calibration.engine.highest / 2)
    ...     def in_words(self, calibration, threshold):
    ...         return RuleText("half the largest risk", "Nothing is promised.")
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = SelectiveRanker(Ridge(), rule=HalfTheWorst(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> 0 < ranker.threshold_ < 1 / 3
    True
    """

    model: TieModel
    items: ScoredItems
    loss: FloatArray
    tuning: ScoredItems | None = None
    seed: int = 0
    groups: Groups | None = None
    item_groups: list[Any] | None = None

    @cached_property
    def engine(self) -> RiskEngine[Region]:
        """The engine that finds the pairs below a risk."""
        fitted_on = self.items if self.tuning is None else self.tuning
        engine: Any = risk_engine(self.model, self.loss, fitted_on)
        if self.items.novel is not None:
            return SoundPairs(engine)
        if self.item_groups is not None:
            engine = CellEngine(engine, len(self.item_groups))
        return cast("RiskEngine[Region]", engine)

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
        known = {name: code for code, name in enumerate(self.item_groups)}
        new = [name for name in found.tolist() if name not in known]
        if new:
            raise ValueError(
                f"groups must be those of fit ({listed(self.item_groups)}), got "
                f"{listed(new)}, which have no threshold."
            )
        return np.array([known[name] for name in found.tolist()], np.int64)[codes]

    def totals(self, region: Any, items: ScoredItems, groups: Any = None) -> PairTotals:
        """Add up what happens to all pairs, or to those of two groups of items."""
        engine = self.engine
        if groups is None:
            return engine.totals(region, items, None)
        names = self.item_groups or []
        if len(groups) != 2 or not {*groups} <= {*names}:
            raise ValueError(
                f"groups must be two of those of fit ({listed(names)}), got {groups!r}."
            )
        one, other = sorted(map(names.index, groups))
        return cast("CellEngine", engine).totals_of(Cell(one, other, 0), region, items)

    @property
    def is_graded(self) -> bool:
        """Whether the tie model knows the grades of items, as a review needs."""
        return isinstance(self.model, GradedRelevance)

    @cached_property
    def graded(self) -> Calibration:
        """The same pairs under a model of grades; fitted once."""
        fitted_on = self.items if self.tuning is None else self.tuning
        return replace(self, model=GradedRelevance().fit_items(fitted_on))

    def select(self, rule: Selects) -> Region:
        """Return the region that a rule selects, or raise."""
        region = rule.select(self)
        name = f"{type(rule).__name__}.select"
        if not hasattr(region, "risk"):
            raise TypeError(
                f"{name} must return a region, as calibration.engine.select_risk(0.3) "
                f"and select_coverage(calibration.items, 0.8) do, got {region!r}."
            )
        if np.isnan(region.risk):
            raise ValueError(f"{name} must return a region with a threshold, got NaN.")
        return region

    def warn_of_ties(self, region: Region) -> None:
        """Warn where nearly all accepted pairs are called ties."""
        accepted = self.engine.accepted_mass(region, self.items)
        ties = self.engine.accepted_mass(region, self.items, ties_only=True)
        if accepted and ties >= _MOST_TIES * accepted and self.loss[0, 1] > 0:
            warn_user(
                f"Nearly all accepted pairs are ties: of {accepted:.0f} accepted "
                f"calibration pairs {accepted - ties:.0f} are decided by order. If "
                "only a wrong order costs, pass loss='misranking': only equal scores "
                "are then called a tie."
            )

    def place_shares(self) -> FloatArray:
        """Return the share of the items within each margin of their place, summed."""
        return place_shares(self.items)

    def accepted_by_query(self, region: Region) -> tuple[FloatArray, FloatArray]:
        """Return accepted pairs and pairs of each query, shape (n_queries,) both."""
        totals = self.engine.totals(region, self.items, None)
        return totals.accepted, totals.pairs

    def profile(self) -> RiskProfile:
        """Return the risks of the calibration pairs."""
        return self.engine.profile(self.items)

    def group_counts(self) -> dict[Any, int]:
        """Return the number of queries of each group; {None: all} without groups."""
        if self.groups is None:
            return {None: self.items.n_queries}
        counts = np.bincount(self.groups.code, minlength=len(self.groups.names))
        found = zip(self.groups.names, counts.tolist(), strict=True)
        return {name: count for name, count in found if count}

    @cached_property
    def loss_tables(self) -> LossTables:
        """Accepted pairs and their loss, by query and threshold."""
        tuning = self.items if self.tuning is None else self.tuning
        # The thresholds, too, come from the tuning pairs: a test of thresholds that its
        # own data chose promises nothing.
        profile = self.engine.profile(tuning)
        wanted = np.arange(1, _N_THRESHOLDS) / _N_THRESHOLDS
        at = np.searchsorted(profile.coverage, wanted)
        # The last one accepts every pair, so that a bound which holds without
        # abstention can be certified.
        highest = self.engine.highest
        thresholds = np.unique(np.append(profile.risk[at].clip(max=highest), highest))
        return LossTables(
            thresholds,
            self._shares(tuning, thresholds),
            self._shares(self.items, thresholds),
        )

    def _shares(
        self, items: ScoredItems, thresholds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        accepted, cost = self.engine.at_thresholds(items, thresholds)
        pairs = np.maximum(items.pair_counts, 1)[:, None]  # 0 of 0 pairs is 0
        # Over the largest loss they lie in [0, 1], as the bounds for means assume.
        return accepted / pairs, cost / (self.loss.max() * pairs)


def fit_calibration(
    model: TieModel,
    loss: FloatArray,
    data: LabelledScores | ScoredPairs,
    tuning: LabelledScores | ScoredPairs | None = None,
    *,
    seed: int = 0,
    groups: Groups | None = None,
) -> Calibration:
    """Fit a tie model in place, and keep the pairs that set the threshold.

    Parameters
    ----------
    model : TieModel
    loss : ndarray of shape (3, 3)
    data : LabelledScores or ScoredPairs
        The pairs that set the threshold, at least one.
    tuning : LabelledScores or ScoredPairs, default=None
        Other queries, which fit the tie model; None: ``data`` fits it.
    seed, groups
        As in `Calibration`.

    Notes
    -----
    The threshold is a quantile of in-sample risks, those of the model that will decide.
    Out-of-fold risks are less optimistic, but each fold's model spreads them in its own
    way: the share of new pairs below their quantile is further from the target (by up
    to .09 in our measurements). Values learned from labels and features are out of fold
    all the same.
    """
    fitted_on = data if tuning is None else tuning
    tuned = fitted_on.fit(model)
    if tuning is None:
        kinds = getattr(data, "item_groups", None)  # pairs have none
        names = None if kinds is None else kinds.names
        return Calibration(
            model, tuned, loss, seed=seed, groups=groups, item_groups=names
        )
    items = data.transformed_by(model)
    return Calibration(model, items, loss, tuned, seed, groups)


def risk_engine(
    model: TieModel, loss: FloatArray, items: ScoredItems
) -> RiskEngine[Any]:
    """Return the engine of a fitted tie model.

    The items set the unit of gaps and the tolerance of equal values.

    Raises
    ------
    TypeError
        If the model is neither a model of the score difference nor one of bins.
    """
    if isinstance(model, BinModel):
        return BinEngine(model, loss)
    if isinstance(model, DifferenceModel):
        return GapEngine(model, loss, items.largest, EQUAL * items.largest_value)
    raise TypeError(
        "tie_model must be a DifferenceModel or a BinModel, which say how its pairs "
        f"can be counted, got {shown(model)}."
    )


class RuleText(NamedTuple):
    """A rule in the words of a report.

    Attributes
    ----------
    done : str
        How the threshold was set; completes "a pair is decided if its conditional
        risk is at most 0.3 (...)".
    promised : str, default="The threshold is an estimate. ..."
        What holds for new queries, and what does not.

    Examples
    --------
    >>> from skrank_abstain.selection import RuleText
    >>> RuleText("the median of the risks", "Nothing is promised.").done
    'the median of the risks'
    """

    done: str
    promised: str = (
        "The threshold is an estimate. It targets the coverage or the cost; it "
        "does not guarantee an accuracy."
    )


class Rule(Value, ABC):
    """Base of the selection rules: frozen values with two methods.

    ``select`` returns the accepted region, which the calibration's ``engine`` makes
    (``select_coverage``, ``select_risk``). ``in_words`` tells an auditor how the
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

    def warn_of_promise(self, calibration: Calibration, region: Region) -> None:
        """Warn in ``fit`` of what is promised less than one may think."""

    @abstractmethod
    def select(self, calibration: Calibration) -> Region:
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


def check_rule(rule: Any, *, example: str, optional: bool = False) -> Rule:
    """Return ``rule`` if it is one; otherwise the message shows ``example``.

    Raises
    ------
    TypeError
        If it is not a rule, or not a value.
    """
    if not isinstance(rule, Rule):
        raise TypeError(
            f"rule must be {'None or ' if optional else ''}a rule of "
            f"skrank_abstain.selection, such as {example}, got {shown(rule)}."
        )
    kind: type = type(rule)
    if not is_dataclass(kind):
        raise TypeError(
            "rule must be a value: put @dataclass(frozen=True) before the class "
            f"{kind.__name__}."
        )
    return rule
