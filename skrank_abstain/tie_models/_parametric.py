"""The classical tie models: Bradley-Terry and Thurstone-Mosteller."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from skrank_abstain._validation import FloatArray, check_choice
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import GapOutcomes
from skrank_abstain.tie_models._likelihood import fit_maximum_likelihood, n_pairs_of
from skrank_abstain.tie_models._links import Davidson, Link, RaoKupper, Thurstone
from skrank_abstain.tie_models._tie_model import DifferenceModel


class _ParametricModel(DifferenceModel):
    """A link whose scale and tie parameter are counted or fitted."""

    calibration: str
    _fitted_state: tuple[str, ...] = ("scale_", "_margin", "n_pairs_")

    def fit_outcomes(self, outcomes: GapOutcomes) -> None:
        check_choice(self.calibration, "calibration", ("ml", "counts"))
        link = self._link()
        if self.calibration == "ml":
            self.scale_, self._margin = fit_maximum_likelihood(link, outcomes)
        else:
            # Right for equally strong items only: with a true theta of 4 and normal
            # scores of standard deviation 2 counting gives 1.94 and maximum likelihood
            # 3.96; a tie can be predicted from 2 on.
            n_untied = n_pairs_of(outcomes, -1, 1)
            if not n_untied:
                warn_user(
                    "All pairs are tied: half a pair was counted as not tied, so that "
                    "the tie parameter stays finite.",
                )
            n_pairs = float(outcomes.weight.sum())
            self.scale_ = 1.0
            self._margin = self._counted(link, n_pairs, n_untied or 0.5)
        # A refit after set_params(ties=...) must not keep the other link's parameter.
        for name in ("theta_", "epsilon_", "nu_"):
            if hasattr(self, name):
                delattr(self, name)
        self._name_margin(self._margin)

    def proba_at_gap(self, gap: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # at such a gap the order is certain
            x = self.scale_ * gap
        return self._link().proba(x, self._margin)

    def _counted(self, link: Link, n_pairs: float, n_untied: float) -> float:
        return link.from_counts(n_pairs, n_untied)

    @abstractmethod
    def _link(self) -> Link:
        """Return the link that gives the likelihood of a pair."""

    @abstractmethod
    def _name_margin(self, margin: float) -> None:
        """Store the tie parameter under its customary names."""


class BradleyTerry(_ParametricModel):
    """Bradley-Terry model of a pair, with ties.

    The probabilities depend on ``d = scale * (s_left - s_right)``. With
    ``ties="rao_kupper"`` [1]_ P(left) = 1 / (1 + theta exp(-d)), P(right) =
    1 / (1 + theta exp(d)), the rest is the tie. With ``ties="davidson"`` [2]_
    P(left) : P(tie) : P(right) = exp(d / 2) : nu : exp(-d / 2).

    Parameters
    ----------
    ties : {"rao_kupper", "davidson"}, default="rao_kupper"
        Model of a tie.
    calibration : {"ml", "counts"}, default="ml"
        ``"ml"`` fits the scale and the tie parameter by maximum likelihood on the
        calibration pairs. ``"counts"`` is our reading of [3]_: scale 1, and
        theta = (2N - n) / n from n untied pairs out of N. The paper leaves open which
        part of the data is counted. Theta is too low unless all items are equally
        strong.

    Attributes
    ----------
    scale_ : float
        Factor on the score difference.
    theta_ : float
        Tie parameter, at least 1; only for ``ties="rao_kupper"``. Above 2 a tie can
        be the most probable outcome.
    epsilon_ : float
        ln(theta); only for ``ties="rao_kupper"``.
    nu_ : float
        Tie parameter, at least 0; only for ``ties="davidson"``. Above 1 a tie can be
        the most probable outcome.
    n_pairs_ : int
        Number of pairs that were fitted.

    See Also
    --------
    ThurstoneMosteller : The same with normal instead of logistic noise.

    Notes
    -----
    No tied pair gives theta = 1 (nu = 0) and P(tie) = 0. When the likelihood has no
    finite optimum (all pairs tied, or outcomes perfectly separated by gap), half a pair
    of each order is added at the median gap, and half a tied pair if any pair is tied,
    with a warning. In ``"counts"`` mode, if all pairs are tied, half a pair counts as
    untied.

    References
    ----------
    .. [1] Rao and Kupper (1967). "Ties in Paired-Comparison Experiments". JASA 62.
    .. [2] Davidson (1970). "On Extending the Bradley-Terry Model to Accommodate Ties
       in Paired Comparison Experiments". JASA 65.
    .. [3] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.

    Examples
    --------
    >>> from skrank_abstain.tie_models import BradleyTerry
    >>> model = BradleyTerry(calibration="counts").fit([2.0, 1.0, 0.0], [1, 1, 0])
    >>> model.theta_
    2.0
    >>> model.proba([2.0], [0.0]).round(3)
    array([[0.063, 0.15 , 0.787]])
    """

    def __init__(self, *, ties: str = "rao_kupper", calibration: str = "ml") -> None:
        self.ties = ties
        self.calibration = calibration

    def _link(self) -> Link:
        check_choice(self.ties, "ties", ("rao_kupper", "davidson"))
        return RaoKupper() if self.ties == "rao_kupper" else Davidson()

    def _name_margin(self, margin: float) -> None:
        if self.ties == "davidson":
            self.nu_ = margin
        else:
            self.epsilon_ = margin
            self.theta_ = float(np.exp(margin))


class ThurstoneMosteller(_ParametricModel):
    """Thurstone-Mosteller model of a pair, with ties.

    P(left) = Phi(d - epsilon), P(right) = Phi(-d - epsilon), the rest is the tie,
    with ``d = scale * (s_left - s_right)`` and the standard normal cdf Phi.

    Parameters
    ----------
    calibration : {"ml", "counts"}, default="ml"
        ``"ml"`` fits scale and margin by maximum likelihood. ``"counts"`` is our
        reading of [1]_: scale 1 and epsilon from n untied pairs out of N, by
        ``margin``.
    margin : {"log_theta", "tie_rate"}, default="log_theta"
        How ``calibration="counts"`` computes epsilon. ``"log_theta"``:
        ln((2N - n) / n), as for Bradley-Terry. ``"tie_rate"``: the epsilon at which
        equally strong items tie as often as counted, 2 Phi(epsilon) - 1 = (N - n) / N.

    Attributes
    ----------
    scale_ : float
        Factor on the score difference.
    epsilon_ : float
        Margin, at least 0. Above 0.4307 a tie can be the most probable outcome.
    n_pairs_ : int
        Number of pairs that were fitted.

    See Also
    --------
    BradleyTerry : The same with logistic instead of normal noise.

    Notes
    -----
    [1]_ states neither how the counts give epsilon nor the unit of the difference
    (Thurstone's case V divides it by the square root of 2). The entropies that it
    reports fit ``"log_theta"``: with 5 of 7 pairs tied (theta = 6) the entropy at equal
    scores is 0.45 of the largest possible, and 0.995 under ``"tie_rate"``.

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.

    Examples
    --------
    >>> from skrank_abstain.tie_models import ThurstoneMosteller
    >>> model = ThurstoneMosteller(calibration="counts")
    >>> model.fit([2.0, 1.0, 0.0], [1, 1, 0]).epsilon_ # ln 2
    0.693...
    >>> model.set_params(margin="tie_rate").fit([2.0, 1.0, 0.0], [1, 1, 0]).epsilon_
    0.430...
    """

    def __init__(self, *, calibration: str = "ml", margin: str = "log_theta") -> None:
        self.calibration = calibration
        self.margin = margin

    def fit_outcomes(self, outcomes: GapOutcomes) -> None:
        check_choice(self.margin, "margin", ("log_theta", "tie_rate"))
        super().fit_outcomes(outcomes)

    def _link(self) -> Link:
        return Thurstone()

    def _counted(self, link: Link, n_pairs: float, n_untied: float) -> float:
        if self.margin == "tie_rate":
            return link.from_tie_rate(n_pairs, n_untied)
        return super()._counted(link, n_pairs, n_untied)

    def _name_margin(self, margin: float) -> None:
        self.epsilon_ = margin
