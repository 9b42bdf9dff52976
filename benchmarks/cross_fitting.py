"""What calibrating on all queries by cross-fitting gains over setting a part aside.

    python benchmarks/cross_fitting.py --data MQ2008 OHSUMED --labels emotions yeast
    python benchmarks/cross_fitting.py            # triage and simulated; minutes
    python benchmarks/cross_fitting.py --smoke    # seconds
    python benchmarks/cross_fitting.py --own      # what `calibration_totals_` says

Some queries of a collection train and calibrate, the others measure. A folder of
FoldN gives the queries of ``train.txt`` and ``vali.txt`` of its first fold; a folder of
label sets its training file. Each draw of the queries is used for all settings.
Standard errors of differences are over draws; draws from one small collection share
queries, so that the true errors are larger.
"""

import json
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
from lightgbm import LGBMRanker
from scipy.io import arff
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import ndcg_score
from sklearn.preprocessing import scale
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor, load_triage, make_ranking
from skrank_abstain.metrics import aurc_loss
from skrank_abstain.multilabel import (
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
)
from skrank_abstain.pairs import group_queries, pair_labels

COVERAGES = (0.6, 0.7, 0.8)
#: X, y and qid; or X, y and None where each row is a query of labels.
Part = tuple[Any, Any, Any]


def booster(**options: Any) -> LGBMRanker:
    """Return a LambdaMART."""
    return LGBMRanker(n_jobs=1, verbose=-1, **options)


def drawn(pool: Part, n_queries: int, seed: int) -> tuple[Part, Part]:
    """Return the rows of some queries, and those of the others."""
    X, y, qid = pool
    names = np.arange(len(X)) if qid is None else qid
    values = np.unique(names)
    chosen = np.random.default_rng(seed).permutation(values)[:n_queries]
    mine = np.isin(names, chosen)
    parts = [(X[at], y[at], None if qid is None else qid[at]) for at in (mine, ~mine)]
    return parts[0], parts[1]


def simulated(n_queries: int, seed: int) -> tuple[Part, Part]:
    """Return queries of eight items, and 400 others of the same kind."""
    sizes = (n_queries, 400)
    made = [make_ranking(n, 8, random_state=2 * seed + k) for k, n in enumerate(sizes)]
    parts = [(each.data, each.target, each.qid) for each in made]
    return parts[0], parts[1]


def read_mulan(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of an ARFF file; the XML file names the labels."""
    tags = ET.parse(next(path.parent.glob("*.xml"))).iter()
    labels = {tag.get("name") for tag in tags}
    table, _ = arff.loadarff(path)
    names = table.dtype.names
    X = [table[name].astype(float) for name in names if name not in labels]
    y = [table[name].astype(int) for name in names if name in labels]
    return np.column_stack(X), np.column_stack(y)


def worlds(
    folders: list[Path], labels: list[Path]
) -> Iterator[tuple[str, Any, Callable[[int], tuple[Part, Part]]]]:
    """Yield a name, an unfitted model, and what draws two parts."""
    for n in (12, 34, 60):
        yield (
            f"sim{n}",
            booster(n_estimators=30, min_child_samples=5),
            partial(simulated, n),
        )
    yield "sim12, Ridge", Ridge(), partial(simulated, 12)
    known = load_triage()
    days = partial(drawn, (known.data, known.target, known.qid), 24)
    small = booster(n_estimators=40, learning_rate=0.05, num_leaves=5)
    yield "triage, 24 days", small, days
    yield "triage, 24 days, Ridge", Ridge(), days
    for folder in folders:
        fold = load_letor(folder / "Fold1")
        parts = fold.train, fold.validation
        pool: Any = tuple(
            np.concatenate([part[name] for part in parts])
            for name in ("data", "target", "qid")
        )
        for n in (60, 150):
            if n < np.unique(pool[2]).size - 20:
                yield f"{folder.name}, {n}", booster(), partial(drawn, pool, n)
    for folder in labels:
        X, y = read_mulan(next(folder.glob("*-train.arff")))
        model = ThresholdDecompositionRanker(LogisticRegression(max_iter=1000))
        pool = (scale(X), y, None)
        yield f"{folder.name}, 100", model, partial(drawn, pool, 100)


def patients(n_queries: int, seed: int) -> tuple[Part, Part]:
    """Return queries of eight patients, and 20 divisions of the others into such."""
    known, random = load_triage(), np.random.default_rng(seed)
    order = random.permutation(known.target.size)
    mine, others = order[: 8 * n_queries], order[8 * n_queries :]
    whole = others.size // 8 * 8
    new = np.concatenate([random.permutation(others)[:whole] for _ in range(20)])
    parts = [
        (known.data[at], known.target[at], np.arange(at.size) // 8)
        for at in (mine, new)
    ]
    return parts[0], parts[1]


def print_own(draws: range, quiet: bool) -> None:
    """Print the wrong orders that rankers know of, and those of new queries."""
    small = booster(n_estimators=30, min_child_samples=5)
    tiny = booster(n_estimators=40, learning_rate=0.05, num_leaves=5)
    kinds = [("simulated", simulated, n, small) for n in (12, 25, 50)]
    kinds += [("triage", patients, n, tiny) for n in (12, 25)]
    print("| queries of 8 | model | said | new | off by | interval holds |")
    print("|---" * 6 + "|")
    for (name, draw, n, lgbm), model in product(kinds, ("Ridge", "LightGBM")):
        found = []
        for seed in tqdm(draws, desc=f"{name}, {n}", disable=quiet):
            (X, y, qid), (new, truth, days) = draw(n, seed)
            ranker = BALToR(Ridge() if model == "Ridge" else lgbm, random_state=seed)
            own = ranker.fit(X, y, qid=qid).calibration_totals_
            true = ranker.evaluate(new, truth, qid=days).discordance_interval("pairs")
            found.append([*own.discordance_interval("pairs"), true[0]])
        said, low, high, right = np.array(found).T
        off = np.sqrt(np.mean((said - right) ** 2))
        holds = np.mean((low <= right) & (right <= high))
        cells = [f"{each:.3f}" for each in (said.mean(), right.mean(), off, holds)]
        print("|", " | ".join([f"{name}, {n}", model, *cells]), "|")


def measured(
    options: dict[str, Any], model: Any, parts: tuple[Part, Part], seed: int
) -> dict[str, Any]:
    """Fit on the first part and measure on the second."""
    (X, y, qid), new = parts
    kind = BALToR if qid is not None else SelectiveMultilabelRanker
    start = time.process_time()
    fitted: Any = kind(model, random_state=seed, **options)
    fitted = fitted.fit(X, y, qid=qid) if qid is not None else fitted.fit(X, y)
    row: dict[str, Any] = {"seconds": time.process_time() - start}
    ranker = fitted
    if qid is None:
        new, ranker = fitted.to_items(*new[:2])[:3], fitted.selective_ranker_
    row["off"] = [
        ranker.at_coverage(c).evaluate(*new[:2], qid=new[2]).coverage - c
        for c in COVERAGES
    ]
    pairs = ranker.predict_pairs(new[0], qid=new[2])
    truth = pair_labels(new[1], pairs.left, pairs.right)
    row["AURC"] = float(aurc_loss(truth, pairs.label, pairs.risk, loss=fitted.loss))
    row["NDCG@10"] = ndcg(ranker.predict(new[0], qid=new[2]), new[1], new[2])
    return row


def ndcg(scores: Any, y: Any, qid: Any) -> float:
    """Return the mean NDCG@10 of the queries that have anything relevant."""
    queries, gains = group_queries(qid, len(y)), 2.0 ** np.asarray(y) - 1
    found = [
        ndcg_score([gains[rows]], [scores[rows]], k=10)
        for rows in map(queries.rows, range(queries.n_queries))
        if rows.size > 1 and gains[rows].any()
    ]
    return float(np.mean(found))


def summary(rows: list[dict[str, Any]], setting: str) -> dict[str, Any]:
    """Return means over draws, and gains over the split with standard errors."""
    mine = [row for row in rows if row["setting"] == setting]
    split = [row for row in rows if row["setting"] == "split"]
    off, before = (np.array([row["off"] for row in each]) for each in (mine, split))
    found: dict[str, Any] = {
        "error": np.abs(off).mean(),
        "bias": off.mean(),
        "seconds": np.sum([row["seconds"] for row in mine])
        / np.sum([row["seconds"] for row in split]),
    }
    gains = {"error_gain": (np.abs(off) - np.abs(before)).mean(axis=1)}
    for name in ("AURC", "NDCG@10"):
        values, others = ([row[name] for row in each] for each in (mine, split))
        found[name], gains[f"{name}_gain"] = (
            np.mean(values),
            np.subtract(values, others),
        )
    for name, gain in gains.items():
        found[name] = gain.mean(), gain.std(ddof=1) / np.sqrt(gain.size)
    return found


def print_table(rows: list[dict[str, Any]], settings: list[str]) -> None:
    """Print a markdown table, pooled over worlds in its last line."""
    names = list(dict.fromkeys(row["world"] for row in rows))
    head = ["queries", "setting", "coverage is off by", "bias", "AURC", "to the split"]
    print("|", " | ".join([*head, "NDCG@10", "to the split", "fit"]), "|")
    print("|---" * 9 + "|")
    pooled: dict[str, list[dict[str, Any]]] = {name: [] for name in settings}
    for world in names:
        here = [row for row in rows if row["world"] == world]
        for setting in settings:
            found = summary(here, setting)
            pooled[setting].append(found)
            cells = [world, setting, f"{found['error']:.3f}", f"{found['bias']:+.3f}"]
            for name in ("AURC", "NDCG@10"):
                gain, error = found[f"{name}_gain"]
                shown = f"{gain:+.4f} ± {error:.4f}" if setting != "split" else ""
                cells += [f"{found[name]:.4f}", shown]
            print("|", " | ".join([*cells, f"{found['seconds']:.1f}"]), "|")
    for setting, each in pooled.items():
        means = [np.mean([found[name] for found in each]) for name in ("error", "bias")]
        gains = [
            np.mean([found[f"{name}_gain"][0] for found in each])
            for name in ("AURC", "NDCG@10")
        ]
        print(
            f"| mean | {setting} | {means[0]:.3f} | {means[1]:+.3f} | | {gains[0]:+.4f}"
            f" | | {gains[1]:+.4f} | |"
        )


def main(argv: list[str] | None = None) -> list[dict[str, Any]]:
    """Measure, print the table and write every row."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--labels", type=Path, nargs="*", default=[])
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--folds", type=int, nargs="*", default=[5])
    parser.add_argument("--loss", default="misranking")
    parser.add_argument("--tie-model", default="graded_relevance")
    parser.add_argument("--only", default="", help="worlds whose names begin with this")
    parser.add_argument("--own", action="store_true", help="wrong orders said and true")
    parser.add_argument("--smoke", action="store_true", help="two draws of few worlds")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    # Few queries and many ties are what is measured here.
    warnings.filterwarnings("ignore", "Only . queries set|Nearly all accepted pairs")
    common = {"loss": args.loss, "tie_model": args.tie_model}
    settings: dict[str, dict[str, Any]] = {"split": {"calibration_size": 0.25}}
    settings |= {f"cv={k}": {"cv": k} for k in args.folds}
    if args.own:
        print_own(range(2 if args.smoke else args.draws), args.quiet)
        return []
    chosen = [w for w in worlds(args.data, args.labels) if w[0].startswith(args.only)]
    chosen = chosen[:1] + chosen[4:5] if args.smoke else chosen
    draws = range(2 if args.smoke else args.draws)
    jobs = [(world, seed) for world in chosen for seed in draws]
    rows = []
    for (name, model, draw), seed in tqdm(jobs, desc="draws", disable=args.quiet):
        parts = draw(seed)
        for setting, options in settings.items():
            row = measured({**common, **options}, model, parts, seed)
            rows.append({"world": name, "seed": seed, "setting": setting, **row})
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "cross_fitting.json").write_text(json.dumps(rows, indent=1) + "\n")
    print_table(rows, list(settings))
    return rows


if __name__ == "__main__":
    main()
