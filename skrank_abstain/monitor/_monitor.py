"""Monitor of a ranker in service, and its picture."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Self
from warnings import catch_warnings
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import check_fraction, check_positive_int, listed
from skrank_abstain._warnings import warn_user
from skrank_abstain.concentration import check_chance
from skrank_abstain.displays import Display, draw_curve, draw_reference
from skrank_abstain.estimators import SelectiveRanker
from skrank_abstain.intake import hash_rows
from skrank_abstain.monitor._evidence import START, Bets, add_pvalues, online_pvalues
from skrank_abstain.pairs import Scores, group_queries
from skrank_abstain.review import Questions, pair_id, take_answers
from skrank_abstain.scorers import score_items
from skrank_abstain.selection import at_thresholds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Version of the state: raise it where a field comes, goes or changes its meaning.
_VERSION = 4
#: Number of levels of each statistic.
_N_LEVELS = 65
#: Queries of each day that are kept, to see whether they come again.
_N_MARKS = 3
#: An audit of the discordance draws up to so many pairs of a query, and fewer if those
#: of at most this share of the calibration queries would then all be tied.
_MOST_DRAWS, _MISSED = 20, 0.05
#: The first day that `update` added to a monitor, which does not hold it.
_NEXT_DAYS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Monitor:
    """A watch over a fitted ranker in service; every method returns a new one.

    Without labels it compares the share of abstentions and the mean risk of each query
    with the calibration queries and the stream so far. With a few labels it bets
    against the bound on the discordance, or on the loss of decided pairs. Either alarm
    is false with a probability of at most ``delta``, however long the stream runs and
    however often one looks, if the queries are exchangeable and each comes once.

    Make one with `Monitor.of`; save it as JSON with `to_dict` and `from_dict`.

    Parameters
    ----------
    delta : float
        Bound on the probability of a false alarm, of each kind.
    bound : float
        Bound of the audit on the discordance, or on the mean loss of accepted pairs as
        a share of the largest loss; each query counts alike.
    id_ : str
        That of the fitted ranker.
    probe : list of float
        Scores of random items, by which a model that was fitted again shows; empty if
        it takes no plain numbers.
    seed : int
    highest : float
        Largest risk of a pair.
    counts : ndarray of shape (2, 65), int64
        Number of queries so far, calibration included, by level of each statistic.
    logs : ndarray of shape (2, 2, 19), float64
        Logarithms of the capitals of the bets on their p-values.
    n_seen : int
        Number of queries so far, without those of calibration.
    since : tuple of int
        Number and summed levels of the queries since the evidence began to rise.
    draws : int
        Pairs of each query that an audit of the discordance asks about; 0 for an audit
        of the loss, which asks about one accepted pair.
    bets : Bets
        Bets of the audit.
    judged : tuple of float
        Summed shares of the answered pairs: that lost, and that were decided.
    peaks : tuple of float
        Largest evidence so far, without labels and of the audit.
    days : dict of str to tuple of float
        ``peaks`` after each day and the answers that came before the next one.
    audits : tuple of str
        Days that were audited.
    asked : dict
        Questions of all queries with an open one, by query.
    marks : dict of str to list of int
        Hashes of up to 3 queries of each day.

    Notes
    -----
    The evidence without labels is a mixture martingale on online conformal p-values
    [1]_, which bets fresh capital on every query, so that a change is found as soon
    after years as after days. The evidence of the audit is the capital of bets on
    uniformly drawn pairs of each query [2]_. An audit of the loss bets on the loss of
    one pair minus the bound, 0 if the pair is abstained on. An audit of the discordance
    bets on the mean of that over the drawn pairs that truly differ. This mean has the
    expectation w / D - bound d / D of the query (see `CertifiedRisk`), whatever the
    number D of its pairs that differ. Where all drawn pairs are tied and others are not
    known, the smallest possible value counts, -bound, so that queries with many ties
    cannot raise a false alarm.

    Both kinds of evidence assume that, while nothing changes, new queries are
    exchangeable with the calibration queries, and each comes once: bursts of one query,
    or traffic of a few queries after calibration on many, raise an alarm though nothing
    changed. Only an audit can notice that labels changed their meaning. The state is
    some hundred numbers, and ten a day, for any number of queries; an update is O(n log
    n).

    References
    ----------
    .. [1] Vovk, Nouretdinov and Gammerman (2003). "Testing Exchangeability On-Line".
       ICML.
    .. [2] Waudby-Smith and Ramdas (2024). "Estimating means of bounded random variables
       by betting". JRSS B 86.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.monitor import Monitor
    >>> data = make_ranking(n_queries=200, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> monitor = Monitor.of(ranker, delta=0.05)
    >>> today = make_ranking(n_queries=30, random_state=1)
    >>> monitor = monitor.update(ranker, today.data, qid=today.qid, day="monday")
    >>> monitor.alarm
    False
    >>> later = make_ranking(n_queries=60, random_state=2)  # all features shrink
    >>> monitor = monitor.update(ranker, later.data / 3, qid=later.qid, day="tuesday")
    >>> monitor.alarm
    True
    >>> before, since = monitor.moved["share abstained"]
    >>> since > 2 * before
    True
    """

    delta: float
    bound: float
    id_: str
    probe: list[float]
    seed: int
    highest: float
    counts: IntArray
    logs: FloatArray
    n_seen: int = 0
    since: tuple[int, ...] = (0, 0, 0)
    draws: int = 0
    bets: Bets = field(default_factory=Bets)
    judged: tuple[float, float] = (0.0, 0.0)
    peaks: tuple[float, float] = (1.0, 1.0)
    days: dict[str, tuple[float, float]] = field(default_factory=dict)
    audits: tuple[str, ...] = ()
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)
    marks: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        ranker: SelectiveRanker,
        *,
        delta: float = 0.05,
        margin: float = 0.02,
        random_state: Any = 0,
    ) -> Self:
        """Begin to watch a fitted ranker.

        Parameters
        ----------
        ranker : SelectiveRanker
            Fitted: `BALToR`, `CostAbstainer`, `RiskControlledRanker` or
            `SelectiveRanker`.
        delta : float, default=0.05
            Bound on the probability of a false alarm of each kind, in (0, 1).
        margin : float, default=0.02
            The bound of the audit is what the ranker certified, each query counting
            alike: a discordance, or a loss. For others, also those that certified by
            pairs, it is the mean loss of accepted pairs of the calibration queries plus
            this margin: an alarm then says nothing of a certificate.
        random_state : int, RandomState instance or None, default=0
            Breaks ties between equal queries, and draws pairs to audit.

        Raises
        ------
        TypeError
            If the ranker is of another kind.
        sklearn.exceptions.NotFittedError
            If it is not fitted.
        """
        if not isinstance(ranker, SelectiveRanker):
            raise TypeError(
                "ranker must be a SelectiveRanker, such as BALToR or "
                f"RiskControlledRanker, got {type(ranker).__name__}."
            )
        check_is_fitted(ranker, "threshold_")
        check_chance(delta, "delta")
        check_fraction(margin, "margin", include_zero=True)
        known = ranker._calibration
        totals = known.totals(ranker._region, known.items)
        some = totals.pairs > 0
        pairs, draws = totals.pairs[some], 0
        rule: Any = ranker._fitted_rule
        # A bound that counts pairs alike is about another quantity than the audit.
        if getattr(rule, "weighting", "") == "queries" and hasattr(rule, "bound"):
            bound = rule.max_risk
            if rule.bound == "discordance":
                draws = _enough_draws(totals.tied[some] / pairs)
        else:
            spent = (totals.loss[some] / pairs).sum()
            decided = (totals.accepted[some] / pairs).sum()
            bound = spent / decided + margin if decided else margin
        levels = _levels(ranker, known.items).T
        return cls(
            delta=float(delta),
            bound=float(min(bound / (1 if draws else known.loss.max()), 0.99)),
            draws=draws,
            id_=str(ranker.id_),
            probe=_probe(ranker.estimator_),
            seed=int(check_random_state(random_state).randint(2**31 - 1)),
            highest=float(known.engine.highest),
            counts=np.array([np.bincount(k, minlength=_N_LEVELS) for k in levels]),
            logs=START.copy(),
        )

    def __repr__(self) -> str:
        return (
            f"Monitor(queries={int(self.counts[0].sum())}, days={len(self.days)}, "
            f"audited={self.bets.n:.0f}, evidence={self.evidence:.3g}, "
            f"alarm={self.alarm})"
        ) + (f": {self.message}" if self.alarm else "")

    @property
    def evidence(self) -> float:
        """The larger of the two kinds of evidence so far."""
        return max(self.peaks)

    @property
    def alarm(self) -> bool:
        """Whether either evidence has ever reached ``1 / delta``."""
        return bool(self.evidence >= 1 / self.delta)

    @property
    def moved(self) -> dict[str, tuple[float, float]]:
        """Share abstained and mean risk: before the evidence began to rise, and since.

        NaN for "since" while it has not risen. After an alarm it is the time since the
        rise that led to the alarm.
        """
        counts, (n, *levels) = self.counts, self.since
        before = (counts @ np.arange(_N_LEVELS) - levels) / (counts[0].sum() - n)
        after = np.array(levels) / n if n else np.full(2, np.nan)
        units = np.array([1.0, self.highest]) / (_N_LEVELS - 1)
        pairs = np.stack([before, after], axis=1) * units[:, None]
        names = "share abstained", "mean risk"
        return dict(zip(names, map(tuple, pairs.tolist()), strict=True))

    @property
    def message(self) -> str:
        """Since when there is an alarm, what moved, and what the audit found."""
        n, found = self.since[0], "without labels nothing moved"
        if n:
            moves = {
                f"{name} {a:.3g} to {b:.3g}": -abs(b - a) / (a + b or 1)
                for name, (a, b) in self.moved.items()
            }
            first = sorted(moves, key=moves.__getitem__)  # what moved most
            found = f"{', '.join(first)} in the last {n} queries"
        if self.bets.n:
            wrong, decided = self.judged
            what = "discordance" if self.draws else "loss"
            found += (
                f"; audit: {what} of decided pairs {wrong / (decided or 1):.3g} "
                f"({self.bets.n:.0f} queries judged), bound on the {what} "
                f"{self.bound:.3g}"
            )
        if self.alarm:
            high = (day for day, k in self.days.items() if max(k) >= 1 / self.delta)
            found = f"alarm since {next(high, 'before the first day')}: {found}"
        return found

    def update(self, ranker: Any, X: Any, *, qid: Any = None, day: str) -> Self:
        """Add the queries of a day, without labels.

        Parameters
        ----------
        ranker : SelectiveRanker
            The one that is watched.
        X, qid
            As in ``predict_pairs``.
        day : str
            Name of the day, or of another batch; unique.

        Returns
        -------
        monitor : Monitor
            The next one, which holds the day; this one does not.

        Raises
        ------
        ValueError
            If the ranker was fitted again or is another one, or the day is not new.

        Warns
        -----
        UserWarning
            If this monitor was updated before with another day, which is lost; if most
            queries of this day come more than once, or two of the three that are kept
            of an earlier day come again; or if no query has a pair: then the same
            monitor is returned.
        """
        self._check(ranker)
        _check_day(day, self.days)
        items = ranker._scored(X, qid)
        new, within = _hashes_of_queries(items)
        again = {old: np.isin(known, new).mean() for old, known in self.marks.items()}
        again[day] = within
        old = max(again, key=again.__getitem__)
        if again[old] > 0.5:
            warn_user(
                f"Most queries of {old!r} come again in {day!r}: each must come once, "
                "or the alarm may be false. Keep the monitor from before, and update "
                "it with new queries, each once."
            )
        levels = _levels(ranker, replace(items, y=np.zeros(items.value.size)))
        if not len(levels):
            warn_user(f"{day} has no query with a pair: it does not count as a day.")
            return self
        self._warn_of_lost(_NEXT_DAYS.setdefault(self, day), but=day)
        random = np.random.default_rng([self.seed, int(self.counts[0].sum())])
        draws = random.random(levels.shape)
        pvalues, counts = online_pvalues(self.counts, levels, draws)
        logs, path = add_pvalues(self.logs, pvalues, self.n_seen)
        peaks = float(path.max(initial=self.peaks[0])), self.peaks[1]
        # Evidence that is back at its start has not risen, unless it raised the alarm.
        highest = np.maximum.accumulate(np.append(self.peaks[0], path))[1:]
        calm = np.flatnonzero((path <= 1) & (highest < 1 / self.delta))
        since = np.array(self.since) * (calm.size == 0)
        risen = levels[calm[-1] + 1 :] if calm.size else levels
        since += [len(risen), *risen.sum(axis=0)]
        return replace(
            self,
            counts=counts,
            logs=logs,
            n_seen=self.n_seen + len(path),
            since=tuple(since.tolist()),
            peaks=peaks,
            days={**self.days, day: peaks},
            marks=self.marks | ({day: new[:_N_MARKS].tolist()} if new.size else {}),
        )

    def audit(
        self,
        ranker: Any,
        X: Any,
        *,
        qid: Any = None,
        day: str,
        n: int = 20,
        item_id: Any = None,
    ) -> tuple[Self, Questions]:
        """Draw questions about pairs, to see whether decisions are still right.

        Parameters
        ----------
        ranker : SelectiveRanker
            The one that is watched.
        X, qid, item_id
            As in ``predict_pairs``.
        day : str
            Name of the day, or of another batch; unique among audits.
        n : int, default=20
            Number of queries, at most.

        Returns
        -------
        monitor : Monitor
            Remembers the questions.
        questions : Questions
            For ``to_tasks`` and ``to_page``; give the answers to ``judge``. One
            accepted pair of each query; or, where the discordance is watched, ``draws``
            pairs, accepted or not, since only people know which pairs differ. Their
            ``qid`` begins with the day, "monday: 17", so that no answer is taken for
            one about the query 17 of another day.

        Raises
        ------
        TypeError
            If ``n`` is no integer.
        ValueError
            If ``n`` is below 1, the day was audited before, or the ranker was fitted
            again or is another one.
        """
        self._check(ranker)
        _check_day(day, self.audits)
        check_positive_int(n, "n")
        seeds = [self.seed, 1, len(self.asked), int(self.bets.n)]
        random = np.random.default_rng(seeds)
        items = ranker._scored(X, qid)
        queries = items.queries
        items = replace(items, y=np.zeros(items.value.size))
        # Without decided pairs an audit finds no fault.
        decided = ranker._calibration.totals(ranker._region, items).accepted > 0
        several = random.permutation(np.flatnonzero(decided))
        several = several[: n if self.draws else None]
        drawn = [_drawn(queries.rows(k), self.draws or 1, random) for k in several]
        pairs = np.array([*chain(*drawn)], dtype=np.int64).reshape(-1, 2)
        made = ranker.predict_pairs(X, qid=qid, pairs=pairs, item_id=item_id)
        if not self.draws:
            # An abstained pair has loss and bound 0, and needs no answer. To draw among
            # accepted pairs alone would weigh those of queries with few of them too
            # much.
            made = made.take(np.flatnonzero(made.accepted)[:n])
        if not len(made):
            warn_user(f"{day}: no pair drawn is decided: there is nothing to ask.")
        name = [day if q is None else f"{day}: {q}" for q in made.qid.tolist()]
        made = replace(made, qid=np.array(name, dtype=object))
        questions = Questions(**vars(made), value=np.ones(len(made)))
        asked = copy.deepcopy(self.asked)
        for pair in made.to_dicts():
            sides = {s: str(pair.get(f"{s}_id", pair[s])) for s in ("left", "right")}
            question = sides | {key: pair[key] for key in ("label", "accepted")}
            key = pair_id(pair["qid"], *sides.values())[0]
            asked.setdefault(pair["qid"], {})[key] = question
        return replace(self, audits=(*self.audits, day), asked=asked), questions

    def judge(self, ranker: Any, answers: Any, *, labels: Any = None) -> Self:
        """Add answers to the questions of all audits so far.

        Parameters
        ----------
        ranker : SelectiveRanker
            The one that is watched.
        answers, labels
            As in ``review``: a table with the ``qid`` of the questions, the items and a
            ``label``, such as ``review.read_answers`` returns, and what its labels
            mean. One answer to a question, in any order and on any day; a query counts
            when all its questions are answered, in the order of the rows: one that is
            skipped keeps the others waiting.

        Returns
        -------
        monitor : Monitor

        Raises
        ------
        TypeError
            If the table is of another kind.
        ValueError
            If the table is invalid as in ``review``, a pair of an open query was not
            drawn, or was answered otherwise before.

        Warns
        -----
        UserWarning
            If answers were judged before, or no audit asked for them: they change
            nothing. If some wait for the other answers of their query.
        """
        self._check(ranker)
        asked, bets = copy.deepcopy(self.asked), self.bets
        loss = None if self.draws else ranker._calibration.loss
        items = {
            (query, pair[side]): None
            for query, pairs in asked.items()
            for pair in pairs.values()
            for side in ("left", "right")
        }
        name = np.array([*items], dtype=object).reshape(-1, 2)
        queries = group_queries(name[:, 0], len(name))
        try:
            taken = take_answers(answers, queries, name[:, 1], labels, audits=True)
        except ValueError as error:
            rows = "An answer has qid, left, right (names if there are any) and label."
            about = f"Audits ask about {listed(asked)}."
            raise ValueError(f"{error} {rows} {about}") from None
        sides = queries.offsets[taken.query] + np.stack([taken.left, taken.right])
        left, right = name[queries.order[sides]]
        largest, judged, repeated = self.peaks[1], self.judged, 0
        for k in np.argsort(taken.row, kind="stable"):
            (query, one), other = left[k], right[k, 1]
            pairs = asked.get(query, {})
            question = pairs.get(pair_id(query, one, other)[0], {"truth": None})
            label = int(taken.label[k])
            truth = label if one == question.get("left") else -label
            if question.get("truth", truth) != truth:
                raise ValueError(
                    "answers must be about pairs that audit drew, each once, got "
                    f"{one!r} and {other!r} of query {query!r} in row {taken.row[k]}, "
                    f"and open questions about {len(asked)} queries."
                )
            repeated += "truth" in question
            question["truth"] = truth
            if all("truth" in pair for pair in pairs.values()):
                known = any(pair["truth"] for pair in pairs.values())
                hidden = not known and len(pairs) >= self.draws > 0
                lost, decided = _shares([*asked.pop(query).values()], loss)
                judged = judged[0] + lost, judged[1] + decided
                # Pairs that were not drawn may differ, and be decided and right.
                decided = 1.0 if hidden else decided
                bets = bets.add(lost - self.bound * decided, self.bound)
                largest = max(largest, math.exp(min(bets.log_capital, 700.0)))
        if repeated:
            warn_user(f"{repeated} answers, already judged, are set aside.")
        if some := [q for q in asked if any("truth" in p for p in asked[q].values())]:
            warn_user(
                f"Answers about queries {listed(some)} wait: a query counts when all "
                "its questions are answered, and one that is skipped is not."
            )
        peaks = self.peaks[0], largest
        # The answers belong to the last day.
        days = {**self.days, **dict.fromkeys([*self.days][-1:], peaks)}
        return replace(
            self, asked=asked, bets=bets, judged=judged, peaks=peaks, days=days
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for ``json.dumps``.

        Warns if ``update`` added a day to this monitor, which only the next one holds.
        """
        self._warn_of_lost(_NEXT_DAYS.get(self))
        text = json.dumps(vars(self), default=np.ndarray.tolist)
        return {"version": _VERSION, **json.loads(text)}

    __getstate__ = to_dict

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(vars(self.from_dict(state)))

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Return the monitor of a state from ``to_dict``.

        Raises
        ------
        ValueError
            If the state is of another version, or a value is missing.
        """
        plain = dict(state) if isinstance(state, Mapping) else {}
        found = plain.pop("version", "unknown")
        wrong = plain.keys() ^ {each.name for each in fields(cls)}
        try:
            if found != _VERSION or wrong:
                raise KeyError(f"{listed(sorted(wrong))} missing or unknown")
            read = {
                "counts": np.array(plain["counts"], dtype=np.int64),
                "logs": np.array(plain["logs"], dtype=np.float64),
                "bets": Bets._make(plain["bets"]),
                "days": {day: tuple(peaks) for day, peaks in plain["days"].items()},
            }
            for name in ("since", "judged", "peaks", "audits"):
                read[name] = tuple(plain[name])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"state must be what to_dict of a Monitor of version {_VERSION} gave, "
                f"got version {found}, {error.args[0]}: pass json.loads(text), or "
                "begin anew with Monitor.of(ranker)."
            ) from error
        return cls(**{**plain, **read})

    def _warn_of_lost(self, day: str | None, but: str | None = None) -> None:
        if day != but:
            warn_user(
                f"This monitor does not hold {day!r}: update returns the next monitor, "
                "which does. Assign it, as in monitor = monitor.update(...)."
            )

    def _check(self, ranker: Any) -> None:
        same = str(getattr(ranker, "id_", None)) == self.id_
        if same:
            probe = _probe(ranker.estimator_) or self.probe
            same = probe == self.probe or np.allclose(probe, self.probe or probe)
        if not same:
            raise ValueError(
                "ranker must be the one that is watched, got a "
                f"{type(ranker).__name__} that is another, or whose model, calibration "
                "or threshold has changed since: begin anew with Monitor.of(ranker)."
            )


def _check_day(day: Any, known: Collection[str]) -> None:
    if not isinstance(day, str) or day in known:
        remedy = f"{len(known)} days are known. Give later queries a name of their own"
        remedy = remedy if isinstance(day, str) else "pass day=str(day)"
        raise ValueError(
            f"day must be a text that names a new day, got {day!r}: {remedy}."
        )


def _probe(model: Any) -> list[float]:
    """Return the scores of random items; none if the model does not take numbers."""
    X = np.random.default_rng(0).normal(size=(16, getattr(model, "n_features_in_", 1)))
    with suppress(Exception), catch_warnings(action="ignore"):
        return score_items(model, X).tolist()
    return []


def _levels(ranker: Any, items: Scores) -> IntArray:
    """Return the levels of each query's share of abstentions and of its mean risk.

    Shape (n_queries, 2), without queries of one item.
    """
    engine = ranker._calibration.engine
    totals = ranker._calibration.totals(ranker._region, items)
    some = totals.pairs > 0
    pairs = totals.pairs[some]
    abstained = 1 - totals.accepted[some] / pairs
    # The mean of the risk is the area over its distribution.
    thresholds = (np.arange(16) + 0.5) / 16
    below = at_thresholds(engine, items, thresholds * engine.highest)[0][some]
    shares = np.stack([abstained, 1 - (below / pairs[:, None]).mean(axis=1)], axis=1)
    return np.rint(shares.clip(0, 1) * (_N_LEVELS - 1)).astype(np.int64)


def _hashes_of_queries(items: Scores) -> tuple[Any, float]:
    """Return the ascending hashes of the queries, and the share that is not alone.

    No hashes, and a share of 0, if queries look too much alike. Values are rounded,
    since a model may score a row differently in another batch.
    """
    queries = items.queries
    hashes: Any = hash_rows(items.value[queries.order, None].astype(np.float32))
    sums = np.add.reduceat(hashes, queries.offsets[:-1]) if hashes.size else hashes
    # Half the bits will do, in half the digits.
    found, first, n = np.unique(sums >> np.uint64(32), True, return_counts=True)
    # Few values make queries equal by chance: they are then in other queries, too.
    own = np.unique(hashes).size > 10 + queries.sizes[first].sum() / 2
    again = float(n[n > 1].sum() / max(sums.size, 1))
    return (found if own or again <= 0.1 else found[:0]), again * own


def _enough_draws(tied: FloatArray) -> int:
    """Return how many drawn pairs of a query nearly always hold one that differs.

    From the share of tied pairs of each query, those of equal items aside.
    """
    tied = tied[tied < 1]
    missed = [(tied**n).sum() <= _MISSED * tied.size for n in range(1, _MOST_DRAWS)]
    return 1 + int(np.argmax([*missed, True]))


def _drawn(rows: IntArray, n: int, random: Any) -> list[IntArray]:
    """Return n pairs of rows, or all if there are fewer, in random order."""
    found: dict[Any, IntArray] = {}
    while len(found) < min(n, rows.size * (rows.size - 1) // 2):
        pair = random.choice(rows, 2, replace=False)
        found.setdefault(frozenset(pair.tolist()), pair)
    return [*found.values()]


def _shares(
    pairs: list[dict[str, Any]], loss: FloatArray | None
) -> tuple[float, float]:
    """Return the shares of the answered pairs of a query that lost, and were decided.

    The mean loss, as a share of the largest, of its accepted pair; or, without a loss,
    the shares of the pairs that differ which are in the wrong order, and are accepted:
    0 without such pairs. A called tie counts one half.
    """
    rows = [[pair["label"], pair["truth"], pair["accepted"]] for pair in pairs]
    said, true, accepted = np.array(rows, dtype=np.int64).T
    if loss is not None:
        return float((loss[said + 1, true + 1] / loss.max()).mean()), 1.0
    differ = accepted * (true != 0)
    n_differ = max(np.count_nonzero(true), 1)
    wrong = differ * (1 - said * true) / 2
    return float(wrong.sum() / n_differ), float(differ.sum() / n_differ)


#: More days than this have no room for their names.
_MOST_NAMES = 20


@dataclass(kw_only=True, eq=False, repr=False)
class MonitorDisplay(Display):
    """Evidence of a monitor at the end of each day, and the line of the alarm.

    Make one with `from_monitor`. Curves show the largest evidence so far, so they never
    fall. Above the line there is an alarm. Above the curves the picture says what
    moved, from what to what.

    Parameters
    ----------
    days : list of str
        Names of the days.
    evidence : ndarray of shape (n_days, 2), float64
        Evidence without labels, and of the audit.
    alarm : float
        Evidence that raises the alarm: ``1 / delta``.
    message : str, default=""
        What moved, from what to what.
    name : str, default=None
        Title.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        Curves without labels and, after an audit, of the audit.
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.monitor import MonitorDisplay
    >>> display = MonitorDisplay(
    ...     days=["mon", "tue"], evidence=np.array([[1.0, 1], [30, 1]]), alarm=20.0
    ... ).plot()
    >>> len(display.lines_)
    1
    """

    ends = ("without labels", "audit")

    days: list[str]
    evidence: FloatArray
    alarm: float
    message: str = ""

    @classmethod
    def from_monitor(
        cls,
        monitor: Monitor,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the evidence of a monitor.

        Parameters
        ----------
        monitor : Monitor
        name : str, default=None
            Title.
        ax, **kwargs
            As in ``plot``.

        Raises
        ------
        ValueError
            If the monitor has no day yet.
        """
        if not monitor.days:
            raise ValueError("monitor must have seen a day: call update first.")
        return cls(
            days=[*monitor.days],
            evidence=np.array([*monitor.days.values()]),
            alarm=1 / monitor.delta,
            message=monitor.message,
            name=name,
        ).plot(ax, **kwargs)

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        day = np.arange(1, len(self.days) + 1)
        self.lines_ = [
            draw_curve(self.ax_, day, self.evidence[:, k], {"label": kind}, kwargs)
            for k, kind in enumerate(self.ends[: 1 + (self.evidence[:, 1] > 1).any()])
        ]
        text = "\n".join(self.message.replace("; ", ", ").split(", "))
        self.ax_.text(0.02, 0.98, text, va="top", transform=self.ax_.transAxes)
        ends = [day[0], max(day[-1], day[0] + 1)]
        draw_reference(self.ax_, ends, [self.alarm] * 2, "alarm")
        self.ax_.set(yscale="log", xlabel="day", ylabel="evidence of a change")
        if len(self.days) <= _MOST_NAMES:
            # Users' names may contain dollar signs.
            self.ax_.set_xticks(
                day, self.days, rotation=45, ha="right", parse_math=False
            )
        if name is not None:
            self.ax_.set_title(name, parse_math=False)
