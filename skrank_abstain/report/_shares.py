"""Facts of a report, and its shares with intervals: of all pairs, and by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skrank_abstain._kernels import FloatArray
from skrank_abstain._validation import ZERO_ONE_LOSS
from skrank_abstain.concentration import ratio_difference, ratio_interval
from skrank_abstain.displays import one_line
from skrank_abstain.intake import AboutRows
from skrank_abstain.report._page import Section, Table
from skrank_abstain.selection import (
    Bound,
    Calibration,
    Groups,
    PairTotals,
    Region,
    Rule,
    RuleText,
    totals_by_group,
)

HEAD = ("quantity", "value", "95 % interval")
ALIKE = "each query counting alike"
#: Names of the quantities; the losses of a ranker say what a risk is.
NAMES = {
    "coverage": "coverage: share of pairs decided",
    "discordance": "discordance: of decided pairs that differ in the wrong order",
    "selective risk": "selective risk: loss per decided pair",
}
#: One minus the confidence of all intervals of gaps between two groups at once.
_LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class RankerFacts:
    """Facts of a report about a calibrated ranker.

    Attributes
    ----------
    name : str
        Class of the ranker.
    model : estimator
        Scores the items.
    prefit : bool
        Whether the model was given fitted.
    calibration : Calibration
    region : object
        The pairs that the rule accepts.
    rule : Rule
    answers_ties : bool, default=True
        Whether a tie is a possible answer.
    novelty : NoveltyTest or None, default=None
    note : str, default=""
        Ends the line about the model.
    n_folds : int, default=0
        Folds whose models gave the calibration scores; 0 if the model did.
    id_ : str or None
        That of the ranker.
    doubts : sequence of str, default=()
        Warnings of ``fit`` and of the promise.
    """

    name: str
    model: Any
    prefit: bool
    calibration: Calibration
    region: Region
    rule: Rule
    answers_ties: bool = True
    novelty: Any = None
    note: str = ""
    n_folds: int = 0
    id_: str | None = None
    doubts: Sequence[str] = ()

    @property
    def threshold(self) -> float:
        """Highest conditional risk of a decided pair."""
        return float(self.region.risk)

    @property
    def highest_loss(self) -> float:
        """Largest loss of one answer."""
        return float(self.calibration.loss.max())

    @property
    def counts_errors(self) -> bool:
        """Whether the loss is the number of wrong answers."""
        # The loss of a tie matters only if a tie is a possible answer.
        answers = slice(None) if self.answers_ties else slice(None, None, 2)
        return np.array_equal(self.calibration.loss[answers], ZERO_ONE_LOSS[answers])


@dataclass(frozen=True, eq=False)
class ReportData:
    """A ranker and the data of a report.

    Attributes
    ----------
    ranker : RankerFacts
    items : Scores
        Their outcomes are ignored unless ``labelled``.
    labelled : bool
    rows : AboutRows
        Facts about the features.
    groups : Groups or None
        Of the queries, or of the items if they vary within queries.
    counted : str, default=""
        Numbers of items and pairs in words, derived from ``items`` by default.
    ends : Section or None, default=None
        Section about the first and the last items.
    """

    ranker: RankerFacts
    items: Any
    labelled: bool
    rows: AboutRows
    groups: Groups | None
    counted: str = ""
    ends: Section | None = None

    @cached_property
    def totals(self) -> PairTotals:
        """Sums over the pairs of each query."""
        return self._add(self.items)

    @cached_property
    def text(self) -> RuleText:
        """The words of the rule."""
        rule = self.ranker.rule
        text: Any = rule.in_words(self.ranker.calibration, self.ranker.threshold)
        if not isinstance(text, RuleText):
            name = f"{type(rule).__name__}.in_words"
            raise TypeError(f"{name} must return a RuleText, got {text!r}.")
        return text

    @cached_property
    def by_group(self) -> list[tuple[str, PairTotals]]:
        """Name and sums of each group, or of each two groups of items."""
        return [] if self.groups is None else self.of_groups(self.groups)

    def of_groups(self, groups: Groups) -> list[tuple[str, PairTotals]]:
        """Return the name and the sums of each group, as `totals_by_group` does."""
        found = totals_by_group(self.items, groups, self._add)
        return [(one_line(name), part) for name, part in found.items()]

    def _add(self, items: Any) -> PairTotals:
        return self.ranker.calibration.totals(self.ranker.region, items)

    @property
    def bound(self) -> Bound | None:
        """What the rule promises, if the data can be held against it."""
        bound = self.text.bound
        seen = self.labelled or (bound is not None and bound.what == "coverage")
        return bound if seen else None

    @property
    def weighting(self) -> str:
        """What counts alike in the promise; pairs without one."""
        return "pairs" if self.text.bound is None else self.text.bound.weighting

    def share(self, what: str, totals: PairTotals) -> tuple[float, float, float]:
        """Return a quantity as the promise weighs it, and the ends of its interval."""
        highest = self.ranker.highest_loss if what == "selective risk" else 1.0
        return interval_of(*parts_of(totals, what, self.weighting), highest=highest)

    def in_words(self, what: str, totals: PairTotals) -> str:
        """Return a quantity with its interval for a sentence."""
        value, low, high = self.share(what, totals)
        ends = f"95 % interval {_shown(what, low)} to {_shown(what, high)}"
        if not low < high:
            ends = "no interval: all queries agree, or there are fewer than two"
        return f"{_shown(what, value)} ({ends})"

    def against(self, bound: Bound, totals: PairTotals) -> tuple[str, bool]:
        """Say how the interval lies to the bound, and whether that breaks a promise."""
        _, low, high = self.share(bound.what, totals)
        shown = f"the bound of {_shown(bound.what, bound.limit)}"
        below, above = high < bound.limit, low > bound.limit
        if not low < high:
            return f"cannot be held against {shown}", False
        if not (below or above):
            return f"lies around {shown}: neither confirmed nor refuted", False
        broken = below if bound.what == "coverage" else above
        end = "WHAT WAS PROMISED DOES NOT HOLD HERE" if broken else "as promised"
        return f"lies {'below' if below else 'above'} {shown}: {end}", broken


def _shown(what: str, number: float) -> str:
    return f"{number:.3g}" if what == "selective risk" else f"{100 * number:.3g} %"


def parts_of(
    totals: PairTotals, what: str, weighting: str
) -> tuple[FloatArray, FloatArray]:
    """Return numerators and denominators of a quantity by query.

    Parameters
    ----------
    totals : PairTotals
    what : {"coverage", "discordance", "selective risk"}
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
    }[what]
    some = np.where(every > 0, every, np.nan)
    size = some if weighting == "queries" else some / some
    return part / size, whole / size


def interval_of(
    part: FloatArray, whole: FloatArray, *, highest: float = 1.0
) -> tuple[float, float, float]:
    """Return a ratio of totals over queries and the ends of its interval.

    Queries of NaN have no say.
    """
    some = ~np.isnan(part)
    part, whole = part[some], whole[some]
    value = part.sum() / whole.sum() if whole.sum() > 0 else np.nan
    low, high = ratio_interval(part, whole)
    # The interval is symmetric about the value: it may leave the possible range.
    return value, max(low, 0.0), min(high, highest)


def row(
    name: str, part: FloatArray, whole: FloatArray, *, highest: float = 1.0
) -> list[str]:
    """Return the cells of a ratio of totals."""
    value, low, high = interval_of(part, whole, highest=highest)
    return [name, as_number(value), as_interval(low, high)]


def as_number(value: float, digits: int = 4) -> str:
    """Return a number as text."""
    return "undefined" if np.isnan(value) else f"{value:.{digits}f}"


def as_interval(low: float, high: float, digits: int = 4) -> str:
    """Return an interval as text; undefined if all queries agree."""
    return f"{low:.{digits}f} to {high:.{digits}f}" if low < high else "undefined"


def sections_of_groups(data: ReportData) -> list[Section]:
    """Return the sections about groups, if there are any."""
    sections = []
    if data.groups is not None:
        sections.append(_table(data, "By group", data.by_group))
    if (known := data.ranker.calibration.item_groups) is not None:
        region: Any = data.ranker.region
        own = Groups(data.items.group[np.argsort(data.items.rows)], known)
        number = region.of_cell[np.triu_indices(len(known))]
        parts = [
            (f"{name}: risk at most {region.regions[k].risk:.4g}", part)
            for k, (name, part) in zip(number, data.of_groups(own), strict=True)
        ]
        sections.append(_table(data, "By the groups of the two items", parts))
    return sections


def _table(
    data: ReportData, title: str, parts: list[tuple[str, PairTotals]]
) -> Section:
    """Return shares by group, from the totals of each, as the promise counts them."""
    columns = [*NAMES] if data.labelled else ["coverage"]
    shares = {
        what: np.array([data.share(what, part) for _, part in parts])
        for what in columns
    }
    rows = []
    for k, (name, part) in enumerate(parts):
        counts = part.pairs > 0, part.pairs, part.answered_order, part.answered_tie
        numbers = [f"{count.sum():.0f}" for count in counts]
        rows.append([name, *numbers, *(_cell(*share[k]) for share in shares.values())])
    if len(parts) > 1:
        gaps = zip(*(_largest_gap(data, what, parts) for what in columns), strict=True)
        for name, found in zip(("largest gap", "between"), gaps, strict=True):
            rows.append([name, *[""] * 4, *found])
    note = (
        f"Shares{f', {ALIKE}' * (data.weighting == 'queries')}. In brackets 95 % "
        "intervals over queries, each by itself: one in twenty misses its value by "
        "chance. The interval of the largest gap allows for its being the largest."
    )
    head = ["group", "queries", "pairs", "decided orders", "decided ties", *columns]
    return Section(title, [note, Table(head, rows)])


def _cell(value: float, low: float, high: float) -> str:
    number = as_number(value, 3)
    return number if np.isnan(value) else f"{number} ({as_interval(low, high, 3)})"


def _largest_gap(
    data: ReportData, what: str, parts: list[tuple[str, PairTotals]]
) -> tuple[str, str]:
    """Return the largest difference between two groups, and which these are.

    The two were chosen of all: by Bonferroni the interval holds for any choice.
    """
    sums = {name: parts_of(part, what, data.weighting) for name, part in parts}
    shares = {name: data.share(what, part)[0] for name, part in parts}
    known = [name for name, share in shares.items() if not np.isnan(share)]
    if len(known) < 2:
        return "undefined", ""
    most, least = max(known, key=shares.__getitem__), min(known, key=shares.__getitem__)
    if shares[most] == shares[least]:
        return "none", ""
    both = np.array([*sums[most], *sums[least]])
    both = np.nan_to_num(both[:, ~np.isnan(both).all(axis=0)])
    n_gaps = len(known) * (len(known) - 1) / 2
    found = ratio_difference(*both, confidence=1 - _LEVEL / n_gaps)
    return _cell(*found[2:5]), f"{most} over {least}"
