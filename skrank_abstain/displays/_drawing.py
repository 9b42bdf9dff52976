"""What the displays share: axes, styles that stay apart without colour, legends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skrank_abstain._validation import FloatArray, IntArray, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

#: Colours of Okabe and Ito (2008), "Color Universal Design", told apart by readers
#: with any common colour vision. Grey is for references; it stands out from white as
#: much as from black, whatever style the reader of a figure draws in.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
GREY = "#767676"
LINE_STYLES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v")

#: How the markers of the first model on a set of axes are filled, of the second, ...
_FILLINGS = ("full", "none", "left", "top", "right")

#: A line of more points looks the same and only makes files large.
_MOST_POINTS = 2000


def require_pyplot(caller: str) -> Any:
    """Return ``matplotlib.pyplot``, or say which extra brings it."""
    try:
        # Here, not above: the package works without it. Displays ask before they
        # compute anything, so that its absence shows at once.
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} requires matplotlib; install skrank-abstain[plot]."
        ) from error
    return plt


def take_axes(
    caller: str, ax: Axes | None, size: tuple[float, float]
) -> tuple[Axes, Figure | SubFigure]:
    """Return the axes to draw on and their figure, new ones of ``size`` inches."""
    plt = require_pyplot(caller)
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    from matplotlib.axes import Axes

    # The array of axes that plt.subplots(1, 2) returns would fail later and less
    # plainly.
    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be one matplotlib Axes or None, got {shown(ax)}.")
    return ax, ax.figure


def next_style(ax: Axes) -> dict[str, Any]:
    """Return colour, line style and marker that no line of the axes has."""
    # Read off the axes, so that displays need not know of each other, and lines that
    # the user drew count too.
    used = colours_of(ax)
    free = [k for k, colour in enumerate(PALETTE) if colour not in used]
    k = free[0] if free else len(ax.lines) % len(PALETTE)
    return {"color": PALETTE[k], "linestyle": LINE_STYLES[k], "marker": MARKERS[k]}


def outcome_styles(
    ax: Axes, outcomes: tuple[str, ...], name: str | None
) -> list[dict[str, Any]]:
    """Return a style per outcome: the line style and the filling tell the model.

    Parameters
    ----------
    ax : Axes
        Its curves tell how many models were drawn on it before.
    outcomes : tuple of str
        What each curve is about.
    name : str or None
        The model, for the legend.
    """
    # Each model has one curve in the first colour.
    model = colours_of(ax).count(PALETTE[0])
    return [
        {
            "color": PALETTE[k],
            "marker": MARKERS[k],
            "markersize": 5,
            "fillstyle": _FILLINGS[model % len(_FILLINGS)],
            "markerfacecoloralt": ax.get_facecolor(),
            "linestyle": LINE_STYLES[model % len(LINE_STYLES)],
            "label": outcome if name is None else join_label(name, outcome),
        }
        for k, outcome in enumerate(outcomes)
    ]


def style_of_line(style: dict[str, Any], chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the style of a line, what the caller chose going first."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    # Short names, such as c for color, become long ones.
    return {**style, **normalize_kwargs(chosen, Line2D)}


def colours_of(ax: Axes) -> list[str]:
    """Return the colour of each line of the axes, in capital letters."""
    from matplotlib.colors import to_hex

    return [to_hex(line.get_color()).upper() for line in ax.lines]


def draw_reference(ax: Axes, x: Any, y: Any, label: str, linestyle: str) -> Any:
    """Draw a grey line; the legend names it once, however many models it serves."""
    named = any(line.get_label() == label for line in ax.lines)
    return ax.plot(
        x,
        y,
        color=GREY,
        linestyle=linestyle,
        linewidth=1.0,
        label="_nolegend_" if named else label,
        zorder=1,
    )[0]


def is_reference(artist: Any) -> bool:
    """Return whether an artist is one of the grey lines, which belong to no model."""
    from matplotlib.lines import Line2D

    return isinstance(artist, Line2D) and artist.get_color() == GREY


def put_legend(ax: Axes, *, columns: int = 1) -> None:
    """Put the legend below the axes, where it covers no data."""
    from matplotlib.transforms import ScaledTranslation

    entries = list(zip(*ax.get_legend_handles_labels(), strict=True))
    if not entries:
        return
    # References, which are grey lines, come last.
    entries.sort(key=lambda entry: is_reference(entry[0]))
    # Room for the tick labels and the label of the axis, which do not grow with it.
    lines = 1 + ax.get_xlabel().count("\n")
    room = (2.9 + 1.3 * lines) * float(ax.xaxis.label.get_fontsize()) / 72
    below = ax.transAxes + ScaledTranslation(0, -room, ax.figure.dpi_scale_trans)
    ax.legend(
        *zip(*entries, strict=True),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=below,
        borderaxespad=0.0,
        frameon=False,
        ncols=columns,
    )


def join_label(name: str | None, fact: str = "") -> str:
    """Return the text of a legend entry: ``name (fact)``, or what there is of it."""
    if name is None:
        return fact or "_nolegend_"
    return f"{name} ({fact})" if fact else name


def thin(coverage: FloatArray) -> IntArray:
    """Return the points of a curve to draw: evenly spread, the last one included."""
    if coverage.size <= _MOST_POINTS:
        return np.arange(coverage.size)
    # Evenly along the axis: thresholds are dense where many pairs have nearly the same
    # risk.
    grid = np.linspace(coverage[0], coverage[-1], _MOST_POINTS)
    return np.unique(np.searchsorted(coverage, grid).clip(max=coverage.size - 1))
