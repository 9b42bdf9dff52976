"""The pictures of a report: small, and drawn from numbers that the page has anyway.

Each function draws on an empty figure. For pictures of one's own, to compare models or
to choose options, there are the displays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from skrank_abstain._validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008), "Color Universal Design"; line styles differ as well.
_BLUE, _RED, _GREY = "#0072B2", "#D55E00", "#555555"
_LONGEST_NAME = 32


def draw_curve(
    figure: Figure,
    *,
    coverage: FloatArray,
    loss: FloatArray,
    interval: FloatArray,
    predicted: FloatArray,
    threshold: tuple[float, float],
    what: str,
) -> None:
    """Draw the loss per decided pair at every coverage; ``interval`` is (n, 2)."""
    ax = figure.add_subplot()
    low, high = interval.T
    ax.fill_between(coverage, low, high, color=_BLUE, alpha=0.2, lw=0, label="95 %")
    ax.plot(coverage, loss, color=_BLUE, label="observed")
    ax.plot(coverage, predicted, color=_GREY, ls="--", label="predicted")
    if np.isfinite(threshold).all():
        ax.axvline(threshold[0], color=_RED, ls=":", zorder=0)
        ax.plot(*threshold, "o", color=_RED, label="this threshold")
    ax.set(xlabel="coverage: share of pairs decided", ylabel=what, xlim=(0, 1.02))
    ax.set_ylim(bottom=0)
    _put_legend(ax)


def draw_reliability(
    figure: Figure, *, predicted: FloatArray, observed: FloatArray, interval: FloatArray
) -> None:
    """Draw the observed against the predicted loss of pairs of similar risk."""
    ax = figure.add_subplot()
    top = max(predicted.max(), observed.max(), np.nanmax(interval, initial=0)) * 1.05
    top = top or 1.0
    ax.plot([0, top], [0, top], color=_GREY, ls=":", label="as predicted")
    error = np.abs(interval.T - observed)
    ax.errorbar(
        predicted, observed, error, fmt="o", color=_BLUE, capsize=2, label="observed"
    )
    ax.set(xlabel="predicted loss (mean risk)", ylabel="observed loss (mean)")
    ax.set(xlim=(0, top), ylim=(0, top))
    _put_legend(ax)


def draw_groups(
    figure: Figure,
    *,
    names: Sequence[str],
    panels: dict[str, tuple[FloatArray, float]],
) -> None:
    """Draw shares by group, side by side.

    Parameters
    ----------
    figure : Figure
    names : sequence of str
    panels : dict
        By what the axis says: an array (n_groups, 3) of values and the ends of their
        intervals, and the value over all.
    """
    place = np.arange(len(names))
    for k, (what, (shares, over_all)) in enumerate(panels.items()):
        ax = figure.add_subplot(1, len(panels), k + 1)
        value, low, high = shares.T
        ax.axvline(over_all, color=_GREY, ls=":", label="all")
        ax.errorbar(
            value,
            place,
            xerr=[value - low, high - value],
            fmt="o",
            color=_BLUE,
            capsize=2,
            label="group, 95 %",
        )
        short = [n if len(n) <= _LONGEST_NAME else f"{n[:31]}…" for n in names]
        # The names are the user's: a dollar sign is no formula.
        ax.set_yticks(place, short if k == 0 else [""] * len(short), parse_math=False)
        ax.set(xlabel=what, xlim=(-0.02, 1.02), ylim=(len(names) - 0.5, -0.5))
        ax.grid(axis="y", color=_GREY, alpha=0.2)
        _put_legend(ax)


def draw_risks(
    figure: Figure,
    *,
    edges: FloatArray,
    shares: list[FloatArray],
    threshold: float,
) -> None:
    """Draw shares of pairs by their risk, here and, if they are known, before."""
    ax = figure.add_subplot()
    here, *known = shares
    ax.stairs(here, edges, fill=True, color=_BLUE, alpha=0.4, label="these pairs")
    for before in known:
        ax.stairs(before, edges, color=_GREY, ls="--", label="calibration pairs")
    if edges[0] <= threshold <= edges[-1]:
        ax.axvline(threshold, color=_RED, ls=":", label="threshold (decided: left)")
    ax.set(xlabel="conditional risk of a pair", ylabel="share of pairs")
    _put_legend(ax)


def _put_legend(ax: Axes) -> None:
    # Above the axes, where it covers no data.
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.2,
        frameon=False,
        ncols=4,
        fontsize="small",
        handlelength=1.5,
        columnspacing=1.2,
    )
    ax.spines[["top", "right"]].set_visible(False)
