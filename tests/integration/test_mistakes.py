"""Natural mistakes end well: in the right answer, or in words that say what to do."""

import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from lightgbm import LGBMRanker
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
    SelectiveRanker,
)
from skrank_abstain.datasets import load_letor, load_trec, make_ranking
from skrank_abstain.leaderboard import Leaderboard
from skrank_abstain.metrics import compare, selective_utility
from skrank_abstain.monitor import Monitor
from skrank_abstain.partitions import calibrate, evaluate
from skrank_abstain.queries import TopSetRanker
from skrank_abstain.review import read_answers
from skrank_abstain.theory import auc_test_set_bound

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
KNOWN, NEW = (make_ranking(n, random_state=k) for k, n in enumerate((60, 20)))
X, Y, QID = KNOWN.data, KNOWN.target, KNOWN.qid
FRAME = pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])])
SIZES = np.bincount(QID)
NAMES = [f"item {row}" for row in range(len(Y))]
VOTES = [{"left": "Ann", "right": "Bo", "winner": side} for side in ("left", "right")]
ANSWERS = [{"qid": 0, "left": 0, "right": 1, "label": "left"}]
PAIRS = np.random.default_rng(0).normal(size=(60, 4))
FITTED = BALToR(Ridge(), random_state=0).fit(X, Y, qid=QID)
ERRORS = (ValueError, TypeError, AttributeError, FileNotFoundError)


def fit(x=X, y=Y, qid=QID, model=None, **params):
    ranker = BALToR(Ridge() if model is None else model, random_state=0)
    return ranker.set_params(**params).fit(x, y, qid=qid)


def review(*answers):
    table = [dict(zip(("left", "right", "label"), row, strict=True)) for row in answers]
    return FITTED.review(NEW.data, qid=NEW.qid, answers=table)


def ask():
    return FITTED.review(NEW.data, qid=NEW.qid).ask(3)


def report():
    return FITTED.report(NEW.data, NEW.target, qid=NEW.qid)


def booster_on_sparse_rows():
    return fit(sparse.csr_array(X), model=LGBMRanker(n_estimators=3, verbose=-1))


def text(values, name="t"):
    return FRAME.assign(**{name: values})


def signed_gap(pairs):
    score = NEW.data @ FITTED.estimator_.coef_
    return pairs.accepting(score[pairs.left] - score[pairs.right], 0.0)


def empty(folder):
    (folder / "empty.csv").write_text("")
    return read_answers(folder / "empty.csv")


def decided_twice():
    pairs = FITTED.predict_pairs(NEW.data, qid=NEW.qid)
    return pairs, pairs.accepting(-pairs.risk, -1)


def one_side(folder):
    path = folder / "tasks.csv"
    FITTED.review(NEW.data, qid=NEW.qid).ask(12).to_tasks(path)
    pd.read_csv(path).assign(label="left").to_csv(path, index=False)
    return FITTED.review(NEW.data, qid=NEW.qid, answers=read_answers(path))


def two_runs(folder):
    (folder / "all.run").write_text("q Q0 x 1 2.5 a\nq Q0 y 2 0.5 b\n")
    return load_trec(folder / "all.run")


#: What people do, what comes of it (an error, a warning, or the right answer), and a
#: part of what is said.
MISTAKES = {
    # ---- queries
    "`fit(X, y)` without `qid`": (
        lambda _: BALToR(Ridge()).fit(X, Y), "warning", "rows are one query"),
    "`fit(X, qid, y)`: exchanged": (
        lambda _: BALToR(Ridge()).fit(X, QID, Y), "error", "positional arguments"),
    "labels for queries in `predict_pairs(X, y)`": (
        lambda _: FITTED.predict_pairs(X, Y), "error", "positional arguments"),
    'ids of queries as 1 and "1"': (
        lambda _: fit(qid=[str(q) if k % 2 else q for k, q in enumerate(QID.tolist())]),
        "error", "qid must write each value in one way, got 0 and '0'"),
    "spaces at the ends of ids": (
        lambda _: fit(qid=[f"q{q}" + " " * (k % 2) for k, q in enumerate(QID)]),
        "error", "qid must write each value in one way, got 'q0' and 'q0 '"),
    "`group=` with LightGBM's sizes": (
        lambda _: BALToR(Ridge()).fit(X, Y, group=SIZES), "error", "argument 'group'"),
    "sizes of groups as `qid=`": (
        lambda _: fit(qid=SIZES), "error", r"Pass np.repeat\(np.arange"),
    "`groups=qid`, as for `GroupKFold`": (
        lambda _: BALToR(Ridge()).fit(X, Y, groups=QID), "error", "argument 'groups'"),
    "`qid=\"q\"`, the name of a column": (
        lambda _: fit(text(QID, "q"), qid="q"), "error", "or qid_col='q'"),
    "a query id is missing": (
        lambda _: fit(qid=np.where(QID == 3, np.nan, QID)), "error", "NaN at row"),
    "each item is a query of its own": (
        lambda _: fit(qid=np.arange(len(Y))), "error", "query with two items"),
    "labelled rows without the `qid` that `fit` got": (
        lambda _: FITTED.evaluate(NEW.data, NEW.target), "error", "Pass qid="),
    "`evaluate(X, qid, y)`: exchanged": (
        lambda _: FITTED.evaluate(NEW.data, NEW.qid, NEW.target), "error",
        "positional arguments"),
    "`pairs=` of two queries": (
        lambda _: FITTED.predict_pairs(NEW.data, qid=NEW.qid, pairs=[[0, 200]]),
        "error", "two rows of the same query"),
    "`pairs=` by names": (
        lambda _: FITTED.predict_pairs(NEW.data, qid=NEW.qid, pairs=[["Ann", "Bo"]]),
        "error", "positions of two rows of X"),
    # ---- relevance
    "`-y` of unsigned grades": (
        lambda _: fit(y=-Y.astype(np.uint8)), "error", r"pass y\.max\(\) - y"),
    "words as grades": (
        lambda _: fit(y=np.where(Y > 1, "good", "bad")), "error", "Encode grades"),
    "a grade is missing": (
        lambda _: fit(y=np.where(np.arange(len(Y)) == 3, np.nan, Y)), "error",
        "NaN .* row 3"),
    "-1 for unjudged items": (
        lambda _: fit(y=np.where(Y == 0, -1, Y)), "warning", "leave their rows out"),
    "99 for unjudged items": (
        lambda _: fit(y=np.where(Y == 0, 99, Y)), "warning", "as the most relevant"),
    "99 for unjudged items, turned around": (
        lambda _: fit(y=99 - np.where(Y == 0, 99, Y)), "warning",
        "as the least relevant"),
    "the scores of the model as labels in `evaluate`": (
        lambda _: FITTED.evaluate(NEW.data, FITTED.predict(NEW.data), qid=NEW.qid),
        "error", "got the model's own scores"),
    "the scores of the model as labels": (
        lambda _: fit(y=FITTED.predict(X), model=FITTED.estimator_), "error",
        "got the model's own scores"),
    "all items have one grade": (
        lambda _: fit(y=np.zeros(len(Y))), "warning", "have the same relevance"),
    "fewer labels than rows": (
        lambda _: fit(y=Y[:-1]), "error", "X has 704 rows, y has 703"),
    "labels in the order of another index": (
        lambda _: fit(FRAME, pd.Series(Y).sample(frac=1, random_state=0)), "error",
        r"Pass y.loc\[X.index\]"),
    "rows and labels filtered by different rules": (
        lambda _: fit(FRAME[QID < 30], pd.Series(Y)[QID >= 30][: sum(QID < 30)],
                      QID[QID < 30]), "error", "y must"),
    "no labels": (
        lambda _: fit(y=None), "error", "requires y to be passed"),
    "labels as a column, shape (n, 1)": (
        lambda _: fit(y=Y[:, None]).coverage_ == FITTED.coverage_, "right", ""),
    # ---- features
    "the labels are among the features": (
        lambda _: fit(text(Y, "grade")), "warning", "column .* of X equals y"),
    "the labels turned around are among the features": (
        lambda _: fit(text(Y.max() - Y, "place")), "warning",
        "column .* of X is y turned around"),
    "two columns of one name": (
        lambda _: fit(pd.concat([FRAME, FRAME[["f0"]]], axis=1)), "error",
        r"got \['f0'\] more than once"),
    "the path of a table as X": (
        lambda _: fit("train.csv"), "error", r"pass pandas.read_csv\(X\)"),
    "`fit` on the path of Parquet files": (
        lambda _: fit("cal/*.parquet"), "error", "Parquet to partitions.calibrate"),
    "`explain` by names without `item_id`": (
        lambda _: FITTED.explain(NEW.data, "Ann", "Bo"), "error",
        "got 'Ann' and 'Bo', in rows .* names together with item_id="),
    "a LightGBM model calibrated on the rows that trained it": (
        lambda _: fit(model=LGBMRanker(n_estimators=3, verbose=-1).fit(
            X, Y, group=SIZES)), "warning", "most, of 704 calibration items trained"),
    "a fitted model measured on the rows that trained it": (
        lambda _: BALToR(LGBMRanker(n_estimators=3, verbose=-1).fit(
            X, Y, group=SIZES)).fit(NEW.data, NEW.target, qid=NEW.qid)
        .evaluate(X, Y, qid=QID), "warning", "these 704 items trained the model"),
    "a fitted ranker calibrated again on the rows of its fit": (
        lambda _: TopSetRanker(fit()).fit(X, Y, qid=QID), "warning",
        "704 of 704 calibration items trained"),
    "names of items among the features in `calibrate`": (
        lambda _: calibrate(
            BALToR(Ridge().fit(X, Y)), [text(NAMES, "who").assign(q=QID, y=Y)],
            label="y", qid="q"),
        "error", r"columns of texts \['who'\]. Pass names of items as item_id="),
    "names of items among the features in `fit`": (
        lambda _: fit(text(NAMES, "who")), "error", r"columns of texts \['who'\]"),
    "a list of dictionaries as X": (
        lambda _: fit(FRAME.to_dict("records")), "error",
        r"pass pandas.DataFrame\(X\)"),
    "a column of text": (
        lambda _: fit(text("a")), "error", "convert string to float: 'a'"),
    "a column of dates": (
        lambda _: fit(text(pd.Timestamp(0))), "error", "DateTime64DType"),
    "decimal commas": (
        lambda _: fit(text(["0,5"] * len(Y))), "error", "float: '0,5'"),
    "columns in another order": (
        lambda _: np.array_equal(fit(FRAME).predict(FRAME[FRAME.columns[::-1]]),
                                 fit(FRAME).predict(FRAME)), "right", ""),
    "fewer columns than in `fit`": (
        lambda _: FITTED.predict(X[:, :2]), "error", "expecting 10 features"),
    "X the wrong way round": (
        lambda _: fit(X.T), "error", "X has 10 rows"),
    "infinite features": (
        lambda _: fit(np.where(X > 2, np.inf, X)), "error", "infinity"),
    "a masked array": (
        lambda _: fit(np.ma.masked_greater(X, 1)), "error", "array without a mask"),
    "a booster gets sparse rows in `fit`, dense ones later": (
        lambda _: booster_on_sparse_rows().predict(X), "error", "sparse as in fit"),
    # ---- models
    "the class of a model, not an instance": (
        lambda _: fit(model=Ridge), "error", r"write Ridge\(\)"),
    "the path of a model that is not there": (
        lambda folder: fit(model=str(folder / "model.json")), "error",
        "No such file: .*ScoreColumn"),
    "a classifier as the ranker": (
        lambda _: fit(model=LogisticRegression()).score(
            NEW.data, NEW.target, qid=NEW.qid) > 0.6, "right", ""),
    "a classifier of words as the ranker": (
        lambda _: fit(
            model=LogisticRegression().fit(X, np.where(Y > 1, "good", "bad"))), "error",
        "numbers as classes.*fit it on y == 'good'"),
    "answers in a pyarrow table": (
        lambda _: "n_answers=1," in repr(FITTED.review(
            NEW.data, qid=NEW.qid, answers=pa.Table.from_pylist(ANSWERS))),
        "right", ""),
    "a forest of classes as the ranker": (
        lambda _: fit(model=RandomForestClassifier(20, random_state=0)).score(
            NEW.data, NEW.target, qid=NEW.qid) > 0.6, "right", ""),
    "prediction before `fit`": (
        lambda _: BALToR(Ridge()).predict(X), "error", "is not fitted yet"),
    "an unfitted model over partitions": (
        lambda _: calibrate(BALToR(Ridge()), [(X, Y, QID)]), "error", "train it on"),
    # ---- parameters
    "`coverage=80`": (lambda _: fit(coverage=80), "error", "80 % is 0.8"),
    "`coverage=0`": (lambda _: fit(coverage=0), "error", r"must be in \(0, 1\]"),
    "`delta=0.95`, meant as the confidence": (
        lambda _: RiskControlledRanker(Ridge(), max_risk=0.3, delta=0.95).fit(
            X, Y, qid=QID), "warning", "pass delta=0.05"),
    "`Leaderboard(confidence=0.05)`": (
        lambda _: Leaderboard(confidence=0.05).fit(VOTES), "warning",
        "meant the other way round, pass confidence=0.95"),
    "`Monitor.of(ranker, delta=0.95)`": (
        lambda _: Monitor.of(FITTED, delta=0.95), "warning", "pass delta=0.05"),
    "`cost=20`, in percent": (
        lambda _: CostAbstainer(Ridge(), cost=20).fit(X, Y, qid=QID), "error",
        "cost must be at most 1, the largest loss, got 20.*percent"),
    "`selective_utility(20)`": (
        lambda _: selective_utility(20)(FITTED, NEW.data, NEW.target, qid=NEW.qid),
        "error", "cost must be at most 1, the largest loss, got 20"),
    "`groups=` of a measurement": (
        lambda _: BALToR(Ridge(), groups=0).fit(X, Y, qid=QID), "error",
        "groups must name a column of at most 50 groups.*Cut it into ranges"),
    "`calibration_size=6`, a number of queries": (
        lambda _: fit(calibration_size=6), "error",
        r"calibration_size must be in \(0, 1\), got 6. It is a share"),
    "`early_stopping_rounds=` of a ranker to train": (
        lambda _: fit(model=LGBMRanker(early_stopping_rounds=5, verbose=-1)), "error",
        "must be None for a ranker to train.*pass it fitted"),
    "`BALToR.fit(X, y)`, on the class": (
        lambda _: BALToR.fit(X, Y, qid=QID), "error", "fit needs an instance"),
    "`objective=\"top3\"`": (
        lambda _: FITTED.review(NEW.data, qid=NEW.qid).ask(3, objective="top3"),
        "error", "'top@3'"),
    "`cluster=` as an array": (
        lambda _: Leaderboard().fit(VOTES, cluster=np.zeros(2)), "error",
        r"cluster must name a column of votes, got .*array"),
    "`by=` as a column": (
        lambda _: Leaderboard().fit(VOTES, by=pd.Series(["x", "y"])), "error",
        "by must name a column of votes, got Series"),
    "weights of a million": (
        lambda _: Leaderboard().fit([vote | {"weight": 1e6} for vote in VOTES]),
        "error", "none above 10,000, got 1e\\+06"),
    "`max_risk=5`, in percent": (
        lambda _: RiskControlledRanker(Ridge(), max_risk=5).fit(X, Y, qid=QID), "error",
        "max_risk must be between 0 and 1"),
    "`alpha=0.001` with a dozen queries": (
        lambda _: TopSetRanker(Ridge(), alpha=0.001).fit(X, Y, qid=QID), "error",
        "needs at least 999"),
    "a typing error in `tie_model=`": (
        lambda _: fit(tie_model="bradley-terry"), "error", "'bradley_terry'"),
    "a typing error in `loss=`": (
        lambda _: fit(loss="misrank"), "error", "'misranking', 'clear_order'"),
    "a loss that changes as a pair is turned": (
        lambda _: fit(loss=[[0, 1, 2], [1, 0, 1], [1, 1, 0]]), "error",
        "mirror-symmetric"),
    "a rule by name": (
        lambda _: SelectiveRanker(Ridge(), rule="coverage").fit(X, Y, qid=QID), "error",
        r"such as Coverage\(0.8\)"),
    "`at_risk` of a ranker that certifies nothing": (
        lambda _: FITTED.at_risk(0.1), "error", "no attribute 'at_risk'"),
    "`set_params` after `fit`, then `report`": (
        lambda _: fit().set_params(coverage=0.3).report(
            NEW.data, NEW.target, qid=NEW.qid),
        "warning", "Fit again for the other"),
    # ---- scikit-learn
    "`qid=` to a Pipeline without routing": (
        lambda _: make_pipeline(StandardScaler(), BALToR(Ridge())).fit(X, Y, qid=QID),
        "error", "does not accept the qid parameter"),
    # ---- comparisons
    "classes 0, 1, 2 as comparisons": (
        lambda _: PairwiseRankerClassifier(LogisticRegression()).fit(
            PAIRS, np.arange(60) % 3), "error", "as labels={'L': 'left'"),
    "an odd number of columns as pairs": (
        lambda _: PairwiseRankerClassifier(LogisticRegression()).fit(
            PAIRS[:, :3], np.arange(60) % 3 - 1), "error", "even number of columns"),
    "decisions compared with the labels in another order": (
        lambda _: compare(*decided_twice(), NEW.data, NEW.target[::-1],
                          loss="misranking"), "warning",
        "in the wrong order"),
    "a difference with its sign as the confidence": (
        lambda _: signed_gap(FITTED.predict_pairs(NEW.data, qid=NEW.qid)), "error",
        "or the absolute value"),
    "`accepting` without a threshold": (
        lambda _: FITTED.predict_pairs(NEW.data, qid=NEW.qid).accepting(
            np.zeros(1), None), "error", "threshold must be a real number"),
    "the rows of a frame as a mask of the list": (
        lambda _: fit(FRAME).ranking(FRAME[:5]).take(FRAME[:5].f0 > 0), "error",
        "index must have the order of the ranking"),
    "two sites with the same days, one table below the other": (
        lambda _: fit(np.vstack([X, X + 1]), np.r_[Y, Y], np.r_[QID, QID]), "warning",
        "60 qids come again in the same order"),
    "1 is the best grade, and some are missing as 9": (
        lambda _: fit(y=5 - np.where(Y == 0, 9, 5 - Y)), "warning",
        "items of grade -4, unlike the other"),
    "a confidence as the `delta` of an AUC bound": (
        lambda _: auc_test_set_bound(50, 50, delta=0.95), "warning", "pass delta=0.05"),
    # ---- people
    "the same side in all answers to a page": (
        one_side, "warning", "tasks answered left each of 12 times"),
    "two items of one name": (
        lambda _: FITTED.ranking(NEW.data[:3], item_id=["Ann", "Ann", "Bo"]), "error",
        "'Ann' at rows 0 and 1"),
    "an answer in words of one's own": (
        lambda _: review((0, 1, "better")), "error",
        "answers must hold labels that are known, got 'better' in row 0"),
    "0 and 1 as answers": (
        lambda _: review((0, 1, 1), (0, 2, 0)), "error", "as labels={-1: 'right', "),
    "answers about items by unknown names": (
        lambda _: review(("Ann", "Bo", "left")), "error", "Pass item_id="),
    "the model's questions passed as answers": (
        lambda _: FITTED.review(NEW.data, qid=NEW.qid, answers=ask().to_frame()),
        "error",
        "whose label is the model's"),
    "questions saved as tasks.ods": (
        lambda folder: ask().to_tasks(folder / "tasks.ods"), "error", "Write a .csv"),
    "an empty file of answers": (empty, "error", "got an empty file"),
    "a report saved as a.pdf": (
        lambda folder: report().to_html(folder / "a.pdf"), "error", ".html or .htm"),
    # ---- files and partitions
    "a collection that is not there": (
        lambda folder: load_letor(folder / "MQ2009"), "error", "existing file"),
    "two runs in one TREC file": (two_runs, "error", "must have one tag, got 'b'"),
    "one tuple in place of partitions": (
        lambda _: evaluate(FITTED, (X, Y, QID)), "error", r"\[\(X, y, qid\), \.\.\.\]"),
    "partitions whose columns stand in another order": (
        lambda _: evaluate(FITTED, [FRAME.assign(y=Y, q=QID).iloc[:, turn] for turn in (
            slice(None), slice(None, None, -1))], label="y", qid="q"),
        "error", "in one order"),
    "a query in two partitions": (
        lambda _: evaluate(FITTED, [(X[:9], Y[:9], "a"), (X[9:20], Y[9:20], "a")]),
        "error", "query 'a' in partitions 0 and 1"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_ends_well(mistake, tmp_path):
    call, outcome, said = MISTAKES[mistake]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        if outcome == "error":
            with pytest.raises(ERRORS, match=said):
                call(tmp_path)
        else:
            found = call(tmp_path)
    if outcome == "warning":
        assert any(re.search(said, str(each.message)) for each in heard)
    if outcome == "right":
        assert found


def test_the_page_tells_how_many_end_how():
    section = PAGE.read_text(encoding="utf-8").split("## Mistakes")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| (\d+) \|", section, re.MULTILINE)
    found = Counter(outcome for _, outcome, _ in MISTAKES.values())
    assert {outcome: int(count) for outcome, count in rows} == found
