"""Leaderboard: strengths by name, and places that the votes bear out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self
from warnings import catch_warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._kernels import FloatArray
from skrank_abstain._saving import Saved, all_or_nothing
from skrank_abstain._validation import (
    check_choice,
    check_finite,
    check_fraction,
    check_positive,
    check_positive_int,
    check_vector,
    listed,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.leaderboard import _evidence, _fit, _votes
from skrank_abstain.leaderboard._judges import fit_with_judges
from skrank_abstain.leaderboard._page import notes_on, write_report
from skrank_abstain.leaderboard._standings import ItemDecisions, Standings
from skrank_abstain.report import Report
from skrank_abstain.review import Questions

#: More than so many times the votes, or queries, are not worth a number.
_MOST_GROWTH = 100
#: Less than this share of a covariate is rounding.
_NOTHING = 1e-7


class Leaderboard(Saved, BaseEstimator):
    """Items ranked by votes on pairs of them, with places that hold all at once.

    A vote names two items and says who won. Strengths are fitted by maximum
    likelihood, and an order of two items is decided only if the votes bear it out:
    with probability ``confidence`` none of all decided orders is false. The other
    places stay open.

    Parameters
    ----------
    confidence : float, default=0.95
        Probability that all decided orders are right, in (0, 1).
    ties : {"rao_kupper", "davidson"}, default="rao_kupper"
        Model of ties.
    control : {"familywise", "fdr"}, default="familywise"
        "fdr": ``1 - confidence`` is the expected share of false orders among those
        that are decided. Decides more pairs.
    looks : {"once", "any"}, default="once"
        How often the board is read. "once": the promise is about one fit, to votes
        drawn without regard to the board. "any": it is about all fits together, as
        votes or queries come in, also those that ``ask`` chose; an order may be kept
        once it is decided (keep it yourself: a fit only sees its own votes). "any"
        needs 2 to 2.6 times the votes on simulated boards.
    prior : float or "cv", default=0.1
        Penalty on squared strengths. It keeps the strength of an item finite that won
        every time, and hardly moves one with many votes. "cv" chooses it by
        cross-validation, from .1 to 30, in some 30 fits: the next votes are foretold
        better where there are few, and up to a sixth fewer orders are decided.
    half_life : float, default=None
        Age at which a vote counts half: in units of the column ``time``, in days if
        that holds dates. None: all votes count alike.
    lapses : bool, default=False
        Whether up to a fifth of the votes may be cast at random: left or right with
        probability 1/2 each, whatever the items, and never a tie (a lapse rate [6]_).
        The votes say how large their share may be, and an order is decided only if it
        holds for each of these shares. This takes nine more fits. Not with judges, and
        not for ``fit_scores``.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws that decide orders close to the limit. None: always the same
        ones, so that fits of the same votes agree.

    Attributes
    ----------
    items_ : ndarray of shape (n_items,)
        Names, sorted.
    strengths_ : ndarray of shape (n_items,), float64
        Logits: without ties the difference of two strengths is the logarithm of the
        odds. They sum to 0.
    covariance_ : ndarray of shape (n_items, n_items), float64
        Covariance of the strengths, computed on access: the sandwich estimate, by
        cluster.
    coef_ : ndarray of shape (n_covariates,), float64
        Effects of the covariates on the side of the left item.
    coef_interval_ : ndarray of shape (n_covariates, 2), float64
        Interval of each, at ``confidence``.
    boards_ : dict
        A fitted board for each category of votes, with ``by``.
    covariates_ : tuple of str
        Their names.
    tau_ : float
        Tie parameter.
    lapse_ : float
        Likeliest share of random votes, one of 0, .025, ... .2; 0 without ``lapses``.
        Strengths, their intervals and probabilities assume this share. NaN if the votes
        do not tell it, since ``lapse_interval_`` is from 0 to .2, as always with
        clusters. Random ties are not noticed: with them it may be 0.
    lapse_interval_ : ndarray of shape (2,), float64
        Shares of random votes for which every decided order holds.
    n_votes_ : int
        Votes, or queries.
    prior_ : float
        The penalty, with votes.
    reliance_ : float
        How much the judges count, from 0 to 1; only with judges.
    vote_worth_ : float
        How many votes of people alone one vote is worth beside the judges; only with
        judges.

    See Also
    --------
    skrank_abstain.PairwiseRankerClassifier : Comparisons of items with features.

    Notes
    -----
    An order is decided where the difference exceeds its standard error by more than
    the largest ratio that chance alone would give, by a step-down [4]_ of the largest
    ratio in draws. Votes by themselves: draws with the correlations of the strengths;
    the standard error is the larger one of two, by the votes' own spread and by the
    model, and the promise is one for many votes. Votes in clusters: the signs of the
    clusters' shares in the strengths are flipped; the standard error is the larger one
    of theirs and of the model. Systems on queries: the signs of the differences are
    flipped, and queries are drawn again; both have to agree. ``looks="any"``: a normal
    mixture of likelihood ratios [5]_ has to be large enough, too.

    The log odds of a win are taken to be the difference of two strengths. Votes at
    random make strong and weak opponents tell different stories, and a false order may
    be decided, unless ``lapses=True``. Then the probability of a win is
    ``r / 2 + (1 - r) p``, where r is the share of random votes and p the probability
    without them. An order has to hold for every r in the set that the profile
    likelihood gives at confidence ``1 - (1 - confidence) / 5``, and for one step of
    .025 beyond each end. This set misses the true share with probability .01 at a
    ``confidence`` of .95, on top of the .05. With clusters or ``looks="any"``
    likelihood ratios have another distribution, and an order has to hold for every r
    from 0 to .2.

    The promise says nothing about voters unlike those who voted. A board fitted in a
    loop, with ``looks="once"``, makes its promise for each fit by itself: some of many
    fits break it.

    A step of the fit takes O(n_votes + n_items^3), and a few products with a sparse
    matrix where there are more than 1,500 parameters. Places take O(n_items^3).

    References
    ----------
    .. [1] Rao and Kupper (1967). "Ties in Paired-Comparison Experiments". JASA 62.
    .. [2] Davidson (1970). "On Extending the Bradley-Terry Model to Accommodate Ties in
       Paired Comparison Experiments". JASA 65.
    .. [3] Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023). "Prediction-Powered
       Inference". Science 382.
    .. [4] Romano and Wolf (2005). "Exact and Approximate Stepdown Methods for Multiple
       Hypothesis Testing". JASA 100.
    .. [5] Robbins (1970). "Statistical Methods Related to the Law of the Iterated
       Logarithm". Annals of Mathematical Statistics 41.
    .. [6] Wichmann and Hill (2001). "The Psychometric Function: I. Fitting, Sampling,
       and Goodness of Fit". Perception & Psychophysics 63.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.leaderboard import Leaderboard
    >>> rng = np.random.default_rng(0)
    >>> left, right = rng.permuted(np.tile(np.arange(6), (3000, 1)), axis=1)[:, :2].T
    >>> strength = np.array([2.0, 1, 1, 1, 0, 0])
    >>> chance = 1 / (1 + np.exp(strength[right] - strength[left]))
    >>> votes = {"left": np.array(list("ABCDEF"))[left],
    ...          "right": np.array(list("ABCDEF"))[right],
    ...          "label": np.where(rng.random(3000) < chance, "left", "right")}
    >>> board = Leaderboard(random_state=0).fit(votes)
    >>> [(item.item_id, item.best, item.worst) for item in board.ranking()]
    [('A', 1, 1), ('B', 2, 4), ('C', 2, 4), ('D', 2, 4), ('F', 5, 6), ('E', 5, 6)]
    >>> board.predict_proba(["A"], ["E"]).round(2)  # right wins, tie, left wins
    array([[0.11, 0.  , 0.89]])
    """

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        ties: str = "rao_kupper",
        control: str = "familywise",
        looks: str = "once",
        prior: Any = 0.1,
        half_life: float | None = None,
        lapses: bool = False,
        random_state: Any = None,
    ) -> None:
        self.confidence = confidence
        self.ties = ties
        self.control = control
        self.looks = looks
        self.prior = prior
        self.half_life = half_life
        self.lapses = lapses
        self.random_state = random_state

    @all_or_nothing
    def fit(
        self,
        votes: Any,
        *,
        covariates: Sequence[str] = (),
        cluster: str | None = None,
        labels: Any = None,
        judges: Any = None,
        by: str | None = None,
    ) -> Self:
        """Fit the strengths.

        Parameters
        ----------
        votes : frame, mapping of columns or list of mappings
            Columns ``left``, ``right`` and ``label``, or ``model_a``, ``model_b`` and
            ``winner``, or some of each. Labels are words, such as left, tie, right,
            "both bad", or -1, 0, +1, or the name of the item that wins. Optionally
            ``count``, the number of equal votes that a row stands for; ``weight``, how
            much each vote counts, which is no count of votes: 50 votes in one row of
            weight 50 are one vote; ``time`` (read with ``half_life``) and ``vote_id``
            (each once). What ``review.read_answers`` returns will do.
        covariates : sequence of str, default=()
            Columns of numbers that add to the strength of the left item: its length
            less that of the right one, or 1 for the advantage of being shown first or
            of playing at home.
        cluster : str, default=None
            Column that says which votes belong together, such as the voter or the
            prompt. None: each vote stands by itself, and a column such as ``voter`` or
            ``reviewer`` warns. So few clusters that they cannot decide any order warn.
        labels : mapping, default=None
            What labels mean, as ``{"2": "right", "X": "tie", "1": "left"}``, for
            ``score`` too; "skip" is a vote that does not count. None: they are read by
            what they mean.
        judges : frame, mapping of columns or list of mappings, default=None
            Votes of automatic judges, in the same columns; ``votes`` are then people's.
            ``vote_id`` names the battle in both tables: judges need some battles that
            people voted on, and others. Not with covariates, ``by`` or ``half_life``;
            ``weight`` and ``count`` are refused.
        by : str, default=None
            Column with the category of a vote, such as the language of the prompt:
            each gets a board of its own in ``boards_``. Ages are counted from the
            newest vote of all. Warnings and errors name the category.

        Returns
        -------
        self : object

        Raises
        ------
        TypeError
            If the table is of another kind.
        ValueError
            If a parameter, a column or a value is invalid, an item is compared with
            itself or has two spellings, a label is the board's own, a vote id occurs
            twice, the effect of a covariate cannot be told from the strengths, or
            ``half_life`` leaves fewer than ten votes' worth.
        """
        promise = self._checked_options()
        options: Any = {"covariates": covariates, "cluster": cluster, "labels": labels}
        table = _votes.read_votes(votes, half_life=self.half_life, **options)
        counts, model = _fit.count_votes(table), _fit.VOTE_MODELS[self.ties]
        if _fit.share_of_its_own(counts) < _NOTHING:
            raise ValueError(
                "covariates must say something that items and other covariates do not, "
                f"got {listed(covariates)}: the advantage of the left side, for one, "
                "cannot be told from the strength of an item that is always there."
            )
        prior = _fit.choose_prior(table, model) if self.prior == "cv" else self.prior
        lapse, others = 0.0, np.zeros(0)
        if self.lapses:
            # A likelihood ratio is about independent votes, looked at once.
            once = cluster is None and self.looks == "once"
            level = 1 - (1 - self.confidence) / 5 if once else 1.0
            lapse, others = _fit.choose_lapses(counts, model, prior, level)
        fitted = _fit.fit_strengths(counts, _fit.with_lapses(model, lapse), prior)
        voted = *promise, fitted.theta, table, self.ties, float(prior), fitted
        evidence = _evidence.VoteEvidence(*voted, lapse=lapse, other_lapses=others)
        if judges is not None:
            given = by is not None or self.half_life is not None
            if self.lapses or covariates or given:
                raise ValueError(
                    "judges must be None with covariates, by, half_life and lapses: "
                    "what judges add is not known there. Fit one or the other."
                )
            theirs = _votes.read_judges(judges, votes, table, labels)
            evidence = fit_with_judges(evidence, *theirs)
            judged: Any = evidence.judged
            self.reliance_, self.vote_worth_ = judged.reliance, judged.worth
        self._take(evidence, table.items)
        self._labels = labels
        self.boards_ = {}
        parts = {} if by is None else _votes.split_votes(votes, by, table.weight)
        for category, part in parts.items():
            where, board = f"{by}={category!r}", clone(self).set_params(half_life=None)
            try:
                with catch_warnings(action="ignore"):  # the whole table has warned
                    self.boards_[category] = board.fit(part, **options)
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from error
            for text in notes_on(board._evidence):
                warn_user(f"{where}: {text}")
        self.covariates_ = tuple(covariates)
        self.coef_ = fitted.beta
        self.tau_ = fitted.tau
        every = np.append(others, lapse)
        self.lapse_interval_ = np.array([every.min(), every.max()])
        self.lapse_ = lapse if np.ptp(every) < _fit.LAPSES[-1] else np.nan
        self.prior_ = float(prior)
        self.n_votes_ = int(table.per_item.sum()) // 2
        return self

    @all_or_nothing
    def fit_scores(self, frame: Any) -> Self:
        """Compare systems by a metric of each on each query.

        Parameters
        ----------
        frame : frame or mapping of columns
            A column for each system, a row for each query; the higher a value, the
            better: pass ``-frame`` for a loss. Cells may be missing: two systems are
            compared on the queries that both have.

        Returns
        -------
        self : object
            Strengths are means of the metric; their covariance is that of systems on
            the same queries. There are no votes to predict, to ask for or to remove.

        Raises
        ------
        TypeError
            If ``frame`` is no table.
        ValueError
            If there are fewer than two systems or queries, or a system has none.

        Examples
        --------
        >>> import numpy as np
        >>> from skrank_abstain.leaderboard import Leaderboard
        >>> hard = np.random.default_rng(0).normal(size=(200, 1))
        >>> noise = np.random.default_rng(2).normal(size=(200, 3))
        >>> ndcg = hard + 0.3 * noise + [0.2, 0, 0]
        >>> board = Leaderboard(random_state=0)
        >>> board = board.fit_scores(dict(zip("ABC", ndcg.T)))
        >>> [(item.item_id, item.best, item.worst) for item in board.ranking()]
        [('A', 1, 1), ('B', 2, 3), ('C', 2, 3)]
        """
        options = self._checked_options()
        if self.lapses:
            raise ValueError(
                "lapses must be False for fit_scores, got True: only votes can be cast "
                "at random."
            )
        items, scores = _votes.read_scores(frame)
        self.n_votes_ = len(scores)
        theta = _evidence.mean_scores(scores)
        self._take(_evidence.ScoreEvidence(*options, theta=theta, scores=scores), items)
        return self

    def _checked_options(self) -> tuple[float, str, str, int]:
        confidence = check_fraction(self.confidence, "confidence")
        check_choice(self.ties, "ties", tuple(_fit.VOTE_MODELS))
        check_choice(self.control, "control", ("familywise", "fdr"))
        check_choice(self.looks, "looks", ("once", "any"))
        if self.prior != "cv":
            check_positive(self.prior, "prior")
        # Fits of the same votes agree, unless somebody asks for other draws.
        random = check_random_state(self.random_state or 0)
        return confidence, self.control, self.looks, int(random.randint(2**31 - 1))

    def _take(self, evidence: _evidence.Evidence, items: NDArray[Any]) -> None:
        self._evidence = evidence
        self.items_ = items
        self.strengths_ = evidence.theta
        for text in notes_on(evidence):
            warn_user(text)

    @property
    def covariance_(self) -> FloatArray:
        return self._known().covariances[0]

    @property
    def coef_interval_(self) -> FloatArray:
        evidence = self._voted()
        half = evidence.half_width * evidence.spread.others[: self.coef_.size]
        return np.stack([self.coef_ - half, self.coef_ + half], axis=1)

    def ranking(self) -> Standings:
        """Return the items, strongest first, with the places that are left open.

        Returns
        -------
        ranking : Standings
            A `Ranking` with the interval of each strength and the number of votes.

        Raises
        ------
        ValueError
            If all pairs of the items do not fit into memory.
        """
        evidence = self._known()
        order = np.argsort(evidence.place)
        best, worst, _ = evidence.comparisons.places(order).T
        low, high = evidence.intervals[order].T
        return Standings(
            qid=np.full(order.size, None),
            item_id=self.items_[order],
            place=evidence.place[order],
            score=self.strengths_[order],
            best=best[order],
            worst=worst[order],
            low=low,
            high=high,
            votes=evidence.n_votes[order],
            provisional=evidence.provisional[order],
            promise=evidence.promise,
        )

    @property
    def decisions(self) -> ItemDecisions:
        """Which of two items is stronger, for all pairs; see `ItemDecisions`."""
        evidence = self._known()
        found = evidence.comparisons
        return ItemDecisions(
            left=found.left,
            right=found.right,
            qid=np.full(found.left.size, None),
            label=np.sign(found.difference).astype(np.int64),
            accepted=found.accepted,
            left_id=self.items_[found.left],
            right_id=self.items_[found.right],
            place=evidence.place,
            pvalue=found.pvalue,
        )

    def more_needed(self) -> ItemDecisions:
        """Return how many more votes, or queries, decide neighbours, and first place.

        Returns
        -------
        decisions : ItemDecisions
            The neighbours of the ranking, from the top. ``more`` is the number of
            further votes or queries, of the whole board and of the same kind, with
            which the order is sure with a probability of one half: 0 if it is sure,
            infinite if it is more than 99 times those that there are: a difference
            that takes so many is smaller than most that equal items show. With
            ``cluster`` they come from new voters; those of the same ones decide far
            less.
            ``first`` is the largest number that an order of the leader needs.

        Notes
        -----
        With k times as much data a difference of t standard errors is decided with
        probability ``Phi((t sqrt(k) - c) / sqrt(k - 1))``, where c is what it takes
        among the pairs that are open. Votes that ``ask`` chooses decide more. With
        ``looks="once"`` the number is for one look at old and new votes together: if
        this board was read, too, the promise no longer holds. With ``looks="any"`` all
        votes are 2 to 2.6 times as many, and so the further ones even more.

        Raises
        ------
        ValueError
            If all pairs of the items do not fit into memory, or votes fade.

        Examples
        --------
        >>> import numpy as np
        >>> from skrank_abstain.leaderboard import Leaderboard
        >>> scores = np.random.default_rng(0).normal(size=(100, 3)) + [0.5, 0.2, 0]
        >>> board = Leaderboard().fit_scores(dict(zip("ABC", scores.T)))
        >>> board.more_needed()
        ItemDecisions(n_pairs=2): how many more decide an order with probability 1/2
          A over B: 191
          B over C: 105
          first place: 191
        """
        evidence = self._known()
        if self.half_life is not None:
            raise ValueError(
                f"half_life must be None for more_needed, got {self.half_life}: votes "
                "that fade never add up, so that at a steady rate open orders stay so."
            )
        order = np.argsort(evidence.place)
        ahead = np.append(order[:-1], np.full(order.size - 1, order[0]))
        first, last = np.sort([ahead, np.tile(order[1:], 2)], axis=0)
        # All pairs are in the order of the first one, then of the second.
        rows = first * (2 * order.size - first - 1) // 2 + last - first - 1
        growth = evidence.growth(rows)
        more = np.ceil(self.n_votes_ * (growth - 1))
        more[growth > _MOST_GROWTH] = np.inf
        rows, (more, of_first) = rows[: order.size - 1], np.split(more, 2)
        return replace(self.decisions.take(rows), more=more, first=of_first.max())

    def report(self) -> Report:
        """Return a page about the board: data, promise and results.

        Returns
        -------
        report : Report
            A text in markdown; ``to_html(path)`` saves it as one page with a picture.
        """
        return write_report(self, self._known())

    def predict_proba(
        self, left: ArrayLike, right: ArrayLike, *, covariates: ArrayLike | None = None
    ) -> FloatArray:
        """Return the probabilities of the next vote about pairs of items.

        Parameters
        ----------
        left, right : array-like of shape (n_pairs,)
            Names.
        covariates : array-like of shape (n_pairs, n_covariates), default=None
            In the order of ``covariates_``; None: all are 0.

        Returns
        -------
        proba : ndarray of shape (n_pairs, 3)
            Right wins, tie, left wins.

        Raises
        ------
        ValueError
            If the board does not have an item, or shapes do not match.

        Notes
        -----
        These say who wins the next vote. Who is stronger is another question: a tiny
        difference can be sure after many votes, and the next vote as good as a coin.
        """
        evidence = self._voted()
        names = check_vector(left, "left").tolist()
        others = check_vector(right, "right", len(names), unit="pair").tolist()
        first, second = _votes.number_names([names, others], self.items_)
        eta = self.strengths_[first] - self.strengths_[second]
        if covariates is not None:
            z = check_finite(covariates, "covariates", ("n_pairs", "n_covariates"))
            if z.shape != (eta.size, self.coef_.size):
                raise ValueError(
                    f"covariates must be of shape {(eta.size, self.coef_.size)}, "
                    f"got {z.shape}."
                )
            eta = eta + z @ self.coef_
        return evidence.model.proba(eta, self.tau_)

    def score(self, votes: Any) -> float:
        """Return the mean log probability of votes, the higher the better.

        Parameters
        ----------
        votes : frame, mapping of columns or list of mappings
            As for ``fit``, with its covariates. ``time`` is ignored.

        Returns
        -------
        score : float
            0 is perfect, log(1/3) = -1.10 what three equal chances get.

        Raises
        ------
        ValueError
            If a vote is about an item that the board does not have, or invalid.
        """
        evidence = self._voted()
        table = _votes.read_votes(
            votes, covariates=self.covariates_, items=self.items_, labels=self._labels
        )
        eta = _fit.eta_of(table, evidence.fitted)
        each = np.arange(eta.size), table.label + 1
        happened = evidence.model.log_proba(eta, self.tau_)[each]
        return float(np.average(happened, weights=table.weight))

    def ask(
        self, n: int = 20, *, objective: str = "pairs", per_pair: int = 1
    ) -> Questions:
        """Return the open pairs whose next votes save most false orders, best first.

        Parameters
        ----------
        n : int, default=20
            Most questions; there are fewer if fewer pairs are open.
        objective : {"pairs", "top"}, default="pairs"
            "pairs": all open orders matter alike; "top": those of the leader do.
        per_pair : int, default=1
            Most questions about one pair, for several voters.

        Returns
        -------
        questions : Questions
            With ``to_tasks`` and ``to_page``; ``shown=`` takes a row per prompt with a
            column for each item, two texts per question, or a value per item in the
            order of ``items_``; ``blind=True`` hides the names. ``value`` is by how
            much the vote lowers the expected number of false orders. Fit again with the
            answers, and ask again: with ``looks="any"``, so that the promise holds for
            votes that were asked for.

        Warns
        -----
        UserWarning
            If ``looks`` is "once", or there are fewer questions than ``n``.

        Raises
        ------
        ValueError
            If a parameter is invalid, or the board was not fitted on votes.
        """
        evidence = self._voted()
        check_choice(objective, "objective", ("pairs", "top"))
        if evidence.looks == "once":
            warn_user(
                'looks="once" promises nothing for votes that were asked for: fit with '
                'Leaderboard(looks="any") once the answers are among the votes.'
            )
        n = check_positive_int(n, "n")
        per_pair = check_positive_int(per_pair, "per_pair")
        top = objective == "top"
        left, right, value = _evidence.choose_pairs(evidence, n, per_pair, top=top)
        if left.size < n:
            more = -(-n * per_pair // max(left.size, 1))
            warn_user(
                f"n={n} questions: {left.size} are all there are about open pairs with "
                f"per_pair={per_pair}. per_pair={more} asks about each more often, for "
                "more voters or prompts."
            )
        difference = evidence.theta[left] - evidence.theta[right]
        return Questions(
            left=left,
            right=right,
            qid=np.full(left.size, None),
            label=np.sign(difference).astype(np.int64),
            accepted=np.zeros(left.size, dtype=bool),
            proba=evidence.model.proba(difference, self.tau_),
            left_id=self.items_[left],
            right_id=self.items_[right],
            place=evidence.place,
            value=value,
            index=self.items_,
        )

    def fragility(self) -> _evidence.Fragility:
        """Return few votes without which the leader would not lead.

        Returns
        -------
        fragility : Fragility
            Confirmed by fits without these votes.

        Raises
        ------
        ValueError
            If the board was not fitted on votes, or has judges.
        """
        evidence = self._voted()
        if evidence.judged is not None:
            raise ValueError(
                "Leaderboard must be fitted without judges for this: ask it of the "
                "votes of people alone."
            )
        return _evidence.find_fragility(evidence)

    def _known(self) -> _evidence.Evidence:
        check_is_fitted(self, "items_")
        return self._evidence

    def _voted(self) -> _evidence.VoteEvidence:
        evidence = self._known()
        if not isinstance(evidence, _evidence.VoteEvidence):
            raise ValueError(
                "Leaderboard must be fitted on votes for this, by fit, got one fitted "
                "by fit_scores: ranking and decisions need no votes."
            )
        return evidence
