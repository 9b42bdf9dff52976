"""The picture of a board: strengths, and the places that are left open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skrank_abstain.displays import GREY, PALETTE, Display
from skrank_abstain.leaderboard._results import Standings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More items than this leave no room for their names.
_MOST_NAMES = 120
#: Most inches of a new figure.
_HIGHEST = 16


@dataclass(kw_only=True, eq=False, repr=False)
class LeaderboardDisplay(Display):
    """Items of a board by strength and place, with what is open of both.

    A marker stands at the strength of an item and at its place. The thin line across is
    the interval of the strength, by itself; the broad bar up and down reaches from the
    best to the worst place, for all items at once. Items whose bars overlap in height
    may stand in either order. Make one with `from_estimator`.

    Parameters
    ----------
    standings : Standings
        What ``Leaderboard.ranking`` returns.
    name : str, default=None
        Title.

    Attributes
    ----------
    bars_ : matplotlib LineCollection
        The places that are left open, strongest item first.
    intervals_ : matplotlib LineCollection
        The intervals of the strengths.
    markers_ : matplotlib PathCollection
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from skrank_abstain.leaderboard import Leaderboard, LeaderboardDisplay
    >>> votes = {"left": list("AAAABCB") * 40, "right": list("BCBCAAC") * 40,
    ...          "label": (["left"] * 6 + ["tie"]) * 40}
    >>> display = LeaderboardDisplay.from_estimator(Leaderboard().fit(votes))
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['A', 'B', 'C']
    """

    legend_columns = 3

    standings: Standings
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        board: Any,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted board.

        Parameters
        ----------
        board : Leaderboard
            Fitted.
        name : str, default=None
            Title.
        ax, **kwargs
            As in ``plot``; the options style the bars.

        Returns
        -------
        display : LeaderboardDisplay
        """
        return cls(standings=board.ranking(), name=name).plot(ax, **kwargs)

    def _height(self) -> float:
        return float(np.clip(0.2 * len(self.standings) + 1.6, 2.6, _HIGHEST))

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        shown, ax = self.standings, self.ax_
        style: dict[str, Any] = {"color": GREY, "alpha": 0.4, "linewidth": 3}
        # Longer than the places, so that one that is certain has a bar to see.
        ends = shown.best - 0.3, shown.worst + 0.3
        style |= {"label": "places open"} | kwargs
        self.bars_ = ax.vlines(shown.score, *ends, **style)
        self.intervals_ = ax.hlines(
            shown.place,
            shown.low,
            shown.high,
            color=PALETTE[0],
            linewidth=1,
            label="interval of the strength",
        )
        self.markers_ = ax.scatter(
            shown.score, shown.place, color=PALETTE[0], s=14, zorder=3, label="place"
        )
        n = len(shown)
        if n > _MOST_NAMES:
            ax.set_yticks([])
        else:
            # The names are the user's: a dollar sign is no formula.
            ax.set_yticks(
                shown.place,
                [str(name) for name in shown.item_id],
                fontsize=min(8.5, 0.8 * 72 * (_HIGHEST - 1.6) / n),
                parse_math=False,
            )
        ax.set(
            xlabel="strength",
            ylabel="item, first place on top",
            # Upside down: place 1 on top, where lists begin.
            ylim=(n + 0.8, 0.2),
        )
        if name is not None:
            ax.set_title(name, parse_math=False)
