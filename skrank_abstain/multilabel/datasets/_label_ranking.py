"""Label-ranking tables: features and an order of labels.

A row of the file is one sample, ``0.5,red,...,b>a>c``, in which the label b is best.
"""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.multilabel.datasets._text import at_line, parse_number, read_lines

#: Name of the column that holds the rankings.
RANKING = "ranking"


def load_label_ranking(path: str | os.PathLike[str]) -> Bunch:
    r"""Load a table of features and rankings of labels.

    Parameters
    ----------
    path : str or path-like
        A text file of comma-separated values with a header. One column is called
        ``ranking`` and holds all labels, best first, with ``>`` between them.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`

        data : ndarray of shape (n_samples, n_features), float64
            Features in file order. A column of texts holds the position of each text
            among the sorted ones of the column.
        target : ndarray of shape (n_samples, n_labels), int64
            Relevance, higher is better: ``n_labels - 1`` for the first label of the
            ranking, 0 for the last.
        feature_names : list of str
            Names of the columns of ``data``.
        target_names : list of str
            Names of the columns of ``target``: the labels, sorted.
        categories : dict of str to list of str
            The texts of each column that holds texts, by its name, in the order of
            their codes.
        filename : str
            The file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the header or a row is broken (the message has the file, the number of the
        line and what is wrong with it): a row of another length, a column that mixes
        numbers and texts, a number that is not finite, an empty field, or a ranking
        that does not hold each label once. Partial rankings and ties are not read.

    Notes
    -----
    The format of the label-ranking collection that goes back to [1]_. Codes of texts
    carry no order; ``categories`` says which columns to encode further, by
    :class:`sklearn.preprocessing.OneHotEncoder` for instance. ``target`` is what the
    multilabel losses take as ``y_true``. Time and memory
    are linear in the size of the file.

    References
    ----------
    .. [1] Cheng, Hühn and Hüllermeier (2009). "Decision Tree and Instance-Based
       Learning for Label Ranking". ICML 2009. doi:10.1145/1553374.1553395.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skrank_abstain.multilabel import load_label_ranking
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "meals.txt")
    ...     _ = path.write_text("age,town,ranking\n30,Oslo,b>a>c\n41,Bern,c>b>a\n")
    ...     meals = load_label_ranking(path)
    >>> meals.data
    array([[30.,  1.],
           [41.,  0.]])
    >>> meals.categories
    {'town': ['Bern', 'Oslo']}
    >>> meals.target, meals.target_names
    (array([[1, 2, 0],
           [0, 1, 2]]), ['a', 'b', 'c'])
    """
    file = Path(path)
    rows = _rows(file, read_lines(file))
    first, header = rows.pop(0)
    if RANKING not in header or len(set(header)) != len(header):
        raise ValueError(
            f"{file}, line {first}: the header must name each column once, one of them "
            f"'{RANKING}', got {header}."
        )
    if not rows:
        raise ValueError(f"path must hold at least one sample, got none in '{file}'.")
    columns = dict(
        zip(header, zip(*(row for _, row in rows), strict=True), strict=True)
    )
    numbers = [number for number, _ in rows]
    target, labels = _relevance(file, numbers, columns.pop(RANKING))
    categories: dict[str, list[str]] = {}
    data = np.empty((len(rows), len(columns)))
    for position, (name, texts) in enumerate(columns.items()):
        data[:, position], known = _codes(file, numbers, name, texts)
        if known:
            categories[name] = known
    return Bunch(
        data=data,
        target=target,
        feature_names=list(columns),
        target_names=labels,
        categories=categories,
        filename=str(file),
    )


def _rows(file: Path, lines: list[str]) -> list[tuple[int, list[str]]]:
    """Return the fields of each line that is not blank, with its number."""
    # Strict, since a stray quote would swallow the lines after it.
    reader = csv.reader(lines, strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        for fields in reader:
            stripped = [field.strip() for field in fields]
            if any(stripped):
                rows.append((reader.line_num, stripped))
    except csv.Error as error:
        raise ValueError(f"{file}, line {reader.line_num}: {error}.") from error
    if not rows:
        raise ValueError(f"path must hold a header and samples, got none in '{file}'.")
    n_columns = len(rows[0][1])
    for number, fields in rows:
        if len(fields) != n_columns:
            raise ValueError(
                f"{file}, line {number}: a row must have as many fields as the header, "
                f"{n_columns}, got {len(fields)}."
            )
    return rows


def _relevance(
    file: Path, numbers: list[int], rankings: tuple[str, ...]
) -> tuple[IntArray, list[str]]:
    """Return the relevance of each label, and the labels in the order of columns."""
    orders = [[label.strip() for label in text.split(">")] for text in rankings]
    # Every row must rank the labels of the first one.
    labels = sorted(set(orders[0]))
    target = np.empty((len(orders), len(labels)), dtype=np.int64)
    for row, order in enumerate(orders):
        if sorted(order) != labels or not all(order):
            raise ValueError(
                f"{file}, line {numbers[row]}: the ranking must hold each of "
                f"{', '.join(labels)} once, with '>' between them, got "
                f"'{rankings[row]}'."
            )
        target[row] = [len(labels) - 1 - order.index(label) for label in labels]
    return target, labels


def _codes(
    file: Path, numbers: list[int], name: str, texts: tuple[str, ...]
) -> tuple[FloatArray, list[str]]:
    """Return numbers and no category, or codes of texts and the texts."""
    values = [parse_number(text) for text in texts]
    # The first value decides whether the column holds numbers or texts.
    holds_texts = values[0] is None
    for number, text, value in zip(numbers, texts, values, strict=True):
        with at_line(file, number):
            if not text:
                raise ValueError(f"the column '{name}' is empty.")
            if value is not None and not math.isfinite(value):
                raise ValueError(
                    f"the column '{name}' must hold finite numbers, got '{text}'."
                )
            if (value is None) != holds_texts:
                raise ValueError(
                    f"the column '{name}' must hold "
                    f"{'a text' if holds_texts else 'a number'} as on line "
                    f"{numbers[0]}, got '{text}'."
                )
    if not holds_texts:
        return np.array(values, dtype=np.float64), []
    known, codes = np.unique(np.array(texts, dtype=object), return_inverse=True)
    return codes.astype(np.float64), known.tolist()
