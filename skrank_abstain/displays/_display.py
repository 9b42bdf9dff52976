"""The base of the displays: how they read a ranker, and how they all draw."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import check_labels, shown
from skrank_abstain._warnings import require
from skrank_abstain.intake import take_columns
from skrank_abstain.metrics import find_ranker
from skrank_abstain.pairs import Queries, Table, group_queries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours of Okabe and Ito (2008), "Color Universal Design", told apart with any common
#: colour vision, and a brown. References are grey, equally far from white and black.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C510A")
GREY = "#767676"
# Seven colours and eight styles have no common factor: 56 curves differ, the first
# seven in both.
_LONG = ((0, (9, 3)), (0, (3, 1, 1, 3)), (0, (1, 4)))
LINE_STYLES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), *_LONG)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")

#: Fillings of the markers of the first model on some axes, of the second, ...
_FILLINGS = ("full", "none", "left", "top", "right")
#: The error of data without a pair.
NO_PAIRS = "qid must leave a query with two items: there are no pairs to draw."


def require_pyplot(what: str) -> Any:
    """Return ``matplotlib.pyplot``, or say which extra brings it."""
    return require("matplotlib.pyplot", what, "skrank-abstain[plot]")


def draw_curve(
    ax: Axes,
    x: Any,
    y: Any,
    style: dict[str, Any],
    chosen: dict[str, Any],
    quantity: str | None = None,
) -> Any:
    """Draw one line in a colour, line style and marker that no line of the axes has.

    The ``style`` of the display replaces these; the user's ``chosen`` style replaces
    both. Raise ValueError if the axes have a curve of another ``quantity``.
    """
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    before = {getattr(each, "quantity", quantity) for each in ax.lines} - {quantity}
    if before:
        raise ValueError(
            f"ax must hold curves of one quantity, got {quantity!r} after "
            f"{before.pop()!r}: draw it on axes of its own."
        )
    # The axes know the colours that other displays or the user have drawn in.
    used = _colours(ax)
    free = [k for k, colour in enumerate(PALETTE) if colour not in used]
    k = free[0] if free else sum(colour in PALETTE for colour in used)
    names = {"color": PALETTE, "linestyle": LINE_STYLES, "marker": MARKERS}
    default = {name: values[k % len(values)] for name, values in names.items()}
    # `normalize_kwargs` turns short names, such as c, into long ones.
    options = {**default, **style, **normalize_kwargs(chosen, Line2D)}
    line: Any = ax.plot(x, y, **options)[0]
    if quantity is not None:
        line.quantity = quantity
    return line


def draw_intervals(line: Any, interval: FloatArray) -> Any:
    """Draw an interval, (n_points, 2), at each point of a line, in its colour."""
    x, y = line.get_data()
    # Lengths down and up, as matplotlib takes them.
    lengths, colour = np.abs(interval.T - y), line.get_color()
    return line.axes.errorbar(
        x, y, yerr=lengths, fmt="none", ecolor=colour, elinewidth=1, capsize=2
    )


def draw_reference(ax: Axes, x: Any, y: Any, label: str, linestyle: str = ":") -> Any:
    """Draw a grey line, which the legend names once for all models."""
    if any(line.get_label() == label for line in ax.lines):
        label = "_nolegend_"
    style: Any = {"color": GREY, "linestyle": linestyle, "linewidth": 1.0}
    return ax.plot(x, y, label=label, zorder=1, **style)[0]


def put_legend(ax: Axes, columns: int) -> None:
    """Put the legend below the axes, where it covers no data."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    entries = list(zip(*ax.get_legend_handles_labels(), strict=True))
    if not entries:
        return
    # References, the grey lines, come last.
    entries.sort(
        key=lambda entry: isinstance(entry[0], Line2D) and entry[0].get_color() == GREY
    )
    look: Any = {"borderaxespad": 0.0, "frameon": False}
    facts = [line.fact for line, _ in entries if hasattr(line, "fact")]
    if len(facts) > 1 == len({*facts}):  # of all curves: once
        look["title"], shared = facts[0], f" ({facts[0]})"
        entries = [(line, label.replace(shared, "")) for line, label in entries]
    if len(entries) > 4 and columns == 1:  # many rows would leave the axes little room
        look["fontsize"] = "small"
        letters = 9.5 * ax.get_window_extent().width / ax.figure.dpi - 7
        columns += max(len(label) for _, label in entries) <= letters
    # Leave room for the tick labels and the label of the axis.
    size = float(ax.xaxis.label.get_fontsize()) / 72
    room = (4.2 + 1.3 * ax.get_xlabel().count("\n")) * size
    if ticks := ax.get_xticklabels():  # may be long rotated names
        ends = [tick.get_window_extent().height for tick in ticks]
        room += max(0.0, max(ends) / ax.figure.dpi - size)
    below = ax.transAxes + ScaledTranslation(0, -room, ax.figure.dpi_scale_trans)
    place: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
    place |= {"bbox_transform": below, "ncols": columns}
    ax.legend(*zip(*entries, strict=True), **place, **look)


def one_line(name: Any) -> str:
    """Return a name, or names of two groups, as a line."""
    names = name if isinstance(name, tuple) else [name]
    return ", ".join(" ".join(str(each).split()) for each in names)


def join_label(name: str | None, fact: str = "") -> str:
    """Return a legend entry, ``name (fact)`` or one of the two alone."""
    if name is None:
        return fact or "_nolegend_"
    name = name.replace("$", r"\$")  # a name is no formula
    return f"{name} ({fact})" if fact else name


def _colours(ax: Axes) -> list[str]:
    """Return the colour of each line of the axes, in capital letters."""
    from matplotlib.colors import to_hex

    return [to_hex(line.get_color()).upper() for line in ax.lines]


@dataclass(kw_only=True, eq=False, repr=False)
class Display(Table):
    """A picture and its numbers, as a dataclass.

    ``from_estimator`` and ``from_predictions`` compute the numbers, construct the
    display and call ``plot``. ``to_frame`` has a row for each point of the curves.
    """

    #: Method that the ranker of ``from_estimator`` must have.
    needs: ClassVar[str] = "risk_profile"

    legend_columns: ClassVar[int] = 1

    #: Names of what stands along the first axis of an array: one curve for each.
    outcomes: ClassVar[tuple[str, ...]] = ()

    #: Names of the two columns of an array, such as the ends of an interval.
    ends: ClassVar[tuple[str, str]] = ("low", "high")

    name: str | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    @classmethod
    def open_ranker(
        cls, estimator: Any, X: Any, y: Any, qid: Any, needs: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Return the ranker inside an estimator and its data, or raise with a remedy.

        Fails at once without matplotlib.
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        remedy = ""
        if hasattr(cls, "from_predictions"):
            remedy = f"Pass its pairs to {cls.__name__}.from_predictions instead."
        needs = needs or cls.needs
        return find_ranker(estimator, X, y, qid, needs, remedy=remedy)

    def _columns(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the display as columns, with the rows of the first.

        An array with rows of its own stays an attribute alone; so does a band.
        """
        columns: dict[str, NDArray[Any]] = {}
        for name in (field.name for field in fields(self) if field.name != "band"):
            values = getattr(self, name)
            if isinstance(values, Table):
                columns |= values._columns()
            elif isinstance(values, np.ndarray | list):
                columns |= _split(name, np.asarray(values), self.outcomes, self.ends)
        n_rows = len(next(iter(columns.values())))
        return {name: each for name, each in columns.items() if len(each) == n_rows}

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure by default. The legend is below the axes: a
            figure without a layout of its own gets ``layout="constrained"``, which
            leaves room for it.
        name : str, default=None
            Name in the legend, or title, instead of ``self.name``.
        **kwargs
            Options of the picture, as in ``from_estimator``. Others style the curves,
            as in ``matplotlib.axes.Axes.plot``, or the bars, as in ``hlines``.
        """
        plt = require_pyplot(f"{type(self).__name__}.plot")
        if ax is None:
            _, ax = plt.subplots(figsize=(5, self._height()), layout="constrained")
        # plt.subplots(1, 2) returns an array of axes, a likely mistake.
        if not isinstance(ax, plt.Axes):
            raise TypeError(f"ax must be one matplotlib Axes or None, got {shown(ax)}.")
        self.ax_, self.figure_ = ax, ax.figure
        if ax.figure.get_layout_engine() is None:
            # A subfigure has no layout of its own.
            ax.figure.figure.set_layout_engine("constrained")
        self._draw(self.name if name is None else name, **kwargs)
        put_legend(self.ax_, self.legend_columns)
        return self

    def _draw_outcomes(
        self, x: Any, y: FloatArray, name: str | None, chosen: dict[str, Any]
    ) -> list[Any]:
        """Draw a curve per outcome; ``x`` and ``y`` are (n_outcomes, n_points).

        Models on the same axes differ in line style and in the filling of their
        markers.
        """
        # Each earlier model has one curve in the first colour.
        model = _colours(self.ax_).count(PALETTE[0])
        shared = {
            "markersize": 5,
            "fillstyle": _FILLINGS[model % len(_FILLINGS)],
            "markerfacecoloralt": self.ax_.get_facecolor(),
            "linestyle": LINE_STYLES[model % len(LINE_STYLES)],
        }
        lines = []
        for k, outcome in enumerate(self.outcomes):
            label = outcome if name is None else join_label(name, outcome)
            own = {"color": PALETTE[k], "marker": MARKERS[k], "label": label}
            lines.append(draw_curve(self.ax_, x[k], y[k], {**shared, **own}, chosen))
        return lines

    def _draw_diagonal(self, label: str) -> Any:
        """Draw a reference from 0 to 1, with room for markers at its ends."""
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        return draw_reference(self.ax_, [0, 1], [0, 1], label)

    def _height(self) -> float:
        """Return the height of a new figure in inches."""
        return 4.6

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        """Draw on ``self.ax_``, and keep the artists."""
        raise NotImplementedError


def _split(
    name: str, values: NDArray[Any], outcomes: tuple[str, ...], ends: tuple[str, str]
) -> dict[str, NDArray[Any]]:
    """Return an array as columns: by outcome, the first axis, and by end, the last."""
    if values.ndim == 1:
        return {name: values}
    keys, parts = (outcomes, values) if outcomes else (ends, values.T)
    pieces = (
        _split(f"{name}_{key}", part, (), ends)
        for key, part in zip(keys, parts, strict=True)
    )
    return {key: column for piece in pieces for key, column in piece.items()}


def check_truth(y_true: ArrayLike) -> IntArray:
    """Return the true labels of pairs, at least one."""
    truth = check_labels(y_true, "y_true")
    if truth.size == 0:
        raise ValueError("y_true must hold at least one pair, got none.")
    return truth


def totals_at(
    ranker: Any, X: Any, y: Any, qid: Any, coverages: FloatArray, **options: Any
) -> list[Any]:
    """Return totals at each coverage; the pairs are the same at all of them."""
    points = ranker.operating_points(X, y, qid=qid, coverages=coverages, **options)
    totals = [point.totals for point in points]
    if not totals[0].pairs.any():
        raise ValueError(NO_PAIRS)
    return totals


def levels_of(values: FloatArray, shares: FloatArray) -> tuple[IntArray, int]:
    """Return how many quantiles are below each value, and the number of quantiles.

    Equal values, and values between two quantiles, are on one level.
    """
    quantiles = np.unique(np.quantile(values, shares, method="inverted_cdf"))
    return np.searchsorted(quantiles, values), quantiles.size


def sums_of(columns: FloatArray, code: IntArray, size: int = 0) -> FloatArray:
    """Return the sum of each column by code, shape (n_columns, n_codes)."""
    return np.array([np.bincount(code, column, size) for column in columns.T])


def rows_by_query(ranker: Any, X: Any, qid: Any) -> Queries:
    """Return the query of each row, from ``qid`` or from the ranker's column of X."""
    column = getattr(ranker, "qid_col", None)
    if qid is None and column is not None:
        # X still holds the column of queries.
        rows = X if hasattr(X, "shape") else np.asarray(X)
        _, (qid,) = take_columns(rows, qid_col=column)
    return group_queries(qid, _num_samples(X))
