"""The base of the displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from skrank_abstain.displays._drawing import put_legend, require_pyplot, take_axes
from skrank_abstain.metrics import find_ranker

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Display:
    """A picture and the numbers behind it: subclasses are dataclasses that draw.

    ``from_estimator`` and ``from_predictions`` compute the numbers, construct the
    display and call ``plot``.
    """

    #: Method that the ranker of ``from_estimator`` must have.
    needs: ClassVar[str] = "risk_profile"

    legend_columns: ClassVar[int] = 1

    name: str | None

    @classmethod
    def open_ranker(cls, estimator: Any, X: Any) -> tuple[Any, Any]:
        """Return the ranker inside an estimator and its X, or say what to do instead.

        First thing in ``from_estimator``: a missing matplotlib shows at once.
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        remedy = ""
        if hasattr(cls, "from_predictions"):
            remedy = f"Pass its pairs to {cls.__name__}.from_predictions instead."
        return find_ranker(estimator, X, cls.needs, remedy=remedy)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure by default. The legend stands below the
            axes: make the figure with ``layout="constrained"`` to leave room for it.
        name : str, default=None
            Name in the legend, or title, instead of ``self.name``.
        **kwargs
            Options of the picture, as in ``from_estimator``. Others style the curves,
            as in ``matplotlib.axes.Axes.plot``, or the bars, as in ``hlines``.
        """
        size = (5, self._height())
        self.ax_, self.figure_ = take_axes(f"{type(self).__name__}.plot", ax, size)
        self._draw(self.name if name is None else name, **kwargs)
        put_legend(self.ax_, self.legend_columns)
        return self

    def _height(self) -> float:
        """Return the height of a new figure in inches."""
        return 4.6

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        """Draw on ``self.ax_``, and keep the artists."""
        raise NotImplementedError
