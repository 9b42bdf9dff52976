"""A picture of the evidence, day by day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skrank_abstain._validation import FloatArray
from skrank_abstain.displays import Display, draw_curve, draw_reference
from skrank_abstain.monitor._monitor import Monitor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More days than this have no room for their names.
_MOST_NAMES = 20


@dataclass(kw_only=True, eq=False, repr=False)
class MonitorDisplay(Display):
    """Evidence of a monitor at the end of each day, and the line of the alarm.

    Make one with `from_monitor`. Curves never fall: each is the largest evidence so
    far. Above the line the alarm is raised.

    Parameters
    ----------
    days : list of str
        Names of the days.
    evidence : ndarray of shape (n_days, 2), float64
        Without labels, and of the audit.
    alarm : float
        Evidence from which on the alarm is raised: ``1 / delta``.
    name : str, default=None
        Title.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        Without labels, and, if anything was audited, of the audit.
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

    days: list[str]
    evidence: FloatArray
    alarm: float
    name: str | None = None

    @classmethod
    def from_monitor(
        cls,
        monitor: Monitor,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a monitor that has seen a day.

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
            If it has seen no day.
        """
        if not monitor.days:
            raise ValueError("monitor must have seen a day: call update first.")
        display = cls(
            days=[*monitor.days],
            evidence=np.array([*monitor.days.values()]),
            alarm=1 / monitor.delta,
            name=name,
        )
        return display.plot(ax, **kwargs)

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        day = np.arange(1, len(self.days) + 1)
        kinds = ["without labels"]
        if (self.evidence[:, 1] > 1).any():
            kinds.append("audit")
        self.lines_ = [
            draw_curve(self.ax_, day, self.evidence[:, k], {"label": kind}, kwargs)
            for k, kind in enumerate(kinds)
        ]
        ends = [day[0], max(day[-1], day[0] + 1)]
        draw_reference(self.ax_, ends, [self.alarm] * 2, "alarm")
        self.ax_.set(yscale="log", xlabel="day", ylabel="evidence of a change")
        if len(self.days) <= _MOST_NAMES:
            # The names are the user's: a dollar sign is no formula.
            self.ax_.set_xticks(
                day, self.days, rotation=45, ha="right", parse_math=False
            )
        if name is not None:
            self.ax_.set_title(name, parse_math=False)
