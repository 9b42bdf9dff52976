"""Every example runs, and says what it is meant to say."""

import importlib.util
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("SKRANK_DATA", ROOT.parent / "shared" / "data"))
mpl.use("Agg")


def load(name):
    spec = importlib.util.spec_from_file_location(
        name, ROOT / "examples" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_quickstart(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["quickstart.py", "--out", str(tmp_path)])
    table = np.array(load("quickstart").main())
    asked, decided, accuracy = table.T
    # 780 pairs of ten later days: the coverage is within sampling error.
    assert np.abs(decided - asked).max() < 0.1
    assert accuracy[-1] > accuracy[0] + 0.1
    assert (tmp_path / "quickstart.png").stat().st_size > 10_000
    assert "or patient" in capsys.readouterr().out


def test_compare_losses(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["compare_losses.py", "--quiet"])
    means = load("compare_losses").main()["simulated"]
    for coverage in (0.9, 0.7, 0.5):
        decided, ties, orders, wrong, fixed = means["misranking", coverage]
        assert decided == pytest.approx(coverage, abs=0.05)
        assert (ties, orders) == pytest.approx((0, decided), abs=0.005)
        assert wrong < means["misranking", 0.9][3] + 1e-9
        assert fixed > means["zero_one", coverage][4]
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
    from skrank_abstain.baselines import entropy_abstention, random_abstention
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
    limit = np.quantile(example.entropy(proba), 0.7)
    rows = example.evaluate(ranker, fold, 0.7, limit)

    # From the public metrics, all pairs at once.
    whole = ranker.at_coverage(0.7).predict_pairs(test.data, qid=test.qid)
    truth = pair_labels(test.target, whole.left, whole.right)
    kept = {
        "risk": whole.accepted,
        "entropy": entropy_abstention(
            proba, whole.proba, coverage=0.7, quantile="linear"
        ),
        "random": random_abstention(len(whole), coverage=0.7, random_state=0),
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
def test_grid_search_chooses_a_coverage_inside(tmp_path, capsys):
    pytest.importorskip("lightgbm")
    table = load("plot_grid_search").main(["--out", str(tmp_path)])
    assert len(table) == 5 * 2 * 2
    (chosen,) = (row for row in table if row["chosen"])
    assert chosen["utility"] == max(row["utility"] for row in table)
    assert 0.1 < chosen["coverage"] < 1
    # Asking about every pair is worth 0.6, and deciding every pair is worth less.
    full = [row["utility"] for row in table if row["coverage"] == 1]
    assert chosen["utility"] > 0.62 > 0.58 > max(full)
    # Accuracy prefers the lowest coverage, whatever the model.
    for leaves, tie_model in {(row["leaves"], row["tie_model"]) for row in table}:
        accuracy = {
            row["coverage"]: row["accuracy"]
            for row in table
            if (row["leaves"], row["tie_model"]) == (leaves, tie_model)
        }
        assert max(accuracy, key=accuracy.get) == 0.1
    assert (tmp_path / "grid_search.png").stat().st_size > 10_000
    printed = capsys.readouterr().out
    assert printed.count("<- chosen") == 1
    assert "ask a person about every pair: utility 0.600" in printed


def test_pairwise_classifier_is_calibrated_and_below_the_best(tmp_path, capsys):
    table = load("plot_pairwise_classifier").main(["--out", str(tmp_path)])
    decided = np.array([row["decided"] for row in table])
    accuracy = np.array([row["accuracy"] for row in table])
    best = np.array([row["best"] for row in table])
    # 4500 comparisons of 300 new sessions, calibrated on 50.
    np.testing.assert_allclose(
        decided, [row["coverage"] for row in table], rtol=0, atol=0.06
    )
    assert (np.diff(accuracy) > 0).all()
    assert (accuracy < best).all()
    assert accuracy[-1] > accuracy[0] + 0.2
    assert (tmp_path / "pairwise_classifier.png").stat().st_size > 10_000
    printed = capsys.readouterr().out
    loss, least = (
        float(printed.split(after)[1].split()[0].rstrip(".;"))
        for after in ("Log loss ", "it would be ")
    )
    assert least < loss < least + 0.15


@pytest.mark.slow
def test_tie_models_are_compared_on_the_same_scores(tmp_path, capsys):
    pytest.importorskip("lightgbm")
    rows = load("plot_tie_models").main(["--smoke", "--quiet", "--out", str(tmp_path)])
    assert len(rows) == 2 * 8
    mean = {
        name: np.mean([row["log_loss"] for row in rows if row["tie_model"] == name])
        for name in {row["tie_model"] for row in rows}
    }
    # Simulated items have grades, and low-scored ones are tied more often.
    assert mean["graded_relevance"] < mean["bradley_terry"] - 0.02
    assert mean["auto"] <= mean["bradley_terry"]
    assert mean["bradley_terry (counts)"] > mean["bradley_terry"] + 0.2
    for row in rows:
        assert row["coverage_1"] == 1
        assert row["coverage_0.5"] == pytest.approx(0.5, abs=0.12)
    assert (tmp_path / "tie_models.png").stat().st_size > 10_000
    assert "auto chose: " in capsys.readouterr().out


@pytest.mark.slow
def test_coverage_comes_nearer_with_more_queries(tmp_path, capsys):
    pytest.importorskip("lightgbm")
    main = load("plot_coverage_error").main
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
    main = load("plot_pair_reliability").main
    found = main(["--smoke", "--quiet", "--out", str(tmp_path)])["simulated"]
    for name in ("bradley_terry", "graded_relevance", "feature_aware_relevance"):
        assert (found[name][:, 0] < 3 * found[name][:, 3]).all()
    assert found["bradley_terry (counts)"][:2, 0].min() > 0.15
    assert (tmp_path / "pair_reliability.png").stat().st_size > 10_000
    assert "| graded_relevance | tie |" in capsys.readouterr().out


def test_calibration_errors_are_those_of_the_definition():
    pytest.importorskip("lightgbm")
    calibration_error = load("plot_pair_reliability").calibration_error
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
    rows = load("plot_guarantees").main(["--smoke", "--quiet", "--out", str(tmp_path)])
    assert len(rows) == 5 * 2 * 5
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
    rows = load("plot_cost_vs_budget").main(
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
    results = load("plot_multilabel_ranking").main(
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
    accuracy = [row["accuracy"] for row in result["abstention"]]
    assert accuracy[-1] > accuracy[0] + 0.1
    assert accuracy[0] > result["tied"] + 0.05
    assert (tmp_path / "multilabel_ranking.png").stat().st_size > 10_000
    assert "weight at the end" in capsys.readouterr().out


@pytest.mark.slow
def test_unsure_orders_of_labels_are_the_wrong_ones(tmp_path, capsys):
    rows = load("plot_label_ranking_abstention").main(
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


@pytest.mark.slow
def test_answers_make_the_order_of_patients_better(tmp_path, capsys):
    found = load("plot_review_loop").main(["--quiet", "--out", str(tmp_path)])
    rounds = found["rounds"]
    assert rounds[-1]["right"] > rounds[0]["right"] + 0.15
    assert abs(rounds[-1]["expected"] - rounds[-1]["right"]) < 0.04
    assert rounds[-1]["Bo"] > rounds[-1]["Ann"] + 0.02
    right = {name: curve["accuracy"] for name, curve in found["curves"].items()}
    assert right["pairs"][-1] > right["random"][-1] + 0.03
    ndcg = {name: curve["ndcg"] for name, curve in found["curves"].items()}
    assert ndcg["top"][-1] > ndcg["random"][-1] + 0.03
    assert (tmp_path / "review_loop.png").stat().st_size > 10_000
    assert "best question, in pairs" in capsys.readouterr().out


def test_sets_hold_a_best_item_as_often_as_asked(tmp_path, capsys):
    main = load("plot_top_sets").main
    rows = main(["--smoke", "--out", str(tmp_path)])["simulated"]
    assert [row["alpha"] for row in rows] == [0.3, 0.2, 0.1]
    for row in rows:
        assert row["coverage"] > 1 - row["alpha"] - 0.1
    assert rows[-1]["size"] > rows[0]["size"] >= 1
    assert (tmp_path / "top_sets.png").stat().st_size > 10_000
    assert "a fixed number of items covers" in capsys.readouterr().out


def test_scrambled_items_are_found_and_left_to_a_person(tmp_path, capsys):
    main = load("plot_novelty").main
    found = main(["--smoke", "--out", str(tmp_path)])
    assert found["EllipticEnvelope"]["power"] > 0.9
    assert found["IsolationForest"]["power"] < 0.2
    assert found["EllipticEnvelope"]["accuracy"] > found["no detector"]["accuracy"]
    assert (tmp_path / "novelty.png").stat().st_size > 10_000
    assert "false alarms" in capsys.readouterr().out


def test_lists_that_are_kept_are_better(tmp_path, capsys):
    main = load("plot_query_abstention").main
    found = main(["--smoke", "--out", str(tmp_path)])["simulated"]
    for metric in ("ndcg@10", "mrr", "precision@3"):
        assert found[metric][2] > found[metric][0]
    assert (tmp_path / "query_abstention.png").stat().st_size > 10_000
    assert "with probability 0.9" in capsys.readouterr().out
