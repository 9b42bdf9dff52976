"""Files of rankings: LETOR (svmlight with query identifiers) and TREC.

A line of a LETOR file is one item, ``label qid:id index:value index:value ... #
comment``. scikit-learn parses the file; this module names the broken line, and refuses
lines without a query, NaN and infinities. A line of a TREC run is ``qid Q0 docid rank
score tag`` and a line of judgements (qrels) ``qid iter docid relevance``, with blanks
or tabs between the fields.
"""

import bz2
import gzip
import lzma
import math
import os
import zlib
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from skrank_abstain import pairs
from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._saving import write_file
from skrank_abstain._validation import (
    check_numbers,
    check_positive_int,
    id_as_text,
    shown,
)

#: First bytes of compressed files.
_SIGNS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
#: The files of a fold, by the name of the part in the returned Bunch.
FOLD_FILES = {"train": "train.txt", "validation": "vali.txt", "test": "test.txt"}
#: Lines that are parsed at once. The parser appends each qid to an array, which takes
#: quadratic time; in blocks it is linear, and a broken line is found early.
BLOCK_LINES = 2_000
#: The largest number of a column in sparse rows; all blocks are read as this wide.
MOST_FEATURES = 2**31 - 1
#: The fields of a line of TREC files.
_RUN = ("qid", "Q0", "docid", "rank", "score", "tag")
_QRELS = ("qid", "iter", "docid", "relevance")


def existing_file(path: str | os.PathLike[str], name: str) -> Path:
    """Return the path of a file, or raise where there is none."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"{name} must be an existing file, got '{file}'.")
    return file


def read_lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file; unpack gzip, bzip2 and xz, whatever its name."""
    with file.open("rb") as plain:
        start = plain.read(6)
    opener = next((o for sign, o in _SIGNS.items() if start.startswith(sign)), open)
    with opener(file, "rb") as stream:
        try:
            yield from stream
        # The errors of damaged archives; bz2 has none of its own.
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            raise ValueError(
                f"{file} must be a whole archive, got one that breaks off or is "
                f"damaged: {error}"
            ) from error


def _check_any(n_found: int, rule: str, file: Path) -> None:
    """Refuse a file in which nothing was found."""
    if not n_found:
        raise ValueError(f"{rule}, got none in '{file}'.")


def _show(text: bytes) -> str:
    return shown(text.decode("utf-8", errors="replace"))


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
        For a folder, a Bunch with keys train, validation, test. For a file:

        data : ndarray of shape (n_items, n_features), float64
            Features; one that a line leaves out is 0.
        target : ndarray of shape (n_items,), int64 or float64
            Relevance, higher is better. Integers if all labels (of all files of a
            fold) are, otherwise floats.
        qid : ndarray of shape (n_items,), int64
            The query of each item, not necessarily sorted or contiguous.
        filename : str
            The file.

        For a folder:

        train, validation, test : :class:`~sklearn.utils.Bunch`
            Each as for a file, all with the same number of columns and the same type of
            target: ``fold.train.data``, ``fold.train.target``, ``fold.train.qid``.
            ``train, validation, test = fold.values()`` takes them apart.

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
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("train.txt", "vali.txt", "test.txt"):
    ...         _ = Path(folder, name).write_text("1 qid:7 1:0.5\n")
    ...     fold = load_letor(folder)
    >>> list(fold), fold.validation.data
    (['train', 'validation', 'test'], array([[0.5]]))
    """
    if n_features is not None:
        n_features = check_positive_int(n_features, "n_features")
    place = Path(path)
    names = FOLD_FILES if place.is_dir() else {"file": ""}
    files = {part: existing_file(place / name, "path") for part, name in names.items()}
    parts = {part: _read_items(file, n_features) for part, file in files.items()}
    width = n_features or max(_n_columns(X) for X, _, _ in parts.values())
    integer = all(_all_integer(target) for _, target, _ in parts.values())
    bunches = {}
    for part, (X, target, qid) in parts.items():
        pairs.check_output_size(
            target.size * width,
            8,
            what="feature values",
            remedy=f"The largest feature index in '{files[part]}' is {_n_columns(X)}; "
            "if it is right, read the file with "
            "sklearn.datasets.load_svmlight_file(query_id=True), as sparse rows.",
        )
        bunches[part] = Bunch(
            # Rankers take dense rows, and most features of LETOR are not zero.
            data=X[:, :width].toarray(),
            target=target.astype(np.int64) if integer else target,
            qid=qid,
            filename=str(files[part]),
        )
    return Bunch(**bunches) if place.is_dir() else bunches["file"]


def _n_columns(X: Any) -> int:
    return int(X.indices.max(initial=-1)) + 1


def _all_integer(target: FloatArray) -> bool:
    # All floats beyond 2**53 are whole numbers.
    return bool(np.all((np.abs(target) <= 2.0**53) & (target == np.round(target))))


def _read_items(file: Path, n_features: int | None) -> tuple[Any, FloatArray, IntArray]:
    """Return the sparse rows, the labels and the queries of a file."""
    blocks, stream, first = [], read_lines(file), 1
    while lines := list(islice(stream, BLOCK_LINES)):
        blocks.append(_read_block(lines, first, file, n_features))
        first += len(lines)
    n_items = sum(target.size for _, target, _ in blocks)
    _check_any(n_items, "path must hold at least one item", file)
    X, target, qid = zip(*blocks, strict=True)
    return sparse.vstack(X, format="csr"), np.concatenate(target), np.concatenate(qid)


def _read_block(
    lines: list[bytes], first: int, file: Path, n_features: int | None
) -> tuple[Any, FloatArray, IntArray]:
    """Parse consecutive lines; ``first`` is the number of the first one."""
    try:
        X, target, qid = load_svmlight_file(
            BytesIO(b"".join(lines)),
            n_features=MOST_FEATURES,
            query_id=True,
            zero_based=False,
        )
        if qid.size != target.size:
            raise ValueError("qid is missing")
        if not (np.isfinite(X.data).all() and np.isfinite(target).all()):
            raise ValueError("a number is not finite")
        if n_features is not None and _n_columns(X) > n_features:
            raise ValueError(
                "n_features must be at least the largest feature index, got "
                f"n_features={n_features} and feature index {_n_columns(X)}"
            )
        return X, target, qid
    except (ValueError, OverflowError) as error:
        # The parser does not say which line is broken.
        if len(lines) > 1:
            for number, line in enumerate(lines, start=first):
                _read_block([line], number, file, n_features)
        raise ValueError(
            f"{file}, line {first} must be <label> qid:<integer> <index>:<value> ..., "
            "with finite numbers and indices that rise from 1 on, got "
            f"{_show(lines[0].strip())}: {str(error)[:200]}."
        ) from error


def load_trec(
    run: str | os.PathLike[str],
    qrels: str | os.PathLike[str] | None = None,
    *,
    drop_unjudged_queries: bool = False,
) -> Bunch:
    r"""Load a run of a search engine, with the judgements of its documents.

    Parameters
    ----------
    run : str or path-like
        A file with lines ``qid Q0 docid rank score tag``. As in trec_eval, the score
        gives the order; the second field and the rank are ignored. All lines
        have one tag.
    qrels : str or path-like, default=None
        A file with lines ``qid iter docid relevance``; relevance is an integer, and
        the second field is ignored. None: nothing is judged yet. Both files may be
        compressed (gzip, bzip2 or xz), whatever their names.
    drop_unjudged_queries : bool, default=False
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
        If a line is broken, a query has a document twice, the run has several tags, or
        a query of it has no judgement (the message names the file, the line and the
        problem); if a file is empty or a damaged archive, or no query or no judged
        document is left.

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
    if qrels is None and drop_unjudged_queries:
        raise ValueError(
            "qrels must be given with drop_unjudged_queries=True, got None: they say "
            "which queries are judged."
        )
    run_file, judged = existing_file(run, "run"), None
    if qrels is not None:
        judged = _read_qrels(existing_file(qrels, "qrels"))
    items, n_judged = [], 0
    for where, query, document, score in _lines(run_file, _RUN, "score", float):
        if judged is not None and query not in judged:
            if drop_unjudged_queries:
                continue
            raise ValueError(
                f"{where}: query {shown(query)} has no judgement in '{qrels}'; pass "
                "drop_unjudged_queries=True to leave such queries out."
            )
        of_query = {} if judged is None else judged[query]
        n_judged += document in of_query
        items.append((score, of_query.get(document, 0), query, document))
    left = " of a judged query" if drop_unjudged_queries else ""
    _check_any(len(items), f"run must hold at least one item{left}", run_file)
    if judged is not None and not n_judged:
        raise ValueError(
            f"run must have a document that is judged, got none in '{run_file}': "
            f"'{qrels}' does not know {shown(document)} of query {shown(query)}. Are "
            "its documents named in another way?"
        )
    data, target, qid, item_id = map(np.array, zip(*items, strict=True))
    known = None if judged is None else target
    return Bunch(data=data[:, np.newaxis], target=known, qid=qid, item_id=item_id)


def _read_qrels(file: Path) -> dict[str, dict[str, float]]:
    """Return the relevance of documents, by query."""
    judged: dict[str, dict[str, float]] = {}
    for _, query, document, relevance in _lines(file, _QRELS, "relevance", int):
        judged.setdefault(query, {})[document] = max(relevance, 0)
    _check_any(len(judged), "qrels must hold at least one judgement", file)
    return judged


def _lines(
    file: Path, names: tuple[str, ...], name: str, kind: type[float]
) -> Iterator[tuple[str, str, str, float]]:
    """Yield place, query, document and number of each line that is not blank."""
    first: dict[tuple[str, str], int] = {}
    tag = None
    for number, line in enumerate(read_lines(file), start=1):
        where, fields = f"{file}, line {number}", line.split()
        if not fields:
            continue
        if len(fields) != len(names):
            raise ValueError(
                f"{where}: a line must have {len(names)} fields, {' '.join(names)}, "
                f"got {len(fields)}."
            )
        try:
            pair = fields[0].decode("utf-8-sig"), fields[2].decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{where}: it must be UTF-8 text, got {error}.") from error
        if first.setdefault(pair, number) != number:
            raise ValueError(
                f"{where}: document {shown(pair[1])} of query {shown(pair[0])} was "
                f"there before, in line {first[pair]}; leave one of the two out."
            )
        tag = tag or fields[-1]
        if names[-1] == "tag" and fields[-1] != tag:
            raise ValueError(
                f"{where}: a run must have one tag, got {_show(fields[-1])} after "
                f"{_show(tag)}: scores of two engines have no order; load each run."
            )
        token = fields[names.index(name)]
        try:
            value = kind(token)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(
                f"{where}: {name} must be a finite {kind.__name__}, got {_show(token)}."
            )
        yield where, *pair, value


def save_trec(
    path: str | os.PathLike[str],
    ranking: Any,
    *,
    qid: Any = None,
    item_id: Any = None,
    tag: str = "skrank_abstain",
) -> None:
    r"""Save ranked items as a run of a search engine, in an order without ties.

    Parameters
    ----------
    path : str or path-like
        File to write, with lines ``qid Q0 docid rank score tag``.
    ranking : Ranking or array-like of shape (n_items,)
        What ``ranking`` returns, or scores; of equal ones the earlier row is first.
    qid : scalar or array-like of shape (n_items,), default=None
        Query of each score. A `Ranking` has its own.
    item_id : array-like of shape (n_items,), default=None
        Document of each score, each once in a query. A `Ranking` has its own.
    tag : str, default="skrank_abstain"
        Name of the run.

    Raises
    ------
    ValueError
        If a name is missing, empty or has a blank, a document is twice in a query, or a
        score is not finite.

    Notes
    -----
    trec_eval goes by the score, in single precision, and not by the rank; equal scores
    it sorts by document. Scores that would be equal, or in another order than the
    ranking, are therefore lowered just enough.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skrank_abstain.datasets import save_trec
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "ours.run")
    ...     save_trec(path, [0.5, 2, 2], qid="q1", item_id=["a", "c", "b"], tag="ours")
    ...     print(path.read_text(), end="")
    q1 Q0 c 1 2 ours
    q1 Q0 b 2 1.99999952 ours
    q1 Q0 a 3 0.5 ours
    """
    if not isinstance(ranking, pairs.Ranking):
        if np.ndim(ranking) != 1:
            raise ValueError(
                "ranking must be what ranking() returned, or a score for each item with"
                f" qid= and item_id=: save_trec(path, ranking), got {shown(ranking)}."
            )
        score = check_numbers(ranking, "ranking")
        queries = pairs.group_queries(qid, score.size)
        names: Any = pairs.check_item_id(item_id, queries)
        rows, place = pairs.rows_by_place(score, queries)
        names = rows if names is None else names[rows]
        qid = queries.values[queries.codes[rows]]
        ranking = pairs.Ranking(qid, names, place, score[rows], place, place)
    elif qid is not None or item_id is not None:
        raise ValueError(
            "qid and item_id must be left out with a ranking, which has its own: pass "
            "them to ranking()."
        )
    if len(ranking) and {*ranking.item_id.tolist()} == {*range(len(ranking))}:
        raise ValueError(
            "item_id must name the documents of a run, got the positions of rows: pass "
            "item_id= to ranking() or here."
        )
    starts = 1 + np.flatnonzero(ranking.qid[1:] != ranking.qid[:-1])
    parts = [_falling(part) for part in np.split(ranking.score, starts)]
    columns = {"qid": ranking.qid, "item_id": ranking.item_id, "tag": np.array([tag])}
    texts = {
        name: [*map(id_as_text, column.tolist())] for name, column in columns.items()
    }
    for name, column in texts.items():
        wrong = [text for text in column if text.split() != [text] or text == "None"]
        if wrong:
            raise ValueError(
                f"{name} must be texts without blanks for a run, got "
                f"{shown(wrong[0])}: pass {name}= to ranking() or here."
            )
    fields = zip(texts["qid"], texts["item_id"], np.concatenate(parts), strict=True)
    lines = (
        f"{query} Q0 {name} {place} {score:.9g} {tag}\n"
        for place, (query, name, score) in zip(ranking.place, fields, strict=True)
    )
    write_file(path, "".join(lines))


def _falling(scores: FloatArray) -> FloatArray:
    """Lower the scores of a query that do not fall, in single precision."""
    largest = np.float32(np.abs(scores).max(initial=0.0) or 1.0)
    # Twice the spacing: a sum may pass the next power of two.
    step = np.arange(scores.size) * 2.0 * np.spacing(largest)
    return np.asarray(np.minimum.accumulate(scores + step) - step)
