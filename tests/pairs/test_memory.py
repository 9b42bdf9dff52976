"""The guard against results that do not fit."""

import numpy as np
import pytest
from scored import scored

from skrank_abstain.pairs import (
    Scores,
    _memory,
    check_output_size,
    group_queries,
    semiorder_graph,
    semiorder_ranks,
)
from skrank_abstain.selection import decide_queries


def test_half_of_what_is_available_is_the_limit(monkeypatch):
    monkeypatch.setattr(_memory, "available_memory", lambda: 10**9)
    check_output_size(10**7, 50)
    with pytest.raises(ValueError, match=r"10000001 pairs take 0\.5 GB.*iter_pairs"):
        check_output_size(10**7 + 1, 50)


def test_small_results_need_no_look(monkeypatch):
    monkeypatch.setattr(_memory, "available_memory", lambda: 0)
    check_output_size(1000, 50)


def test_where_nobody_knows_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(_memory, "available_memory", lambda: None)
    check_output_size(10**15, 50)


def test_a_million_items_of_one_query_are_refused_before_any_pair_is_formed():
    items = Scores(np.zeros(1_000_000), group_queries(None, 1_000_000))
    with pytest.raises(ValueError, match=r"499999500000 pairs.*rank_inter.*pairs="):
        decide_queries(None, None, items)


def test_control_groups_of_both_versions(tmp_path):
    assert _memory._cgroup_memory(tmp_path) == []
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert _memory._cgroup_memory(tmp_path)[0] == 600
    (tmp_path / "memory.limit_in_bytes").write_text("100\n")
    (tmp_path / "memory.usage_in_bytes").write_text("400\n")
    assert _memory._cgroup_memory(tmp_path)[:2] == [600, 0]
    (tmp_path / "memory.max").write_text("max\n")
    assert _memory._cgroup_memory(tmp_path)[0] == 0


def test_this_machine_has_memory():
    assert _memory.available_memory() > 0


def test_one_query_of_several_is_not_sent_to_where_it_came_from():
    queries = group_queries(np.repeat([0, 1], [1_000_000, 2]), 1_000_002)
    items = Scores(np.zeros(1_000_002), queries)
    with pytest.raises(ValueError, match="Use iter_pairs"):
        decide_queries(None, None, items)
    with pytest.raises(ValueError, match="Use evaluate, or the ranking or rank_inter"):
        decide_queries(None, None, items, 0, 1)


def test_a_graph_that_does_not_fit_is_refused_before_it_is_made(monkeypatch):
    # Two levels: every item of the upper half is over each of the lower one.
    monkeypatch.setattr(_memory, "available_memory", lambda: 10**8)
    scores = np.repeat([0.0, 1.0], 2000)
    items = scored(scores, group_queries(None, 4000))
    with pytest.raises(ValueError, match=r"4000000 orders .*Use rank_intervals"):
        semiorder_graph(items, semiorder_ranks(items, 0.5))
    # A chain of as many items has an order for each but one.
    chain = scored(np.arange(4000.0), group_queries(None, 4000))
    assert semiorder_graph(chain, semiorder_ranks(chain, 0.5)).nnz == 3999
