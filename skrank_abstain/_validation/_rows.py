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


def names_of_columns(X: Any) -> list[Any] | None:
    """Return the names of the columns of a frame; None where there are none."""
    # The columns of a pyarrow Table are the data.
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return None if names is None else list(names)


def check_row_order(X: Any, **others: Any) -> None:
    """Refuse what stands for other rows than those of X, as far as that can be seen.

    Refused are pandas objects whose index has the labels of X's in another order, and
    the name of a column of X as ``qid``, which would be one query of all rows. Rows
    are taken by position. Where labels are others altogether, nothing tells which
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
        If labels and positions do not agree, or ``qid`` is the name of a column.
    """
    qid = others.get("qid")
    if isinstance(qid, str) and qid in (names_of_columns(X) or ()):
        raise ValueError(
            f"qid must be one value per row, got {qid!r}, the name of a column of X: "
            f"pass X[{qid!r}] without that column in X, or qid_col={qid!r} to a ranker "
            "that has it."
        )
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
