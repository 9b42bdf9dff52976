"""Multilabel data in the format of Mulan: an ARFF file, and an XML list of labels.

The header names attributes and their types; the XML file says which of them are labels.
Rows are dense, ``0.5,1,?``, or sparse, ``{0 0.5, 7 1}``, with values that are not
mentioned being zero.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch

from skrank_abstain._validation import FloatArray
from skrank_abstain.multilabel.datasets._text import parse_number, read_lines

#: A text in quotes, with backslashes before what does not end it.
QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{'\"]\S*)\s*(.*)$", re.IGNORECASE)
VALUE = re.compile(rf"\s*({QUOTED}|[^,]*?)\s*,")
SPARSE_VALUE = re.compile(rf"(\d+)\s+({QUOTED}|[^,]+)$")
NUMERIC = {"numeric", "real", "integer"}


class _Attribute(NamedTuple):
    """A column of the file; ``codes`` is empty for numbers."""

    name: str
    codes: dict[str, float]

    @property
    def is_coded(self) -> bool:
        return not set(self.codes) <= {"0", "1"}


class _Header(NamedTuple):
    attributes: list[_Attribute]
    first_row: int


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
        line and what is wrong with it); if the XML file is broken or names labels that
        the ARFF file does not have; if there are no samples, features or labels.

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
    file = Path(path)
    lines = read_lines(file)
    # The list of labels first: without it no line of the data says what it is.
    listed = _label_names(_label_file(file) if labels is None else Path(labels))
    header = _read_header(file, lines)
    names = [attribute.name for attribute in header.attributes]
    unknown = sorted(listed - set(names))
    if unknown:
        raise ValueError(
            f"{file}: the attributes must include all labels, got none called "
            f"'{unknown[0]}' and {len(unknown)} such labels in all."
        )
    is_label = np.array([name in listed for name in names])
    if is_label.all():
        raise ValueError(f"{file}: there must be an attribute that is no label.")
    table, numbers = _read_rows(file, lines, header)
    # Few columns of zeros and ones: dense even where the features are sparse.
    target = table[:, np.flatnonzero(is_label)]
    if not isinstance(target, np.ndarray):
        target = target.toarray()
    _check_target(file, target, numbers, [n for n in names if n in listed])
    features = [a for a in header.attributes if a.name not in listed]
    return Bunch(
        data=table[:, np.flatnonzero(~is_label)],
        target=target.astype(np.int64),
        feature_names=[attribute.name for attribute in features],
        target_names=[name for name in names if name in listed],
        categories={a.name: list(a.codes) for a in features if a.is_coded},
        filename=str(file),
    )


def _label_file(file: Path) -> Path:
    """Return the XML file that belongs to an ARFF file."""
    # Mulan ships one XML file for the parts songs-train.arff and songs-test.arff.
    beside = file.with_suffix(".xml")
    if beside.is_file():
        return beside
    whole = file.with_name(re.sub("-(train|test)$", "", file.stem) + ".xml")
    if not whole.is_file():
        raise FileNotFoundError(
            "labels must be given where the list of labels is not beside the ARFF "
            f"file, as '{whole.name}', got None and no such file beside '{file}'."
        )
    return whole


def _label_names(xml: Path) -> set[str]:
    if not xml.is_file():
        raise FileNotFoundError(f"labels must be an existing file, got '{xml}'.")
    # Bytes, so that the encoding that the XML declares is heeded.
    try:
        root = ET.fromstring(xml.read_bytes())
    except ET.ParseError as error:
        raise ValueError(f"{xml}: {error}.") from error
    # With or without the namespace of Mulan, in a hierarchy or not.
    elements = [e for e in root.iter() if e.tag.rpartition("}")[2] == "label"]
    names = {e.get("name", "") for e in elements}
    if not names or "" in names:
        raise ValueError(
            f"{xml}: there must be label elements, each with a name, got "
            f"{len(elements)} label elements."
        )
    return names


def _read_header(file: Path, lines: list[str]) -> _Header:
    attributes: list[_Attribute] = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        # Keywords of ARFF are the same in capitals.
        keyword = text.split(None, 1)[0].lower() if text else ""
        if keyword == "@data":
            if not attributes:
                break
            _check_names(file, attributes)
            return _Header(attributes, number)
        if keyword == "@attribute":
            attributes.append(_attribute(text, f"{file}, line {number}"))
        elif text and not text.startswith("%") and keyword != "@relation":
            raise ValueError(
                f"{file}, line {number}: the header must hold @relation, @attribute "
                f"and @data, got '{text[:40]}'."
            )
    raise ValueError(f"{file}: there must be attributes and then a line @data.")


def _check_names(file: Path, attributes: list[_Attribute]) -> None:
    names = [attribute.name for attribute in attributes]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{file}: the attribute '{twice}' must be declared once.")


def _attribute(text: str, place: str) -> _Attribute:
    match = ATTRIBUTE.match(text)
    if match is None:
        raise ValueError(f"{place}: an attribute must have a name, got '{text}'.")
    name, kind = _unquote(match[1]), match[2].strip()
    if kind.lower() in NUMERIC:
        return _Attribute(name, {})
    if not (kind.startswith("{") and kind.endswith("}")):
        raise ValueError(
            f"{place}: the attribute '{name}' must be numeric or nominal, got '{kind}'."
        )
    values = [_unquote(value) for value in _split(kind[1:-1])]
    if len(set(values)) < len(values) or "" in values:
        raise ValueError(
            f"{place}: the attribute '{name}' must declare different values, got "
            f"'{kind}'."
        )
    # {0,1} and {1,0} are numbers, whatever the order of the declaration.
    if set(values) <= {"0", "1"}:
        return _Attribute(name, {value: float(value) for value in values})
    return _Attribute(name, {value: float(code) for code, value in enumerate(values)})


def _split(text: str) -> list[str]:
    """Split at commas outside of quotes."""
    if "'" not in text and '"' not in text:
        return [value.strip() for value in text.split(",")]
    return VALUE.findall(text + ",")


def _unquote(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _read_rows(
    file: Path, lines: list[str], header: _Header
) -> tuple[FloatArray | csr_matrix, list[int]]:
    """Return the values of all attributes, and the number of the line of each row."""
    rows = [
        (number, line.strip())
        for number, line in enumerate(lines[header.first_row :], header.first_row + 1)
        if line.strip() and not line.lstrip().startswith("%")
    ]
    if not rows:
        raise ValueError(f"path must hold at least one sample, got none in '{file}'.")
    numbers = [number for number, _ in rows]
    sparse = rows[0][1].startswith("{")
    if sparse:
        _check_first_values(file, header.attributes)
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    for number, text in rows:
        place = f"{file}, line {number}"
        if text.startswith("{") != sparse:
            raise ValueError(
                f"{place}: rows must be all dense or all sparse, as on line "
                f"{numbers[0]}, got '{text[:40]}'."
            )
        read = _sparse_row if sparse else _dense_row
        positions, texts = read(text, len(header.attributes), place)
        columns.extend(positions)
        values.extend(
            _value(header.attributes[position], value, place)
            for position, value in zip(positions, texts, strict=True)
        )
        ends.append(len(columns))
    if not sparse:
        return np.array(values).reshape(len(rows), -1), numbers
    shape = (len(rows), len(header.attributes))
    table = csr_matrix((values, columns, ends), shape=shape, dtype=np.float64)
    # Zeros that a row mentions would make equal matrices differ.
    table.eliminate_zeros()
    return table, numbers


def _check_first_values(file: Path, attributes: list[_Attribute]) -> None:
    # A sparse row leaves out the value declared first, some programs say, or 0, say
    # others: refused where the two differ.
    for attribute in attributes:
        if attribute.codes and next(iter(attribute.codes.values())) != 0:
            raise ValueError(
                f"{file}: where rows are sparse, a nominal attribute must declare 0 "
                f"before 1, got '{attribute.name}' of "
                f"{{{', '.join(attribute.codes)}}}."
            )


def _dense_row(text: str, n_attributes: int, place: str) -> tuple[list[int], list[str]]:
    values = _split(text)
    if len(values) != n_attributes:
        raise ValueError(
            f"{place}: a row must have one value per attribute, {n_attributes}, got "
            f"{len(values)}."
        )
    return list(range(n_attributes)), values


def _sparse_row(
    text: str, n_attributes: int, place: str
) -> tuple[list[int], list[str]]:
    if not text.endswith("}"):
        raise ValueError(
            f"{place}: a sparse row must end with '}}', got '{text[-20:]}'."
        )
    positions: list[int] = []
    values = []
    for entry in _split_sparse(text[1:-1]):
        # "position value"; the value may be in quotes and hold spaces.
        match = SPARSE_VALUE.match(entry)
        if match is None:
            raise ValueError(
                f"{place}: a sparse row must hold 'position value', got '{entry}'."
            )
        position = int(match[1])
        # Positions that do not increase would add up silently in a sparse matrix.
        if position >= n_attributes or (positions and position <= positions[-1]):
            raise ValueError(
                f"{place}: positions must increase and be below the number of "
                f"attributes, {n_attributes}, got {position}."
            )
        positions.append(position)
        values.append(match[2])
    return positions, values


def _split_sparse(text: str) -> list[str]:
    if "'" in text or '"' in text:
        return [m[0].strip() for m in re.finditer(rf"(?:{QUOTED}|[^,])+", text)]
    return [entry.strip() for entry in text.split(",")] if text.strip() else []


def _value(attribute: _Attribute, text: str, place: str) -> float:
    """Return the number that a value stands for, NaN where it is missing."""
    if text == "?":
        return math.nan
    if not attribute.codes:
        # "?" is the way to say that a value is missing; nan and inf are mistakes.
        number = parse_number(text)
        if number is None or not math.isfinite(number):
            raise ValueError(
                f"{place}: the attribute '{attribute.name}' must be a finite number or "
                f"?, got '{text}'."
            )
        return number
    code = attribute.codes.get(_unquote(text))
    if code is None:
        raise ValueError(
            f"{place}: the attribute '{attribute.name}' must be one of "
            f"{', '.join(attribute.codes)}, got '{text}'."
        )
    return code


def _check_target(
    file: Path, target: FloatArray, numbers: list[int], names: list[str]
) -> None:
    # NaN is in neither: a missing label is no label.
    bad = np.argwhere(~np.isin(target, (0, 1)))
    if bad.size:
        row, label = bad[0]
        raise ValueError(
            f"{file}, line {numbers[row]}: the label '{names[label]}' must be 0 or 1, "
            f"got {target[row, label]}."
        )
