"""What a ranker ensemble adds to a booster, to early stopping and to features.

    python benchmarks/ensembles.py --data MQ2008 OHSUMED     # folders of FoldN; an hour
    python benchmarks/ensembles.py                           # simulated folds; minutes
    python benchmarks/ensembles.py --smoke                   # seconds

LambdaMART with the default parameters of each library is trained on the training
queries; early stopping takes 500 trees at a rate of .05 and stops after 50 without
progress on the validation queries. An ensemble around either has the default
classifier. The validation queries calibrate every ranker, the test queries measure it.
Differences to early stopping come with their standard errors over folds.
"""

import json
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from catboost import CatBoostRanker, Pool
from lightgbm import LGBMRanker, early_stopping
from sklearn.metrics import ndcg_score
from tqdm import tqdm
from xgboost import XGBRanker

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.metrics import aurc_loss
from skrank_abstain.pairs import group_queries, pair_labels
from skrank_abstain.scorers import RankerEnsemble, fit_ranker

LOSSES = {
    "zero-one": [[0, 1, 1], [1, 0, 1], [1, 1, 0]],
    "misranking": [[0, 0, 1], [1, 0, 1], [1, 0, 0]],
}
#: Pairs in the wrong order when the least risky four fifths are decided, of all pairs.
WRONG, COVERAGE = "wrong at .8", 0.8
MEASURES = (*LOSSES, "NDCG@10", WRONG)
TIE_MODELS = {"": "graded_relevance", " + features": "feature_aware_relevance"}
BASELINE = "early stopping"
#: Rankers that are not measured with the feature-aware tie model.
WITHOUT_FEATURES = ("ensemble, early stopping, context=False", "served, ensemble")
QUIET = {
    "lightgbm": {"verbose": -1, "n_jobs": 1},
    "xgboost": {"n_jobs": 1},
    "catboost": {
        **{"verbose": False, "thread_count": 1, "allow_writing_files": False},
        "loss_function": "LambdaMart",
    },
}


def default_ranker(library: str, n_trees: int | None = None) -> Any:
    """Return an unfitted LambdaMART, with few trees for a trial run."""
    kind = {"lightgbm": LGBMRanker, "xgboost": XGBRanker, "catboost": CatBoostRanker}
    few = {"n_estimators": n_trees} if n_trees else {}
    return kind[library](**QUIET[library], **few)


def early_stopped(library: str, train: Any, valid: Any, n_trees: int) -> Any:
    """Train until 50 trees bring nothing on the validation queries."""
    few, patience = {"n_estimators": n_trees, "learning_rate": 0.05}, 50
    parts = [sorted_by_query(part) for part in (train, valid)]
    (X, y, qid), (X_valid, y_valid, qid_valid) = parts
    sizes = [np.unique(each, return_counts=True)[1] for each in (qid, qid_valid)]
    if library == "lightgbm":
        return LGBMRanker(**QUIET[library], **few).fit(
            *(X, y),
            group=sizes[0],
            eval_set=[(X_valid, y_valid)],
            eval_group=[sizes[1]],
            eval_at=[10],
            callbacks=[early_stopping(patience, verbose=False)],
        )
    if library == "xgboost":
        stop = {"early_stopping_rounds": patience, "eval_metric": "ndcg@10"}
        return XGBRanker(**QUIET[library], **few, **stop).fit(
            *(X, y),
            qid=qid,
            eval_set=[(X_valid, y_valid)],
            eval_qid=[qid_valid],
            verbose=False,
        )
    stop = {"early_stopping_rounds": patience, "eval_metric": "NDCG:top=10"}
    valid_pool = Pool(X_valid, y_valid, group_id=qid_valid)
    return CatBoostRanker(**QUIET[library], **few, **stop).fit(
        X, y, group_id=qid, eval_set=valid_pool
    )


def sorted_by_query(part: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, y and the number of each row's query, in ascending order."""
    codes = group_queries(part.qid, len(part.target)).codes
    order = np.argsort(codes, kind="stable")
    return part.data[order], part.target[order], codes[order]


def folds_of(folder: Path | None, smoke: bool) -> Iterator[tuple[str, Any]]:
    """Yield the name and the parts of each fold."""
    if folder is not None:
        for path in sorted(p for p in folder.glob("Fold*") if p.is_dir()):
            yield path.name, load_letor(path)
        return
    for k in range(2 if smoke else 5):
        sizes = {"train": 30 if smoke else 300, "validation": 30, "test": 30}
        parts = {
            name: make_ranking(n_queries=size, n_items=20, random_state=10 * k + j)
            for j, (name, size) in enumerate(sizes.items())
        }
        yield f"Fold{k + 1}", SimpleNamespace(**parts)


def timed(call: Any, *args: Any, times: int = 1) -> tuple[Any, float]:
    """Return what a call returns, and the least seconds of the processor."""
    seconds = []
    for _ in range(times):
        start = time.process_time()  # other programs on the machine do not count
        made = call(*args)
        seconds.append(time.process_time() - start)
    return made, min(seconds)


def measured(model: Any, tie_model: str, fold: Any) -> dict[str, float]:
    """Calibrate on the validation queries and measure on the test queries."""
    valid, test, row = fold.validation, fold.test, {}
    for name, loss in LOSSES.items():
        ranker = BALToR(model, tie_model=tie_model, loss=loss, random_state=0)
        ranker.fit(valid.data, valid.target, qid=valid.qid)
        pairs = ranker.predict_pairs(test.data, qid=test.qid)
        truth = pair_labels(test.target, pairs.left, pairs.right)
        row[name] = float(aurc_loss(truth, pairs.label, pairs.risk, loss=loss))
    # The last loss is the default, misranking.
    decided = np.argsort(pairs.risk, kind="stable")[: round(COVERAGE * len(pairs))]
    wrong = pairs.label[decided] * truth[decided] == -1
    row[WRONG] = float(wrong.sum() / len(pairs))
    places = ranker.ranking(test.data, qid=test.qid)
    queries = group_queries(test.qid, len(test.target))
    above = np.empty(len(test.target))
    above[places.item_id] = -places.place
    gains = 2.0**test.target - 1
    row["NDCG@10"] = np.mean(
        [
            ndcg_score([gains[rows]], [above[rows]], k=10)
            for rows in map(queries.rows, range(queries.n_queries))
            if rows.size > 1 and gains[rows].any()
        ]
    )
    return row


def rows_of(library: str, fold: Any, smoke: bool) -> Iterator[dict[str, Any]]:
    """Yield one row of figures per model and tie model."""
    train, test = fold.train, fold.test
    queries = group_queries(train.qid, len(train.target))
    few = 5 if smoke else None

    def trained(model: Any) -> Any:
        return fit_ranker(model, train.data, train.target, queries)

    booster, fit_booster = timed(trained, default_ranker(library, few))
    _, predict_booster = timed(booster.predict, test.data, times=5)
    stopped, fit_stopped = timed(
        early_stopped, library, train, fold.validation, 20 if smoke else 500
    )
    models = {
        "default": (booster, fit_booster),
        BASELINE: (stopped, fit_stopped),
        "ensemble": timed(trained, RankerEnsemble(default_ranker(library, few))),
        "ensemble, early stopping": timed(trained, RankerEnsemble(stopped)),
        "ensemble, early stopping, context=False": timed(
            trained, RankerEnsemble(stopped, context=False)
        ),
        # A served booster: only validation queries are there to train the classifier,
        # and a quarter of them is set aside to calibrate.
        "served, ensemble": (RankerEnsemble(booster), 0.0),
    }
    for name, (model, fit_seconds) in models.items():
        predict_seconds = 0.0
        if "served" not in name:
            options = {"qid": test.qid} if "ensemble" in name else {}
            predict = partial(model.predict, test.data, **options)
            _, predict_seconds = timed(predict, times=5)
        for suffix, tie_model in TIE_MODELS.items():
            if suffix and name in WITHOUT_FEATURES:
                continue
            yield {
                "model": name + suffix,
                "library": library,
                "fit": fit_seconds / fit_booster,
                "predict": predict_seconds / predict_booster,
                **measured(model, tie_model, fold),
            }


def print_table(collection: str, rows: list[dict[str, Any]]) -> None:
    """Print means over folds, and differences to early stopping with their errors."""
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["library"], row["model"]), []).append(row)
    print(f"\n### {collection}\n\nIn brackets the worst fold.\n")
    header = ["library", "model", *(f"{n} | to early stopping" for n in MEASURES)]
    header += ["avoided of ten wrong", "fit", "predict"]
    print("|", " | ".join(header), "|")
    print("|---" * (len(header) + len(MEASURES)) + "|")
    for (library, model), found in cells.items():
        line = [library, model]
        for name in MEASURES:
            value = np.array([row[name] for row in found])
            gain = value - [row[name] for row in cells[library, BASELINE]]
            error = gain.std(ddof=1) / np.sqrt(gain.size)
            worst = gain.min() if name == "NDCG@10" else gain.max()
            shown = f"{gain.mean():+.4f} ± {error:.4f} ({worst:+.4f})"
            line += [f"{value.mean():.4f}", "" if model == BASELINE else shown]
        wrong, before = (
            sum(row[WRONG] for row in each)
            for each in (found, cells[library, BASELINE])
        )
        line.append("" if model == BASELINE else f"{10 * (1 - wrong / before):.1f}")
        for name in ("fit", "predict"):
            ratio = np.mean([row[name] for row in found])
            line.append(f"{ratio:.1f}" if ratio else "")
        print("|", " | ".join(line), "|")


def main() -> None:
    """Measure, print the tables and write every row."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", default=[None])
    parser.add_argument("--libraries", nargs="+", default=list(QUIET))
    parser.add_argument("--smoke", action="store_true", help="two small folds")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    results = []
    for folder in args.data:
        collection = folder.name if folder else "simulated"
        folds = list(folds_of(folder, args.smoke))
        jobs = [(library, *fold) for library in args.libraries for fold in folds]
        rows = []
        for library, name, fold in tqdm(jobs, desc=collection, disable=args.quiet):
            rows += [
                {"collection": collection, "fold": name, **row}
                for row in rows_of(library, fold, args.smoke)
            ]
            results_so_far = json.dumps(results + rows, indent=1)
            (args.out / "ensembles.json").write_text(results_so_far + "\n")
        results += rows
        print_table(collection, rows)


if __name__ == "__main__":
    main()
