"""Every program runs, and says what it is meant to say."""

import importlib.util
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "examples" / "programs"
DATA = Path(os.environ.get("SKRANK_DATA", ROOT.parent / "shared" / "data"))
mpl.use("Agg")


@pytest.fixture(autouse=True)
def _programs_find_each_other(monkeypatch):
    monkeypatch.syspath_prepend(PROGRAMS)


def load(name):
    spec = importlib.util.spec_from_file_location(name, PROGRAMS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_each_loss_decides_something_else(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["losses.py", "--quiet"])
    means = load("losses").main()["simulated"]
    for coverage in (0.9, 0.7, 0.5):
        decided, ties, orders, wrong, fixed, top, right, by_score = means[
            "misranking", coverage
        ]
        assert decided == pytest.approx(coverage, abs=0.05)
        assert (ties, orders) == pytest.approx((0, decided), abs=0.005)
        assert wrong < means["misranking", 0.9][3] + 1e-9
        assert fixed > means["zero_one", coverage][4]
        assert means["clear_order", coverage][5] > top > means["zero_one", coverage][5]
        assert right > by_score  # few places are filled, and those are clear
    assert means["zero_one", 0.5][1] > 0.02  # ties are answers there
    assert "| misranking | 50% |" in capsys.readouterr().out


def write_fold(folder, n_queries, seed):
    from sklearn.datasets import dump_svmlight_file

    from skrank_abstain.datasets import make_ranking

    folder.mkdir(parents=True)
    for k, name in enumerate(("train", "vali", "test")):
        part = make_ranking(n_queries=n_queries, random_state=seed + k)
        dump_svmlight_file(
            part.data,
            part.target,
            str(folder / f"{name}.txt"),
            zero_based=False,
            query_id=part.qid,
        )


# CatBoost's thousand trees take ten seconds.
@pytest.mark.slow
@pytest.mark.parametrize(
    "ranker",
    ["xgboost", "lightgbm", pytest.param("catboost", marks=pytest.mark.slow)],
)
def test_reproduce_paper_runs_on_any_folds(ranker, tmp_path, capsys):
    pytest.importorskip(ranker)
    for fold in (1, 2):
        write_fold(tmp_path / "toy" / f"Fold{fold}", 20, 10 * fold)
    rows = load("reproduce_paper").main(
        [
            *("--data", str(tmp_path / "toy"), "--ranker", ranker),
            *("--coverages", "1", "0.6", "--tie-models", "bt-counts", "bt-ml"),
            *("--out", str(tmp_path / "out")),
        ]
    )
    assert len(rows) == 2 * 2 * 2 * 3
    made = {path.name for path in (tmp_path / "out").iterdir()}
    figures = ("accuracy", "coverage", "classes", "densities")
    assert made == {
        *(f"toy_{ranker}_{name}.png" for name in figures),
        *(f"toy_{ranker}{end}.csv" for end in ("", "_folds")),
    }
    full = [row for row in rows if row["target"] == 1]
    assert all(row["coverage"] == 1 for row in full)
    assert "bt-ml entropy" in capsys.readouterr().out


def test_reproduce_paper_by_blocks_is_the_whole(tmp_path, monkeypatch):
    from skrank_abstain.baselines import ConfidenceThreshold, entropy
    from skrank_abstain.metrics import class_acceptance, selective_accuracy_score
    from skrank_abstain.pairs import pair_labels

    pytest.importorskip("lightgbm")
    # As in WEB30K: no comments, five grades, more queries than a block holds.
    write_fold(tmp_path / "web" / "Fold1", 20, 3)
    example = load("reproduce_paper")
    monkeypatch.setattr(example, "BLOCK", 300)
    args = SimpleNamespace(ranker="lightgbm", tie_models=["bt-counts"])
    fold, rankers = example.calibrate_fold(tmp_path / "web" / "Fold1", args)
    ranker, test, vali = rankers["bt-counts"], fold.test, fold.validation
    assert len(list(example.blocks(test))) > 3
    calibrated = ranker.predict_pairs(vali.data, qid=vali.qid)
    proba = example.calibration_proba(ranker, fold)
    np.testing.assert_array_equal(proba, calibrated.proba)
    by_entropy = ConfidenceThreshold(0.7, quantile="linear").fit(-entropy(proba))
    rows = example.evaluate(ranker, fold, 0.7, by_entropy)

    # From the public metrics, all pairs at once.
    whole = ranker.at_coverage(0.7).predict_pairs(test.data, qid=test.qid)
    truth = pair_labels(test.target, whole.left, whole.right)
    kept = {
        "risk": whole.accepted,
        "entropy": by_entropy.accept(-entropy(whole.proba)),
        "random": np.random.RandomState(0).random_sample(len(whole)) < 0.7,
    }
    for row, (rule, accepted) in zip(rows, kept.items(), strict=True):
        right = selective_accuracy_score(truth, whole.label, accepted)
        assert (row["rule"], row["target"]) == (rule, 0.7)
        assert row["accuracy"] == pytest.approx(right, rel=1e-12)
        assert row["coverage"] == pytest.approx(accepted.mean(), rel=1e-12)
        shares = [row[name] for name in example.LABELS]
        np.testing.assert_allclose(shares, class_acceptance(truth, accepted))
    # Queries as the sample, from the definition.
    variance = 0.0
    for part in (test, vali):
        decisions = ranker.at_coverage(0.7).predict_pairs(part.data, qid=part.qid)
        gone = decisions.accepted - decisions.accepted.mean()
        by_query = [gone[decisions.qid == q].sum() for q in np.unique(part.qid)]
        variance += np.square(by_query).sum() / len(decisions) ** 2
    assert rows[0]["coverage_error"] == pytest.approx(variance**0.5, rel=1e-9)


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "OHSUMED").exists(), reason="needs OHSUMED")
@pytest.mark.parametrize(
    ("collection", "expected"),
    [
        # Independently measured with numpy; agreement within 0.01 is asked for.
        (
            "OHSUMED",
            {"bt-counts": (0.510, 0.515, 0.499), "bt-ml": (0.585, 0.603, 0.609)},
        ),
        (
            "MQ2008",
            {"bt-counts": (0.563, 0.573, 0.552), "bt-ml": (0.743, 0.769, 0.776)},
        ),
    ],
)
def test_reproduce_paper_agrees_with_an_independent_prototype(
    collection, expected, tmp_path
):
    pytest.importorskip("xgboost")
    rows = load("reproduce_paper").main(
        [
            *("--data", str(DATA / collection), "--coverages", "1", "0.7", "0.5"),
            *("--tie-models", "bt-counts", "bt-ml", "--out", str(tmp_path)),
        ]
    )
    for name, values in expected.items():
        for target, value in zip((1, 0.7, 0.5), values, strict=True):
            folds = [
                row
                for row in rows
                if (row["tie_model"], row["rule"], row["target"])
                == (name, "risk", target)
            ]
            assert len(folds) == 5
            assert np.mean([row["accuracy"] for row in folds]) == pytest.approx(
                value, abs=0.01
            )
            assert np.mean([row["coverage"] for row in folds]) == pytest.approx(
                target, abs=0.01
            )


@pytest.mark.slow
def test_tie_models_are_compared_on_the_same_scores(tmp_path):
    pytest.importorskip("lightgbm")
    rows = load("tie_models").main(["--smoke", "--quiet", "--out", str(tmp_path)])
    assert len(rows) == 2 * 7
    mean = {
        name: np.mean([row["log_loss"] for row in rows if row["tie_model"] == name])
        for name in {row["tie_model"] for row in rows}
    }
    # Simulated items have grades, and low-scored ones are tied more often.
    assert mean["graded_relevance"] < mean["bradley_terry"] - 0.02
    assert mean["bradley_terry (counts)"] > mean["bradley_terry"] + 0.2
    for row in rows:
        assert row["coverage_1"] == 1
        assert row["coverage_0.5"] == pytest.approx(0.5, abs=0.12)
    assert (tmp_path / "tie_models.png").stat().st_size > 10_000


@pytest.mark.slow
def test_coverage_comes_nearer_with_more_queries(tmp_path, capsys):
    pytest.importorskip("lightgbm")
    main = load("coverage_error").main
    [found] = main(["--smoke", "--quiet", "--out", str(tmp_path)]).values()
    for name in ("bradley_terry", "graded_relevance", "feature_aware_relevance"):
        assert found[name, 192][1] < 0.05
        # The band shrinks as sampling says.
        assert found[name, 192][2] < found[name, 6][2] / 2
    assert (tmp_path / "coverage_error.png").stat().st_size > 10_000
    assert "| graded_relevance | 192 |" in capsys.readouterr().out


@pytest.mark.slow
def test_pair_probabilities_are_honest(tmp_path, capsys):
    pytest.importorskip("lightgbm")
    main = load("pair_reliability").main
    found = main(["--smoke", "--quiet", "--out", str(tmp_path)])["simulated"]
    for name in ("bradley_terry", "graded_relevance", "feature_aware_relevance"):
        assert (found[name][:, 0] < 3 * found[name][:, 3]).all()
    assert found["bradley_terry (counts)"][:2, 0].min() > 0.15
    assert (tmp_path / "pair_reliability.png").stat().st_size > 10_000
    assert "| graded_relevance | tie |" in capsys.readouterr().out


def test_calibration_errors_are_those_of_the_definition():
    pytest.importorskip("lightgbm")
    calibration_error = load("pair_reliability").calibration_error
    rng = np.random.default_rng(0)
    proba = np.repeat([0.1, 0.5, 0.9], 2000)
    happened = rng.random(6000) < proba
    query = np.arange(6000) // 10
    errors = [abs(happened[proba == p].mean() - p) / 3 for p in (0.1, 0.5, 0.9)]
    found = calibration_error(proba, happened, query)
    assert found[0] == pytest.approx(sum(errors), abs=1e-12)
    assert found[3] == pytest.approx(0.006, abs=0.003)
    # Everything is predicted 0.2 too low.
    low = calibration_error(proba * 0 + 0.3, rng.random(6000) < 0.5, query)
    assert low[1] < 0.2 < low[2]


@pytest.mark.slow
def test_guarantees_are_kept_where_queries_are_the_sample(tmp_path, capsys):
    rows = load("guarantees").main(["--smoke", "--quiet", "--out", str(tmp_path)])
    assert len(rows) == 5 * 2 * 4
    by_queries = [row for row in rows if row["method"].startswith("queries")]
    assert not any(row["failed"] for row in by_queries)
    assert any(row["failed"] for row in rows if row["method"] == "pairs, binomial")
    coverage = {
        name: np.mean([r["coverage"] for r in rows if r["method"] == name])
        for name in ("quantile", "hierarchical")
    }
    assert coverage["quantile"] == pytest.approx(0.7, abs=0.05)
    assert coverage["hierarchical"] > 0.67
    assert (tmp_path / "guarantees.png").stat().st_size > 10_000
    assert "decides nothing" in capsys.readouterr().out


@pytest.mark.slow
def test_a_price_is_a_budget_and_risk_beats_distance(tmp_path, capsys):
    rows = load("cost_vs_budget").main(
        ["--smoke", "--quiet", "--ranker", "ridge", "--out", str(tmp_path)]
    )

    def of(rule, given):
        return {
            (row["fold"], row["value"]): row
            for row in rows
            if (row["rule"], row["given"]) == (rule, given)
        }

    price, budget = of("Chow", "cost"), of("BALToR", "cost")
    assert len(budget) > 10
    for key, row in budget.items():
        # Up to test pairs between the price and the next risk of validation pairs.
        assert row["coverage"] == pytest.approx(price[key]["coverage"], abs=0.005)
    near, far = of("distance, 2-norm", "coverage"), of("BALToR", "coverage")
    for key, row in near.items():
        assert row["coverage"] == pytest.approx(key[1], abs=0.12)
        # The scores of a good ranker know more than the distance of two items.
        if 0.2 < key[1] < 0.8:
            assert row["misranked"] > 1.25 * far[key]["misranked"]
    assert (tmp_path / "cost_vs_budget.png").stat().st_size > 10_000
    assert "coverage, and misranked share plus price" in capsys.readouterr().out


@pytest.mark.slow
def test_multilabel_rankers_are_compared_by_every_loss(tmp_path, capsys):
    results = load("multilabel_ranking").main(
        ["--smoke", "--quiet", "--out", str(tmp_path)]
    )
    (result,) = results.values()
    losses = {
        name: {loss: values.mean() for loss, values in mine.items()}
        for name, mine in result["losses"].items()
    }
    first = losses["binary relevance, sorted"]
    assert losses["logistic, grades"] == pytest.approx(first)
    for mine in losses.values():
        assert mine["sum@1"] == pytest.approx(mine["prec@1"])
        assert mine["sum@5"] == pytest.approx(mine["pairs"])
    for name in losses:
        ruined = losses[name]["sum@3"] > 1.5 * first["sum@3"]
        assert ruined == name.endswith("index ties"), name
    end = result["course"][-1]
    assert min(end["experts"].values()) < end["online"] < end["bound"]
    wrong = [row["discordance"] for row in result["abstention"]]
    assert wrong[-1] < wrong[0] / 2
    assert wrong[0] < 0.25
    assert (tmp_path / "multilabel_ranking.png").stat().st_size > 10_000
    assert "weight at the end" in capsys.readouterr().out


@pytest.mark.slow
def test_unsure_orders_of_labels_are_the_wrong_ones(tmp_path, capsys):
    rows = load("label_ranking_abstention").main(
        ["--smoke", "--quiet", "--out", str(tmp_path)]
    )
    assert len(rows) == 2 * 3 * 10 * 2

    def mean(ranker, rule, coverage, what="correctness"):
        mine = (ranker, rule, coverage)
        keys = ("ranker", "left_open", "coverage")
        return np.mean([r[what] for r in rows if tuple(r[k] for k in keys) == mine])

    for ranker in ("constant (Borda)", "linear", "forest"):
        chosen = [mean(ranker, "least sure", c) for c in (1.0, 0.6, 0.2)]
        assert chosen[2] > chosen[1] + 0.05 > chosen[0] + 0.1
        assert mean(ranker, "by lot", 0.6) == pytest.approx(chosen[0], abs=0.06)
        assert mean(ranker, "least sure", 0.6, "completeness") == pytest.approx(
            0.6, abs=0.06
        )
    # The data are linear, and no ranking fits everybody.
    assert mean("linear", "least sure", 1.0) > mean("forest", "least sure", 1.0)
    assert mean("forest", "by lot", 1.0) > mean("constant (Borda)", "by lot", 1.0) + 0.2
    assert (tmp_path / "label_ranking_abstention.png").stat().st_size > 10_000
    assert "completeness: the share that was ordered" in capsys.readouterr().out
