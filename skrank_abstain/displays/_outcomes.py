"""Curves of several outcomes on one set of axes: colour and marker tell which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skrank_abstain.displays._drawing import (
    LINE_STYLES,
    MARKERS,
    PALETTE,
    colours_of,
    join_label,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: How markers of the first model are filled, of the second, and so on.
_FILLINGS = ("full", "none", "left", "top", "right")


def outcome_styles(
    ax: Axes, outcomes: tuple[str, ...], name: str | None
) -> list[dict[str, Any]]:
    """Return a style per outcome: the line style and the filling tell the model.

    Parameters
    ----------
    ax : Axes
        Models drawn before are counted on it.
    outcomes : tuple of str
        What each curve is about.
    name : str or None
        The model, for the legend.
    """
    model = colours_of(ax).count(PALETTE[0])
    return [
        {
            "color": PALETTE[k],
            "marker": MARKERS[k],
            "markersize": 5,
            "fillstyle": _FILLINGS[model % len(_FILLINGS)],
            "markerfacecoloralt": "white",
            "linestyle": LINE_STYLES[model % len(LINE_STYLES)],
            "label": outcome if name is None else join_label(name, outcome),
        }
        for k, outcome in enumerate(outcomes)
    ]
