"""Pairs of items of one query: enumeration, labels, decisions, and the ranking."""

from skrank_abstain.pairs._decisions import (
    PairDecisions,
    PairRecord,
    Ranking,
    bounds_of_orders,
    find_pair,
    labels_of_rows,
)
from skrank_abstain.pairs._memory import (
    ALL_PAIRS,
    BYTES_PER_PAIR,
    PAIRS_OF_ONE_QUERY,
    check_graph_size,
    check_output_size,
)
from skrank_abstain.pairs._pair_labels import (
    as_number,
    check_spelling,
    read_columns,
    read_pair_labels,
    read_times,
    read_winners,
    warn_of_unread,
)
from skrank_abstain.pairs._queries import (
    NumberedPairs,
    Queries,
    check_item_id,
    check_pairs,
    enumerate_pairs,
    group_queries,
    pair_labels,
    rows_by_place,
)
from skrank_abstain.pairs._scores import (
    GapOutcomes,
    Scores,
    by_query,
    count_outcomes,
    count_within,
    counts_by_gap,
    semiorder_graph,
    semiorder_ranks,
    spread_queries,
    spread_rows,
    thin,
)
from skrank_abstain.pairs._tables import SHOWN, Table, html_of_rows, html_table, plain

__all__ = [
    "Ranking",
    "PairDecisions",
    "Queries",
    "Scores",
    "GapOutcomes",
    "group_queries",
    "enumerate_pairs",
    "pair_labels",
]
