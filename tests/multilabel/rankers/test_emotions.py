"""How ties are treated, on music with emotions: what the documentation says of it."""

import os
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain.multilabel import (
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
    load_mulan_arff,
)


def read(part):
    default = Path(__file__).resolve().parents[4] / "shared" / "data"
    folder = Path(os.environ.get("SKRANK_DATA", default), "multilabel", "emotions")
    if not folder.is_dir():
        pytest.skip("the data are not here")
    bunch = load_mulan_arff(folder / f"emotions-{part}.arff")
    return bunch.data, bunch.target


@pytest.fixture(scope="module")
def music():
    return read("train"), read("test")


def base():
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.01))


@pytest.mark.parametrize("loss", ["sum", "precision"])
def test_ties_by_index_ruin_what_grades_and_shared_ranks_do_well(music, loss):
    (X, y), (X_test, y_test) = music
    scores = {
        (thresholds, ties): ThresholdDecompositionRanker(
            base(), p=3, loss=loss, thresholds=thresholds, ties=ties
        )
        .fit(X, y)
        .score(X_test, y_test)
        for thresholds, ties in [
            ("grade", "share"),
            ("rank", "share"),
            ("rank", "index"),
        ]
    }
    assert scores["grade", "share"] >= scores["rank", "share"] > 0.75
    assert scores["rank", "share"] > scores["rank", "index"] + 0.1


def test_fewer_pairs_are_decided_better(music):
    (X, y), (X_test, y_test) = music
    ranker = SelectiveMultilabelRanker(
        ThresholdDecompositionRanker(base()), random_state=0
    ).fit(X, y)
    accuracy = [ranker.at_coverage(c).score(X_test, y_test) for c in (1.0, 0.8, 0.5)]
    assert accuracy == sorted(accuracy)
    assert 1 - accuracy[-1] < 0.6 * (1 - accuracy[0])  # wrong orders
