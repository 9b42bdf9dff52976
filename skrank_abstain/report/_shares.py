"""Facts of a report, and its shares with intervals: of all pairs, and by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from skrank_abstain import selection
from skrank_abstain._kernels import FloatArray
from skrank_abstain._validation import ZERO_ONE_LOSS
from skrank_abstain.concentration import ratio_difference, ratio_interval
from skrank_abstain.displays import one_line
from skrank_abstain.intake import AboutRows
from skrank_abstain.report._page import Section, Table
from skrank_abstain.selection import Bound, Groups, PairTotals, parts_of

HEAD = ("quantity", "value", "95 % interval")
#: What counts alike, in words.
ALIKE = {"queries": "each query counting alike", "pairs": "each pair counting alike"}
#: Names of the quantities; the losses of a ranker say what a risk is.
NAMES = {
    "coverage": "coverage: share of pairs decided",
    "discordance": "discordance: of decided pairs that differ in the wrong order",
    "selective risk": "selective risk: loss per decided pair",
}
_COUNTS = ("group", "queries", "pairs", "decided orders", "decided ties")
_ABOUT_SHARES = (
    "Shares{}. In brackets 95 % intervals over queries, each by itself: one in twenty "
    "misses its value by chance, more where a group has few pairs."
)
#: One minus the confidence of the largest gap, and of all differences that may warn
#: at once. With 95 % a sex by lot warned in up to 11 of 100 draws (MQ2008), with
#: 99 % in up to two, if queries count alike; if pairs do, in up to eight.
_LEVEL, _LEVEL_OF_ALARM = 0.05, 0.01
#: Queries that a group is compared with, of all. With a tenth, which may have no wrong
#: order by chance, a site by lot warned in up to seven of 100 draws. And the wrong
#: orders that pairs of one group of items would have, were their share that of all.
_LEAST_REST, _LEAST_WRONG = 0.25, 10
#: Confidence of the interval in which the coverage is expected.
_EXPECTED = 0.99


@dataclass(frozen=True, eq=False)
class ReportData:
    """A ranker and the data of a report.

    Attributes
    ----------
    ranker : RuleThreshold
        The fitted ranker; of labels, the one inside, with the model that scores them.
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
    name : str, default=""
        Class of the ranker, if it is not that of ``ranker``.
    note : str, default=""
        Ends the line about the model.
    """

    ranker: Any
    items: Any
    labelled: bool
    rows: AboutRows
    groups: Groups | None
    counted: str = ""
    ends: Section | None = None
    name: str = ""
    note: str = ""

    @property
    def highest_loss(self) -> float:
        """Largest loss of one answer."""
        return float(self.ranker._calibration.loss.max())

    @property
    def counts_errors(self) -> bool:
        """Whether the loss is the number of wrong answers."""
        # The loss of a tie matters only if a tie is a possible answer.
        answers = slice(None) if self.ranker._answers_ties else slice(None, None, 2)
        loss = self.ranker._calibration.loss
        return np.array_equal(loss[answers], ZERO_ONE_LOSS[answers])

    @property
    def doubts(self) -> list[str]:
        """Warnings of ``fit`` and of the promise."""
        return [*dict.fromkeys([*self.ranker._warned, *self.ranker._doubts])]

    @cached_property
    def totals(self) -> PairTotals:
        """Sums over the pairs of each query."""
        return self._add(self.items)

    @cached_property
    def text(self) -> selection.RuleText:
        """The words of the rule."""
        rule, threshold = self.ranker._fitted_rule, float(self.ranker._region.risk)
        text: Any = rule.in_words(self.ranker._calibration, threshold)
        if not isinstance(text, selection.RuleText):
            name = f"{type(rule).__name__}.in_words"
            raise TypeError(f"{name} must return a RuleText, got {text!r}.")
        return text

    @cached_property
    def by_group(self) -> list[tuple[str, PairTotals]]:
        """Name and sums of each group, or of each two groups of items."""
        if self.groups is None:
            return []
        found = selection.totals_by_group(self.items, self.groups, self._add)
        return [(one_line(name), part) for name, part in found.items()]

    @cached_property
    def by_better(self) -> list[tuple[str, str, PairTotals, PairTotals]]:
        """Two groups of items, and sums of their pairs: the first better, the second.

        Tied pairs count in neither.
        """
        if self.groups is None or not self.labelled:
            return []
        found = selection.totals_by_better(self.items, self.groups, self._add)
        two = combinations(dict.fromkeys(name for name, _ in found), 2)
        return [(one_line(a), one_line(b), found[a, b], found[b, a]) for a, b in two]

    @cached_property
    def compared(self) -> list[tuple[str, str, PairTotals, PairTotals]]:
        """Where wrong orders may fall more, and where less: in words, and the sums.

        Each group of queries against the others. Of two groups of items, both ways, the
        pairs of the two by the better item, and the pairs within each.
        """
        found, held, cells = [], [], dict(self.by_group)
        none = self.totals.times(0)  # where no query has two items of a group
        for a, b, one, other in self.by_better:
            where = f"where {a} is better than {b}", f"where {b} is better than {a}"
            found += [(*where, one, other), (*where[::-1], other, one)]
            one, other = (cells.get(f"{name}, {name}", none) for name in (a, b))
            where = f"in pairs of {a}, {a}", f"in pairs of {b}, {b}"
            held += [(*where, one, other), (*where[::-1], other, one)]
        for name, part in self.by_group if self.of_queries and self.labelled else ():
            where = f"in group {name}", "in the other groups"
            held.append((*where, part, self.totals.less(part)))
        return found + [each for each in held if self._has_enough(each[3])]

    def _has_enough(self, part: PairTotals) -> bool:
        """Whether it says something that few orders of a part are wrong."""
        n, whole = (part.unlike > 0).sum(), self.totals
        wrong = np.inf if self.of_queries else part.unlike.sum() * whole.discordance
        return n >= _LEAST_REST * (whole.unlike > 0).sum() and wrong >= _LEAST_WRONG

    def gap(
        self, what: str, two: Any, weighting: str = "queries", level: float = 0.0
    ) -> tuple[float, float, float]:
        """Return the difference of a quantity, and an interval that misses rarely.

        By default it is one of those that are compared.
        """
        level = level or _LEVEL_OF_ALARM / len(self.by_better or self.by_group)
        both = [each for part in two for each in parts_of(part, what, weighting)]
        some = ~np.isnan(both).all(axis=0)
        sums = (np.nan_to_num(each[some]) for each in both)
        found, most = ratio_difference(*sums, confidence=1 - level), self._highest(what)
        return found.difference, max(found.low, -most), min(found.high, most)

    @cached_property
    def certified(self) -> list[str]:
        """Names of the groups of queries with a certificate of their own."""
        known = self.ranker._calibration.groups
        names = () if known is None else known.names
        return [one_line(name) for name in names if name is not None]

    @cached_property
    def of_queries(self) -> bool:
        """Whether the groups are groups of queries."""
        return bool(self.groups and self.groups.code.size == self.items.n_queries)

    @cached_property
    def by_site(self) -> dict[str, PairTotals]:
        """The sums of the groups of queries, where each has a certificate."""
        return dict(self.by_group) if self.certified and self.of_queries else {}

    @cached_property
    def expected(self) -> tuple[str, float, float, float]:
        """What share of the pairs does what, and where it would lie without drift.

        A 99 % interval for as many queries, were they like those of the calibration.
        """
        known, region = self.ranker._calibration, self.ranker._region
        totals, does = self.totals, "are decided"
        if known.coverage(region) == 1:  # as many are decided after any drift
            region = known.at_coverage(0.5)
            does = "are of low risk (the lower half there)"
            totals = known.totals(region, self.items)
        n_new = int((totals.pairs > 0).sum())
        ends = known.coverage_interval(region, n_new=n_new, confidence=_EXPECTED)
        low, high = ends.tolist()
        return does, totals.coverage, low, high

    def _add(self, items: Any) -> PairTotals:
        return self.ranker._calibration.totals(self.ranker._region, items)

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

    def share(
        self, what: str, totals: PairTotals, weighting: str | None = None
    ) -> tuple[float, float, float]:
        """Return a quantity, weighed as the promise does, with its interval's ends."""
        columns = parts_of(totals, what, weighting or self.weighting)
        return interval_of(*columns, highest=self._highest(what))

    def _highest(self, what: str) -> float:
        return self.highest_loss if what == "selective risk" else 1.0

    def in_words(self, what: str, totals: PairTotals) -> str:
        """Return a quantity with its interval for a sentence."""
        value, low, high = self.share(what, totals)
        ends = f"95 % interval {shown(what, low)} to {shown(what, high)}"
        if not low < high:
            ends = "no interval: all queries agree, or there are fewer than two"
        return f"{shown(what, value)} ({ends})"

    def against(self, bound: Bound, totals: PairTotals) -> tuple[str, bool]:
        """Say how the interval lies to the bound, and whether that breaks a promise."""
        _, low, high = self.share(bound.what, totals)
        lies = lie_to(bound.limit, low, high)
        return lies, lies == f"lies {'below' if bound.what == 'coverage' else 'above'}"


def lie_to(limit: float, low: float, high: float) -> str:
    """Say how an interval lies to a bound; the text ends before the bound."""
    if not low < high:
        return "cannot be held against"
    if low <= limit <= high:
        return "lies around"
    return f"lies {'below' if high < limit else 'above'}"


def shown(what: str, number: float) -> str:
    return f"{number:.3g}" if what == "selective risk" else f"{100 * number:.3g} %"


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
    if data.by_better:
        sections.append(_by_better(data))
    if (known := data.ranker._calibration.item_groups) is not None:
        region: Any = data.ranker._region
        own = Groups(data.items.group[np.argsort(data.items.rows)], known)
        found = selection.totals_by_group(data.items, own, data._add)
        cells = [region.of_cell[known.index(a), known.index(b)] for a, b in found]
        parts = [
            (f"{one_line(two)}: risk at most {region.regions[k].risk:.4g}", part)
            for k, (two, part) in zip(cells, found.items(), strict=True)
        ]
        sections.append(_table(data, "By the groups of the two items", parts))
    return sections


def _table(
    data: ReportData, title: str, parts: list[tuple[str, PairTotals]]
) -> Section:
    """Return shares by group, from the totals of each, as the promise counts them."""
    columns = [*NAMES] if data.labelled else ["coverage"]
    rows = _rows(data, [(what, data.weighting) for what in columns], parts)
    if len(parts) > 1:
        gaps = zip(*(_largest_gap(data, what, parts) for what in columns), strict=True)
        for name, found in zip(("largest gap", "between"), gaps, strict=True):
            rows.append([name, *[""] * 4, *found])
    note = _ABOUT_SHARES.format(f", {ALIKE[data.weighting]}")
    note += " The interval of the largest gap allows for its being the largest."
    return Section(title, [note, Table([*_COUNTS, *columns], rows)])


def _by_better(data: ReportData) -> Section:
    """Return the wrong orders of two groups by the group that they wrong."""
    shares = ("coverage", "pairs"), *(("discordance", alike) for alike in ALIKE)
    rows: list[list[str]] = []
    for a, b, one, other in data.by_better:
        named = [(f"{a} better than {b}", one), (f"{b} better than {a}", other)]
        rows += _rows(data, shares, named)
        gaps = (data.gap(what, (one, other), alike) for what, alike in shares)
        rows.append(["difference", *[""] * 4, *(_cell(*gap) for gap in gaps)])
    note = (
        "Pairs of two groups that truly differ, by the group of the better item. The "
        "discordance is the share of the decided ones in which the better item is put "
        "below. Each query counting alike: draw a query, then one of its pairs of this "
        f"row. {_ABOUT_SHARES.format('')} Those of the differences are 99 % intervals, "
        "for all differences of a column at once. A ranker that treats both groups "
        "alike shows a difference, too, if the better items of one lie closer to the "
        "others."
    )
    columns = ["coverage", *(f"discordance, {alike}" for alike in ALIKE.values())]
    title = "By the group of the better item"
    return Section(title, [note, Table([*_COUNTS, *columns], rows)])


def _rows(
    data: ReportData,
    shares: Sequence[tuple[str, str]],
    parts: list[tuple[str, PairTotals]],
) -> list[list[str]]:
    """Return counts and shares of parts; of a share its name and what counts alike."""
    rows = []
    for name, part in parts:
        counts = part.pairs > 0, part.pairs, part.answered_order, part.answered_tie
        cells = (_cell(*data.share(what, part, alike)) for what, alike in shares)
        rows.append([name, *[f"{count.sum():.0f}" for count in counts], *cells])
    return rows


def _cell(value: float, low: float, high: float) -> str:
    number = as_number(value, 3)
    return number if np.isnan(value) else f"{number} ({as_interval(low, high, 3)})"


def _largest_gap(
    data: ReportData, what: str, parts: list[tuple[str, PairTotals]]
) -> tuple[str, str]:
    """Return the largest difference between two groups, and which these are.

    The two were chosen of all: by Bonferroni the interval holds for any choice.
    """
    named = dict(parts)
    found = {name: data.share(what, part) for name, part in parts}
    # A single query has no interval, and would leave the others without one.
    shares = {name: share for name, (share, low, _) in found.items() if low == low}
    alone = [name for name in found if name not in shares and found[name][0] >= 0]
    if len(shares) < 2:
        return "undefined", ""
    most, least = (choose(shares, key=shares.__getitem__) for choose in (max, min))
    if shares[most] == shares[least]:
        return "none", ""
    level = _LEVEL / (len(shares) * (len(shares) - 1) / 2)
    gap = data.gap(what, (named[most], named[least]), data.weighting, level)
    without = f"; without {', '.join(alone)}: too few queries" if alone else ""
    return _cell(*gap), f"{most} over {least}{without}"
