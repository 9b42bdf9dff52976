"""Whether every query is in one partition, in rows that follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from skrank_abstain._validation import encode_qid, shown
from skrank_abstain.partitions._dispatch import as_partitions, engine_of
from skrank_abstain.partitions._packed import ask
from skrank_abstain.partitions._queries import find_split_query, runs_of
from skrank_abstain.partitions._rows import rows_of

# Parquet needs no entry: it is cut between queries, and refuses separated rows.
_TOGETHER = {
    "dask": "call frame.shuffle(on={qid!r})",
    "spark": "call frame.repartition(n, {qid!r}), n being the number of partitions",
    "list": "concatenate the partitions and split them between queries",
}
_IN_ORDER = {
    "dask": "call frame.map_partitions(lambda part: part.sort_values({qid!r}))",
    "spark": "call frame.sortWithinPartitions({qid!r})",
    "list": "sort its rows by query, as part.sort_values({qid!r}) does",
}


def check_partitions(frame: Any, qid: str | None = None) -> None:
    """Check that every query lies in one partition, in consecutive rows.

    Call it before a booster is trained on partitions: those that take the sizes of
    queries, such as LightGBM's DaskLGBMRanker, accept parts of queries and rows in
    another order without a word. `calibrate` does not need consecutive rows.

    Parameters
    ----------
    frame, qid
        As in `calibrate`. Each partition sends its distinct ids.

    Raises
    ------
    ValueError
        If a query lies in two partitions or in rows that do not follow each other, an
        id or the column is missing, or a Parquet file is damaged. Partitions count
        from 0.
    TypeError
        If ``frame`` is of an unknown kind, or ids are not hashable.

    Examples
    --------
    >>> from skrank_abstain.partitions import check_partitions
    >>> first = [[0.1], [0.7]], [0, 1], ["a", "a"]
    >>> second = [[0.4], [0.2], [0.3]], [1, 0, 2], ["b", "c", "c"]
    >>> check_partitions([first, second])
    >>> check_partitions([first, first])
    Traceback (most recent call last):
    ...
    ValueError: frame must have each query in one partition, got query 'a' in ...
    """
    found = [*ask(as_partitions(frame, qid, columns=()), _queries_of, qid)]
    refuse_split_queries([ids for ids, _ in found], frame, qid)
    for number, (_, apart) in enumerate(found):
        if apart is not None:
            mend = _IN_ORDER[engine_of(frame)].format(qid=qid)
            raise ValueError(
                "frame must have the rows of each query one after another, got query "
                f"{shown(apart)} in partition {number} with others between; {mend}."
            )


def refuse_split_queries(
    ids_by_partition: Sequence[NDArray[Any]], frame: Any, qid: str | None
) -> None:
    """Raise a ValueError for the first query that lies in two partitions.

    The message names the call that mends ``frame``. Ids are the distinct ones of each
    partition.
    """
    split = find_split_query(ids_by_partition)
    if split is not None:
        value, first, second = split
        mend = _TOGETHER[engine_of(frame)].format(qid=qid)
        if value is None:
            mend = "pass the query of each row: without it all rows are one query"
        raise ValueError(
            f"frame must have each query in one partition, got query {shown(value)} in "
            f"partitions {first} and {second}; {mend}."
        )


def _queries_of(partition: Any, qid: str | None) -> tuple[NDArray[Any], Any]:
    """Return the distinct queries, and one whose rows lie apart or None."""
    X, _, ids = rows_of(partition, label=None, qid=qid, features=[])
    if ids is None:
        raise ValueError(
            "qid must name the column of the queries, or be the third of each tuple "
            "(X, y, qid), got None."
        )
    # A polars frame without columns has no rows.
    n_items = _num_samples(X) if isinstance(partition, tuple) else ids.size
    runs, _ = runs_of(ids, n_items)
    apart = find_split_query([runs])
    if apart is None:
        return runs, None
    return encode_qid(runs, runs.size)[1], apart[0]
