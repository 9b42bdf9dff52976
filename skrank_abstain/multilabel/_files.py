"""Reader of published label rankings.

A table has a row per sample, ``0.5,red,...,b>a>c``, in which the label b is best.
"""

import csv
import os
import re
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain.datasets import existing_file, read_lines
from skrank_abstain.pairs import as_number

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
        line and the fault): a row of another length, a column that mixes
        numbers and texts, an empty field, or a ranking that does not hold each label
        once. Partial rankings and ties are not read.

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
    file = existing_file(path, "path")
    try:
        # With or without a byte-order mark.
        text = b"".join(read_lines(file)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} must be encoded in UTF-8: {error}.") from error
    rows: dict[int, list[str]] = {}
    for number, line in enumerate(re.split("\r\n?|\n", text), start=1):
        if line.strip():
            try:
                # Strict, since a stray quote would swallow the commas after it.
                (fields,) = csv.reader([line], strict=True)
            except csv.Error as error:
                raise ValueError(f"{file}, line {number}: {error}") from error
            rows[number] = [field.strip() for field in fields]
    header, *samples = rows.values() or [[]]
    if RANKING not in header or len(set(header)) != len(header) or not samples:
        raise ValueError(
            f"{file}: there must be a header that names each column once, one of them "
            f"'{RANKING}', and samples, got {header} and {len(samples)} samples."
        )
    numbers = list(rows)[1:]
    for number, fields in zip(numbers, samples, strict=True):
        if len(fields) != len(header) or "" in fields:
            raise ValueError(
                f"{file}, line {number}: a row must have a value for each of "
                f"{len(header)} columns, got {fields}."
            )
    columns = dict(zip(header, zip(*samples, strict=True), strict=True))
    target, labels = _relevance(file, numbers, columns.pop(RANKING))
    categories: dict[str, list[str]] = {}
    data = np.empty((len(samples), len(columns)))
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


def _relevance(
    file: Path, numbers: list[int], rankings: tuple[str, ...]
) -> tuple[IntArray, list[str]]:
    """Return the relevance of each label, and the labels in the order of columns."""
    orders = [[label.strip() for label in text.split(">")] for text in rankings]
    # Every row must rank the labels of the first one.
    labels = sorted(set(orders[0]))
    for number, order in zip(numbers, orders, strict=True):
        if sorted(order) != labels or "" in order:
            raise ValueError(
                f"{file}, line {number}: the ranking must hold each of "
                f"{', '.join(labels)} once, with '>' between them, got "
                f"'{'>'.join(order)}'."
            )
    places = [[order.index(label) for label in labels] for order in orders]
    return len(labels) - 1 - np.array(places, dtype=np.int64), labels


def _codes(
    file: Path, numbers: list[int], name: str, texts: tuple[str, ...]
) -> tuple[FloatArray, list[str]]:
    """Return numbers and no category, or codes of texts and the texts."""
    is_number = [isinstance(as_number(text), float) for text in texts]
    if all(is_number):
        return np.array(texts, dtype=np.float64), []
    if any(is_number):
        row = is_number.index(not is_number[0])
        raise ValueError(
            f"{file}, line {numbers[row]}: the column '{name}' must hold "
            f"{'a number' if is_number[0] else 'a text'} as on line {numbers[0]}, got "
            f"'{texts[row]}'."
        )
    known, codes = np.unique(np.array(texts, dtype=object), return_inverse=True)
    return codes.astype(np.float64), known.tolist()
