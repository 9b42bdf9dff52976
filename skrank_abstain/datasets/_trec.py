"""Runs of search engines and the judgements of their documents, as at TREC.

A line of a run is ``qid Q0 docid rank score tag`` and a line of judgements (qrels)
``qid iter docid relevance``, with blanks or tabs between the fields.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.utils import Bunch

from skrank_abstain.datasets._text_files import (
    as_integer,
    encoding_problem,
    is_finite,
    read_lines,
    show,
)

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
    run_file = _existing(run, "run")
    if qrels is None and drop_unjudged:
        raise ValueError(
            "qrels must be given with drop_unjudged=True, got None: they say which "
            "queries are judged."
        )
    judged = None if qrels is None else _read_qrels(_existing(qrels, "qrels"))
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


def _existing(path: str | os.PathLike[str], name: str) -> Path:
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
