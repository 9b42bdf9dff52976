"""Files of rankings: LETOR (svmlight with query identifiers) and TREC.

A line of a LETOR file is one item, ``label qid:id index:value index:value ... #
comment``. scikit-learn parses the file; this module names the broken line, and refuses
what the parser accepts by mistake: lines without a query, NaN, infinities, digits with
``_``. A line of a TREC run is ``qid Q0 docid rank score tag`` and a line of judgements
(qrels) ``qid iter docid relevance``, with blanks or tabs between the fields.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import os
import re
import zlib
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from skrank_abstain._validation import FloatArray, IntArray, check_positive_int, shown
from skrank_abstain.pairs import available_memory

#: First bytes of compressed files.
_SIGNS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
#: Errors that damaged archives raise; bz2 has none of its own.
DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)
#: Longer lines are not read: a small archive can hold a line larger than the memory.
_LONGEST_LINE = 1 << 26
#: Characters of a token that messages show.
_LONGEST = 100


def open_file(file: Path) -> IO[bytes]:
    """Open a file for reading; unpack gzip, bzip2 and xz, whatever its name."""
    with file.open("rb") as plain:
        start = plain.read(6)
    opener = next((o for sign, o in _SIGNS.items() if start.startswith(sign)), open)
    return opener(file, "rb")


def read_lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file.

    Raises ValueError at a damaged archive, and at a line of more than 64 MB.
    """
    with open_file(file) as stream:
        number = 0
        try:
            while line := stream.readline(_LONGEST_LINE):
                number += 1
                if len(line) == _LONGEST_LINE:
                    raise ValueError(
                        f"{file} must have lines of less than 64 MB, got more in line "
                        f"{number}: check that it is a file of rankings."
                    )
                yield line
        except DAMAGED as error:
            raise ValueError(
                f"{file} must be a whole archive, got one that breaks off or is "
                f"damaged after line {number}: {error}"
            ) from error


def is_finite(token: bytes) -> bool:
    """Return whether a token is a finite number, without underscores."""
    try:
        return b"_" not in token and math.isfinite(float(token))
    except ValueError:
        return False


def as_integer(token: bytes) -> int | None:
    """Return a token as an integer of at most 64 bits, None if it is not one."""
    try:
        number = int(token)
    except ValueError:
        return None
    return number if b"_" not in token and -(2**63) <= number < 2**63 else None


def encoding_problem(text: bytes) -> str | None:
    """Return what the first bytes show to be wrong with a file's encoding, or None."""
    if text.startswith(b"\xef\xbb\xbf"):
        return "a byte order mark: save the file as UTF-8 without it"
    if b"\0" in text or text.startswith(b"PK\x03\x04"):
        return "neither UTF-8 text nor gzip, bzip2 or xz"
    return None


def show(token: bytes) -> str:
    """Return a token for a message, shortened."""
    return shown(token[:_LONGEST].decode("utf-8", errors="replace"))


#: The files of a fold, by the name of the part in the returned Bunch.
FOLD_FILES = {"train": "train.txt", "validation": "vali.txt", "test": "test.txt"}

#: Lines that are parsed at once. The parser appends each qid to an array, which takes
#: quadratic time; in blocks it is linear, and a broken line is found early.
BLOCK_LINES = 2_000

#: The largest number of a column in sparse rows; all blocks are read as this wide.
MOST_FEATURES = 2**31 - 1

#: A blank line, a comment, or a label followed by a qid, without underscores (Python
#: reads ``1_0`` as ten). The parser checks everything else.
LINE_START = re.compile(rb"\s*(?:#|$|[^\s#_]+\s+qid:[^#_]*(?:#|$))")

#: A file with such line ends would be read as one line, mostly a comment.
_LONE_RETURN = re.compile(rb"\r(?!\r*\n|\r*$)")


class _Items(NamedTuple):
    """The items of a file, or of a block of its lines; X is a sparse matrix."""

    X: Any
    target: FloatArray
    qid: IntArray

    @property
    def n_columns(self) -> int:
        return int(self.X.indices.max(initial=-1)) + 1


def load_letor(path: str | os.PathLike[str], *, n_features: int | None = None) -> Bunch:
    r"""Load a learning-to-rank file, or the three files of a fold.

    Parameters
    ----------
    path : str or path-like
        A file in svmlight format with query identifiers, or a folder that holds
        ``train.txt``, ``vali.txt`` and ``test.txt``. Features are numbered from 1. A
        file may be compressed (gzip, bzip2 or xz), whatever its name.
    n_features : int, default=None
        Number of columns. None: the largest feature index, over all three files
        of a fold.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        For a file:

        data : ndarray of shape (n_items, n_features), float64
            Features; one that a line leaves out is 0.
        target : ndarray of shape (n_items,), int64 or float64
            Relevance, higher is better. Integers if all labels (of all files of a
            fold) are, otherwise floats.
        qid : ndarray of shape (n_items,), int64
            The query of each item, not necessarily sorted or contiguous.
        filename : str
            The file.

        For a folder: ``train``, ``validation`` and ``test``, each such a Bunch, with
        the same number of columns and the same type of target.

    Raises
    ------
    FileNotFoundError
        If the file, the folder or a file of the fold is missing.
    ValueError
        If a line is broken (the message names the file, the line and the problem), a
        feature index exceeds ``n_features`` or makes the rows too long for the memory,
        or a file holds no items or is a damaged archive.

    Notes
    -----
    The format is that of the LETOR collections [1]_ and of most public
    learning-to-rank data. Blank lines and comments (``#`` to the end of the line)
    are skipped. Time and memory are linear in the size of the file and of the dense
    result.

    References
    ----------
    .. [1] T. Qin and T.-Y. Liu, "Introducing LETOR 4.0 datasets", 2013,
       arXiv:1306.2597.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skrank_abstain.datasets import load_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.txt")
    ...     _ = path.write_text("2 qid:7 1:0.5 3:1 # best\n0 qid:7 2:0.1\n")
    ...     items = load_letor(path)
    >>> items.data
    array([[0.5, 0. , 1. ],
           [0. , 0.1, 0. ]])
    >>> items.target, items.qid
    (array([2, 0]), array([7, 7]))
    """
    if n_features is not None:
        n_features = check_positive_int(n_features, "n_features")
    place, files = Path(path), {"file": Path(path)}
    if place.is_dir():
        files = {part: place / name for part, name in FOLD_FILES.items()}
    missing = [file.name for file in files.values() if not file.is_file()]
    if missing:
        raise FileNotFoundError(
            "path must be an existing file or a folder with "
            f"{', '.join(FOLD_FILES.values())}, got '{place}', where "
            f"{', '.join(missing)} is missing."
        )
    bunches = _bunches(files, n_features)
    return Bunch(**bunches) if place.is_dir() else bunches["file"]


def _bunches(files: dict[str, Path], n_features: int | None) -> dict[str, Bunch]:
    """Read files into Bunches with equal columns and equal types of target."""
    parts = {part: _read_file(file, n_features) for part, file in files.items()}
    if n_features is None:
        n_features = max(items.n_columns for items in parts.values())
    integer = all(_all_integer(items.target) for items in parts.values())
    for part, items in parts.items():
        _check_size(items, n_features, files[part])
    return {
        part: Bunch(
            # Rankers take dense rows, and most features of LETOR are not zero.
            data=items.X[:, :n_features].toarray(),
            target=items.target.astype(np.int64) if integer else items.target,
            qid=items.qid,
            filename=str(files[part]),
        )
        for part, items in parts.items()
    }


def _all_integer(target: FloatArray) -> bool:
    # All floats beyond 2**53 are whole numbers.
    exact = np.abs(target) <= 2.0**53
    return bool(np.all(exact & (target == np.round(target))))


def _check_size(items: _Items, n_features: int, file: Path) -> None:
    """Refuse rows that take more than half of the available memory."""
    needed, available = 8 * items.target.size * n_features, available_memory()
    if available is None or needed <= available / 2:
        return
    raise ValueError(
        f"{file}: {items.target.size} items with {n_features} features take "
        f"{needed / 1e9:.1f} GB as a dense array, more than half of the "
        f"{available / 1e9:.1f} GB that are available. The largest feature index is "
        f"{items.n_columns}{_where(items.n_columns, file)}; if it is right, read the "
        "file with sklearn.datasets.load_svmlight_file(query_id=True), as sparse rows."
    )


def _where(index: int, file: Path) -> str:
    """Return in words the first line with a feature."""
    feature = re.compile(rb"(?<=\s)%d:" % index)
    with open_file(file) as stream:
        for number, line in enumerate(stream, start=1):
            if feature.search(line.split(b"#", 1)[0]):
                return f", in line {number}"
    return ""


def _read_file(file: Path, n_features: int | None) -> _Items:
    blocks, stream, first = [], read_lines(file), 1
    while lines := list(islice(stream, BLOCK_LINES)):
        blocks.append(_read_block(lines, first, file, n_features))
        first += len(lines)
    if not sum(block.target.size for block in blocks):
        raise ValueError(f"path must hold at least one item, got none in '{file}'.")
    X, target, qid = zip(*blocks, strict=True)
    rows = sparse.vstack(X, format="csr")
    return _Items(rows, np.concatenate(target), np.concatenate(qid))


def _read_block(
    lines: list[bytes], first: int, file: Path, n_features: int | None
) -> _Items:
    """Parse consecutive lines; ``first`` is the number of the first one."""
    # The parser is fast, but its errors are vague: only the lines of a broken block are
    # checked one by one.
    stream = BytesIO(b"".join(lines))
    try:
        X, target, qid = load_svmlight_file(
            stream, n_features=MOST_FEATURES, query_id=True, zero_based=False
        )
    except (ValueError, OverflowError) as error:
        found = _first_problem(lines, first, n_features) or str(error)
        raise ValueError(f"{file}, {found}") from error
    items = _Items(X, target, qid)
    sound = (
        all(map(LINE_START.match, lines))
        and np.isfinite(X.data).all()
        and np.isfinite(target).all()
        and not any(map(_LONE_RETURN.search, lines))
        and (n_features is None or items.n_columns <= n_features)
    )
    if not sound:
        raise ValueError(f"{file}, {_first_problem(lines, first, n_features)}")
    return items


def _first_problem(
    lines: list[bytes], first: int, n_features: int | None
) -> str | None:
    """Return the number of the first broken line and what is wrong with it."""
    for number, line in enumerate(lines, start=first):
        if _LONE_RETURN.search(line):
            return f"line {number}: its lines end in \\r alone: save it with \\n ends."
        tokens = line.split(b"#", 1)[0].split()
        if tokens and (problem := _line_problem(tokens, n_features)):
            return f"line {number}: {problem}."
    return None


def _line_problem(tokens: list[bytes], n_features: int | None) -> str | None:
    label, *rest = tokens
    if problem := encoding_problem(label):
        return problem
    if b":" in label:
        return f"the relevance label is missing: the line starts with {show(label)}"
    if not is_finite(label):
        return f"the relevance label must be a finite number, got {show(label)}"
    if not rest or not rest[0].startswith(b"qid:"):
        got = show(rest[0]) if rest else "the end of the line"
        return f"qid is missing: the label must be followed by qid:<integer>, got {got}"
    query = as_integer(rest[0].removeprefix(b"qid:"))
    if query is None:
        return f"qid must be an integer of at most 64 bits, got {show(rest[0])}"
    # Features are numbered from 1.
    previous = 0
    for token in rest[1:]:
        if problem := _feature_problem(token, previous, n_features):
            return problem
        previous = int(token.split(b":", 1)[0])
    return None


def _feature_problem(token: bytes, previous: int, n_features: int | None) -> str | None:
    number, colon, value = token.partition(b":")
    index, got = as_integer(number), show(token)
    if not colon:
        return f"a feature must be index:value, got {got}"
    if index is None or not 1 <= index <= MOST_FEATURES:
        return f"a feature index must be an integer from 1 on, got {got}"
    if index <= previous:
        return f"feature indices must increase, got {index} after {previous}"
    if not is_finite(value):
        return f"the value of feature {index} must be a finite number, got {got}"
    if n_features is not None and index > n_features:
        return (
            "n_features must be at least the largest feature index, got "
            f"n_features={n_features} and feature index {index}"
        )
    return None


RUN_FIELDS = ("qid", "Q0", "docid", "rank", "score", "tag")
QRELS_FIELDS = ("qid", "iter", "docid", "relevance")


class _Line(NamedTuple):
    """A line of either file."""

    where: str
    query: str
    document: str
    fields: list[bytes]


def load_trec(
    run: str | os.PathLike[str],
    qrels: str | os.PathLike[str] | None = None,
    *,
    drop_unjudged: bool = False,
) -> Bunch:
    r"""Load a run of a search engine, with the judgements of its documents.

    Parameters
    ----------
    run : str or path-like
        A file with lines ``qid Q0 docid rank score tag``. As in trec_eval, the score
        gives the order; the second field, the rank and the tag are ignored.
    qrels : str or path-like, default=None
        A file with lines ``qid iter docid relevance``; relevance is an integer, and
        the second field is ignored. None: nothing is judged yet. Both files may be
        compressed (gzip, bzip2 or xz), whatever their names.
    drop_unjudged : bool, default=False
        Whether to leave out queries of the run without any judgement, as trec_eval
        does. Otherwise they are an error, since they suggest the wrong qrels.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        One item for each line of the run, in its order:

        data : ndarray of shape (n_items, 1), float64
            The score.
        target : ndarray of shape (n_items,), int64
            Relevance, at least 0; 0 for documents without a judgement. None without
            ``qrels``.
        qid : ndarray of shape (n_items,), str
            The query, not necessarily sorted or contiguous.
        item_id : ndarray of shape (n_items,), str
            The document.

    Raises
    ------
    FileNotFoundError
        If one of the files is missing.
    ValueError
        If a line is broken, a query has a document twice, or a query of the run has no
        judgement (the message names the file, the line and the problem); if a file is
        empty or a damaged archive, or no query is left.

    Notes
    -----
    The conventions are those of trec_eval [1]_. Documents without a judgement are not
    relevant, nor are those of negative relevance, which stands for "in the pool, not
    judged". Judgements of other documents and queries are ignored. Time and memory are
    linear in the size of the files.

    References
    ----------
    .. [1] C. Buckley, "trec_eval", National Institute of Standards and Technology,
       https://github.com/usnistgov/trec_eval.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skrank_abstain.datasets import load_trec
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run, qrels = Path(folder, "bm25.run"), Path(folder, "qrels.txt")
    ...     _ = run.write_text("q1 Q0 a 1 7.5 bm25\nq1 Q0 b 2 3.25 bm25\n")
    ...     _ = qrels.write_text("q1 0 a 2\n")
    ...     found = load_trec(run, qrels)
    >>> found.data
    array([[7.5 ],
           [3.25]])
    >>> found.target, found.qid, found.item_id
    (array([2, 0]), array(['q1', 'q1'], dtype='<U2'), array(['a', 'b'], dtype='<U1'))
    """
    run_file = existing_file(run, "run")
    if qrels is None and drop_unjudged:
        raise ValueError(
            "qrels must be given with drop_unjudged=True, got None: they say which "
            "queries are judged."
        )
    judged = None if qrels is None else _read_qrels(existing_file(qrels, "qrels"))
    items = []
    for line in _lines(run_file, RUN_FIELDS):
        token = line.fields[4]
        if not is_finite(token):
            raise ValueError(
                f"{line.where}: the score must be a finite number, got {show(token)}."
            )
        if judged is not None and line.query not in judged:
            if drop_unjudged:
                continue
            raise ValueError(
                f"{line.where}: query {show(line.fields[0])} has no judgement in "
                f"'{qrels}'; pass drop_unjudged=True to leave such queries out."
            )
        relevance = 0 if judged is None else judged[line.query].get(line.document, 0)
        items.append((float(token), relevance, line.query, line.document))
    if not items:
        left = " of a judged query" if drop_unjudged else ""
        raise ValueError(
            f"run must hold at least one item{left}, got none in '{run_file}'."
        )
    score, target, qid, item_id = map(np.array, zip(*items, strict=True))
    return Bunch(
        data=score[:, np.newaxis],
        target=None if judged is None else target,
        qid=qid,
        item_id=item_id,
    )


def existing_file(path: str | os.PathLike[str], name: str) -> Path:
    """Return the path of a file, or raise where there is none."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"{name} must be an existing file, got '{file}'.")
    return file


def _read_qrels(file: Path) -> dict[str, dict[str, int]]:
    """Return the relevance of documents, by query."""
    judged: dict[str, dict[str, int]] = {}
    for line in _lines(file, QRELS_FIELDS):
        relevance = as_integer(line.fields[3])
        if relevance is None:
            raise ValueError(
                f"{line.where}: relevance must be an integer of at most 64 bits, got "
                f"{show(line.fields[3])}."
            )
        judged.setdefault(line.query, {})[line.document] = max(relevance, 0)
    if not judged:
        raise ValueError(
            f"qrels must hold at least one judgement, got none in '{file}'."
        )
    return judged


def _lines(file: Path, names: tuple[str, ...]) -> Iterator[_Line]:
    """Yield the lines that are not blank; refuse a document twice in a query."""
    first: dict[tuple[str, str], int] = {}
    for number, line in enumerate(read_lines(file), start=1):
        where = f"{file}, line {number}"
        fields = line.split()
        if problem := encoding_problem(line):
            raise ValueError(f"{where}: {problem}.")
        if not fields:
            continue
        if len(fields) != len(names):
            raise ValueError(
                f"{where}: a line must have {len(names)} fields, {' '.join(names)}, "
                f"got {len(fields)}."
            )
        try:
            pair = fields[0].decode(), fields[2].decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{where}: it must be UTF-8 text, got {error}.") from error
        if first.setdefault(pair, number) != number:
            raise ValueError(
                f"{where}: document {show(fields[2])} of query {show(fields[0])} was "
                f"there before, in line {first[pair]}; leave one of the two out."
            )
        yield _Line(where, *pair, fields)
