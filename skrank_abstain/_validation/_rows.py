"""Rows of X, and of what stands beside it."""

from __future__ import annotations

from typing import Any


def refuse_lazy(values: Any, name: str) -> None:
    """Refuse what is a query for rows: numpy would read it as a single object."""
    if hasattr(values, "collect"):
        raise TypeError(
            f"{name} must hold its rows, got a {type(values).__name__}, which is a "
            f"query for them: pass {name}.collect()."
        )


def check_row_order(X: Any, **others: Any) -> None:
    """Refuse pandas objects whose index has the labels of X's in another order.

    Rows are taken by position. Where labels are others altogether, nothing tells which
    row is which, and positions are all there is.

    Parameters
    ----------
    X : object
        What the user passed.
    **others : object
        What the user passed beside it, by the name of the parameter.

    Raises
    ------
    ValueError
        If labels and positions do not agree.
    """
    if not hasattr(X, "iloc"):
        return
    for name, other in others.items():
        if (
            hasattr(other, "iloc")
            and len(other) == len(X)
            and not other.index.equals(X.index)
            and other.index.nlevels == X.index.nlevels
            and other.index.symmetric_difference(X.index, sort=False).empty
        ):
            raise ValueError(
                f"{name} must have its rows in the order of X, got the labels of X's "
                f"index in another order. Pass {name}.loc[X.index], or "
                f"{name}.to_numpy() where the positions are right."
            )
