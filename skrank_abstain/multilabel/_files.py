"""Readers of published multilabel and label-ranking data.

Mulan: an ARFF file, whose header names attributes and their types, and an XML file that
names the labels among them. Rows are dense, ``0.5,1,?``, or sparse, ``{0 0.5, 7 1}``,
where omitted values are zero. Label rankings: a table with a row per sample,
``0.5,red,...,b>a>c``, in which the label b is best.

`scipy.io.arff` does not serve: it reads no sparse rows and no names in double quotes,
and cuts rows that are too long without a word.
"""

import csv
import math
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain.datasets import existing_file, read_lines

#: The codes of the values of each attribute, by its name; none for numbers.
Attributes = dict[str, dict[str, float]]

#: A text in quotes; a backslash escapes the next character.
QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{'\"]\S*)\s*(.*)$", re.IGNORECASE)
#: A value, in a sparse row after its position.
VALUE = re.compile(rf"\s*((?:\d+\s+)?(?:{QUOTED})|[^,]*?)\s*,")


def _text_lines(path: str | os.PathLike[str]) -> tuple[Path, list[str]]:
    """Return a file and its lines, from UTF-8 with or without a byte-order mark."""
    file = existing_file(path, "path")
    try:
        text = b"".join(read_lines(file)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} must be encoded in UTF-8: {error}.") from error
    return file, re.split("\r\n?|\n", text)


@contextmanager
def at_line(file: Path, number: int) -> Iterator[None]:
    """Put the file and the number of the line in front of an error."""
    try:
        yield
    except (ValueError, IndexError, csv.Error) as error:
        raise ValueError(f"{file}, line {number}: {error}") from error


def load_mulan_arff(
    path: str | os.PathLike[str], *, labels: str | os.PathLike[str] | None = None
) -> Bunch:
    r"""Load a multilabel data set in the format of Mulan.

    Parameters
    ----------
    path : str or path-like
        The ARFF file, with dense or with sparse rows.
    labels : str or path-like, default=None
        The XML file that lists the labels, in any order and nesting. None: the file
        beside ``path`` of the same name, without a final ``-train`` or ``-test``
        where that does not exist.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`

        data : ndarray or csr_matrix of shape (n_samples, n_features), float64
            The attributes that are not labels, in file order: a sparse matrix where the
            rows of the file are sparse. A missing value (``?``) is NaN.
        target : ndarray of shape (n_samples, n_labels), int64
            1 for relevant labels, 0 for the others, in the order of the attributes of
            the ARFF file.
        feature_names : list of str
            Names of the columns of ``data``.
        target_names : list of str
            Names of the columns of ``target``.
        categories : dict of str to list of str
            The values of each nominal feature that is coded, by its name, in the order
            of their codes.
        filename : str
            The ARFF file.

    Raises
    ------
    FileNotFoundError
        If one of the two files is missing.
    ValueError
        If a line is broken, an attribute is of another type than numeric or nominal, or
        a label is missing or not 0 or 1 (the message has the file, the number of the
        line and the fault); if the XML file is broken or names labels that
        the ARFF file does not have; if there are no samples or labels.

    Notes
    -----
    Mulan [1]_ keeps its data sets in this format. A nominal feature with the
    values 0 and 1 holds these numbers. Any other is coded by the position of the value
    in the declaration, from 0, which carries no order; ``categories`` says which
    columns to encode further. Values that a sparse row leaves out are 0, for a nominal
    attribute the first one declared; a sparse file that declares ``{1, 0}`` is refused,
    since programs disagree on what it means. Instance weights are not read. Time and
    memory are linear in the size of the file, and for ``target`` in n_samples times
    n_labels.

    References
    ----------
    .. [1] Tsoumakas, Spyromitros-Xioufis, Vilcek and Vlahavas (2011). "Mulan: A Java
       Library for Multi-Label Learning". JMLR 12.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skrank_abstain.multilabel import load_mulan_arff
    >>> arff = '''@relation songs
    ... @attribute calm {0,1}
    ... @attribute tempo numeric
    ... @attribute loud {0,1}
    ... @data
    ... 1,0.5,0
    ... 0,0.9,1
    ... '''
    >>> xml = '<labels><label name="loud"/><label name="calm"/></labels>'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "songs-train.arff")
    ...     _ = path.write_text(arff), Path(folder, "songs.xml").write_text(xml)
    ...     songs = load_mulan_arff(path)
    >>> songs.data
    array([[0.5],
           [0.9]])
    >>> songs.target, songs.target_names
    (array([[1, 0],
           [0, 1]]), ['calm', 'loud'])
    """
    file, lines = _text_lines(path)
    # First, since without the list of labels no column has a meaning.
    if labels is None:
        # Mulan ships one XML file for the parts songs-train.arff and songs-test.arff.
        whole = file.with_name(re.sub("-(train|test)$", "", file.stem) + ".xml")
        beside = file.with_suffix(".xml")
        labels = beside if beside.is_file() else whole
    listed = _label_names(labels)
    attributes, n_header = _read_header(file, lines)
    unknown = sorted(listed - set(attributes))
    if unknown:
        raise ValueError(f"{file}: there must be attributes called {unknown[:9]}.")
    target_names = [name for name in attributes if name in listed]
    feature_names = [name for name in attributes if name not in listed]
    table, numbers = _read_rows(file, lines, n_header, attributes)
    is_label = np.array([name in listed for name in attributes])
    # Few columns of zeros and ones: dense even where the features are sparse.
    target = table[:, np.flatnonzero(is_label)]
    if not isinstance(target, np.ndarray):
        target = target.toarray()
    for row, label in np.argwhere(~np.isin(target, (0, 1))):  # NaN is in neither
        raise ValueError(
            f"{file}, line {numbers[row]}: the label '{target_names[label]}' must be 0 "
            f"or 1, got {target[row, label]}."
        )
    return Bunch(
        data=table[:, np.flatnonzero(~is_label)],
        target=target.astype(np.int64),
        feature_names=feature_names,
        target_names=target_names,
        categories={
            name: list(attributes[name])
            for name in feature_names
            if not set(attributes[name]) <= {"0", "1"}
        },
        filename=str(file),
    )


def _label_names(path: str | os.PathLike[str]) -> set[str]:
    xml = existing_file(path, "labels")
    # Read as bytes, in the encoding that the XML declares.
    try:
        root = ET.fromstring(xml.read_bytes())
    except ET.ParseError as error:
        raise ValueError(f"{xml}: {error}.") from error
    # Elements may have the namespace of Mulan and may be nested.
    names = {e.get("name", "") for e in root.iter() if e.tag.endswith("label")}
    if not names or "" in names:
        raise ValueError(f"{xml}: there must be label elements, each with a name.")
    return names


def _read_header(file: Path, lines: list[str]) -> tuple[Attributes, int]:
    """Return the attributes, and the number of lines up to @data."""
    attributes: Attributes = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        keyword = text.lower()  # of ARFF, which may be in capitals
        if keyword.startswith("@data") and attributes:
            return attributes, number
        if keyword.startswith("@attribute"):
            with at_line(file, number):
                name, codes = _attribute(text)
                attributes[name] = codes
    raise ValueError(f"{file}: there must be attributes and then a line @data.")


def _attribute(text: str) -> tuple[str, dict[str, float]]:
    """Return the name that a line declares, and the codes of its values."""
    match = ATTRIBUTE.match(text)
    if match is None:
        raise ValueError(f"an attribute must have a name, got '{text}'.")
    name, kind = _unquote(match[1]), match[2].strip()
    if kind.lower() in ("numeric", "real", "integer"):
        return name, {}
    if not (kind.startswith("{") and kind.endswith("}")):
        raise ValueError(
            f"the attribute '{name}' must be numeric or nominal, got '{kind}'."
        )
    values = [_unquote(value) for value in _split(kind[1:-1])]
    # {0,1} and {1,0} are numbers, whatever the order of the declaration.
    if set(values) <= {"0", "1"}:
        return name, {value: float(value) for value in values}
    return name, {value: float(code) for code, value in enumerate(values)}


def _split(text: str) -> list[str]:
    """Split at commas outside of quotes."""
    return VALUE.findall(text + ",")


def _unquote(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _read_rows(
    file: Path, lines: list[str], n_header: int, attributes: Attributes
) -> tuple[FloatArray | csr_matrix, list[int]]:
    """Return the values of all attributes, and the number of the line of each row."""
    rows = {
        number: line.strip()
        for number, line in enumerate(lines[n_header:], n_header + 1)
        if line.strip() and not line.lstrip().startswith("%")
    }
    if not rows:
        raise ValueError(f"path must hold at least one sample, got none in '{file}'.")
    sparse = next(iter(rows.values())).startswith("{")
    # Programs disagree on whether a value that is left out is 0 or the one declared
    # first.
    for name, codes in attributes.items() if sparse else ():
        if codes and next(iter(codes.values())) != 0:
            raise ValueError(
                f"{file}: '{name}' must declare 0 before 1, since rows are sparse."
            )
    known = list(attributes.items())
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    for number, text in rows.items():
        with at_line(file, number):
            for position, value in _entries(text, len(known)):
                columns.append(position)
                values.append(_number(value, *known[position]))
        ends.append(len(columns))
    shape = (len(rows), len(known))
    table = csr_matrix((values, columns, ends), shape=shape, dtype=np.float64)
    # Explicit zeros would make equal matrices differ.
    table.eliminate_zeros()
    return table if sparse else table.toarray(), list(rows)


def _entries(text: str, n_attributes: int) -> Iterable[tuple[int, str]]:
    """Return the positions and the values of a row."""
    values = _split(text.strip("{}"))
    if text.startswith("{"):
        pairs = [value.split(None, 1) for value in values if value]
        return [(int(position), value) for position, value in pairs]
    if len(values) != n_attributes:
        raise ValueError(
            f"a row must have one value per attribute, {n_attributes}, got "
            f"{len(values)}."
        )
    return enumerate(values)


def _number(text: str, name: str, codes: dict[str, float]) -> float:
    """Return the number that a value stands for, NaN where it is missing."""
    if text == "?":
        return math.nan
    try:
        return codes[_unquote(text)] if codes else float(text)
    except (KeyError, ValueError) as error:
        rule = f"one of {', '.join(codes)}" if codes else "a number or ?"
        raise ValueError(
            f"the attribute '{name}' must be {rule}, got '{text}'."
        ) from error


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
    file, lines = _text_lines(path)
    rows: dict[int, list[str]] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            with at_line(file, number):
                # Strict, since a stray quote would swallow the commas after it.
                (fields,) = csv.reader([line], strict=True)
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
    is_number = [_is_number(text) for text in texts]
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


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
