"""Columns of one length as frames, as plain Python values, and as HTML."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import check_choice
from skrank_abstain._warnings import require

Columns = Mapping[str, NDArray[Any]]

#: Rows that are turned into Python values at a time.
_ROWS = 1 << 12
#: Rows that a notebook shows.
SHOWN = 10
#: What follows a date that is a whole day.
_MIDNIGHT = re.compile(r"(?<=-\d\d)[ T]00:00:00(\.0+)?$")


class Table:
    """Base of classes that hold columns of one length."""

    def _columns(self) -> Columns:
        """Return the columns by name: by default all attributes."""
        return vars(self)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame, with a row for each entry.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default="pandas"
            Library that makes the frame.

        Returns
        -------
        frame : DataFrame

        Raises
        ------
        ImportError
            If the library is not installed.
        """
        check_choice(backend, "backend", ("pandas", "polars"))
        columns, what = {**self._columns()}, f"to_frame(backend={backend!r})"
        library = require(backend, what, f"skrank-abstain[{backend}]")
        for name, column in columns.items():
            if backend == "polars" and _is_mixed(column):
                columns[name] = library.Series(name, column.tolist(), library.Object)
        return library.DataFrame(columns)

    def to_dicts(self, columns: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Return a dict for each entry, ready for ``json.dumps``.

        Parameters
        ----------
        columns : iterable of str, default=None
            Columns to keep, for a smaller JSON; None: all.

        Returns
        -------
        rows : list of dict
            Python values by column. A number that is not finite becomes None, an
            identifier of a type that JSON lacks its text.
        """
        known = self._columns()
        kept = [*(known if columns is None else columns)]
        for name in kept:
            check_choice(name, "columns", tuple(known))
        rows = zip(*(_plain_values(known[name]) for name in kept), strict=True)
        return [dict(zip(kept, row, strict=True)) for row in rows]

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook."""
        columns = self._columns()
        n_rows = max(map(len, columns.values()), default=0)
        first = {name: column[:SHOWN] for name, column in columns.items()}
        return html_of_rows(repr(self), first, max(n_rows - SHOWN, 0))


def _is_mixed(column: NDArray[Any]) -> bool:
    """Whether a column holds objects other than text, which polars cannot type."""
    objects = column.dtype == object
    return objects and not all(isinstance(value, str) for value in column)


def python_rows(
    columns: Iterable[NDArray[Any] | None], n_rows: int
) -> Iterator[tuple[Any, ...]]:
    """Yield rows as tuples of Python values; a missing column gives None.

    Parameters
    ----------
    columns : iterable of ndarray of shape (n_rows,), or None
    n_rows : int

    Yields
    ------
    row : tuple
    """
    columns = list(columns)
    for start in range(0, n_rows, _ROWS):
        rows = range(start, min(start + _ROWS, n_rows))
        yield from zip(*(_values(column, rows) for column in columns), strict=True)


def _values(column: NDArray[Any] | None, rows: range) -> list[Any]:
    if column is None:
        return [None] * len(rows)
    part = column[rows.start : rows.stop]
    # tolist() turns nanosecond dates into bare integers.
    return list(part) if part.dtype.kind in "mM" else part.tolist()


def _plain_values(column: NDArray[Any]) -> list[Any]:
    kind, values = column.dtype.kind, column.tolist()
    finite = kind in "biuU" or (kind == "f" and np.isfinite(column).all())
    if finite or {*map(type, values)} == {str}:
        return list(values)
    return [plain(value) for value in column]


def plain(value: Any) -> Any:
    """Return a value that JSON can hold: None for a number that is not finite.

    Parameters
    ----------
    value : object
        Tuples become lists; a type that JSON lacks becomes its text, a day without
        its 0:00.

    Returns
    -------
    value : None, bool, int, float, str or list
    """
    if isinstance(value, np.generic):
        value = value.item() if value.dtype.kind not in "mM" else _text_of(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return _text_of(value)


def _text_of(value: Any) -> str:
    return _MIDNIGHT.sub("", str(value))


def html_of_rows(heading: str, columns: Mapping[str, Any], more: int) -> str:
    """Return a notebook's view of many rows: a line, the first rows, how many more.

    Parameters
    ----------
    heading : str
    columns : dict of ndarray or list of length n_shown
        The first rows, by header. Arrays of floats are rounded; a number that is not
        finite stays empty.
    more : int
        Rows that are not shown.

    Returns
    -------
    html : str
        Without colours, so that it fits light and dark notebooks.
    """
    texts = [
        [f"{value:.4g}" if math.isfinite(value) else "" for value in column]
        if getattr(column, "dtype", str) == np.float64
        else [str(plain(value)) for value in column]
        for column in columns.values()
    ]
    rows = list(zip(*texts, strict=True))
    table = [html_table(list(columns), rows)] if rows else []
    rest = [f"<p>... {more} more</p>"] if more else []
    return "\n".join([f"<p>{escape(heading)}</p>", *table, *rest])


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table of texts; the first cell of a row is its header."""
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f"<table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )
