"""What answers of people are worth, and what a question costs.

    python benchmarks/review.py --data MQ2008 OHSUMED    # folders of FoldN; hours
    python benchmarks/review.py                          # simulated folds; minutes
    python benchmarks/review.py --places --data MQ2008 OHSUMED    # first places alone
    python benchmarks/review.py --answers --data MQ2008 OHSUMED    # few answers alone
    python benchmarks/review.py --smoke                  # seconds

An XGBRanker is trained and calibrated; reviewers are simulated by the labels of the
test queries. Questions that `ask` chooses stand beside those at random. Then: how well
the errors of two reviewers are found who gave a thousand answers each, or as many as
there were questions; what becomes of reviewers who call close items the same; what a
few answers do to a list of at most twenty items; the time of one question; and how
often the items that the decided pairs put among the first k places belong there, before
answers and after. Few answers and first places are measured on clinic days, too.
"""

import json
import time
import warnings
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from lightgbm import LGBMRanker
from sklearn.metrics import ndcg_score
from tqdm import tqdm
from xgboost import XGBRanker

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor, load_triage, make_ranking
from skrank_abstain.pairs import group_queries, pair_labels
from skrank_abstain.review import review_curve
from skrank_abstain.scorers import fit_ranker

BUDGETS = [0.0, 0.01, 0.025]
SHOWN = {"accuracy": "right", "expected_accuracy": "expect", "ndcg": "NDCG"}
TWO = {"careful": 0.05, "careless": 0.30}
#: Objective, error rate, whether the review knows the rate.
RUNS = [
    (objective, error, True)
    for objective in ("pairs", "top", "riskiest", "random")
    for error in (0.0, 0.1)
] + [("pairs", error, False) for error in (0.0, 0.1)]


def folds_of(folder: Path | None, smoke: bool) -> Iterator[tuple[str, Any]]:
    """Yield the name and the parts of each fold."""
    if folder is not None:
        for path in sorted(p for p in folder.glob("Fold*") if p.is_dir()):
            yield path.name, load_letor(path)
        return
    for k in range(1 if smoke else 3):
        sizes = {"train": 100, "validation": 60, "test": 4 if smoke else 60}
        parts = {
            name: make_ranking(n_queries=size, n_items=20, random_state=10 * k + j)
            for j, (name, size) in enumerate(sizes.items())
        }
        yield f"Fold{k + 1}", SimpleNamespace(**parts)


def calibrated(fold: Any, **options: Any) -> BALToR:
    """Train on the training queries, calibrate on the validation queries."""
    train, vali = fold.train, fold.validation
    queries = group_queries(train.qid, train.qid.size)
    model = XGBRanker(n_estimators=100, max_depth=4, n_jobs=2)
    y = np.asarray(train.target, dtype=float)
    bins = options.get("relevance_bins")
    model = fit_ranker(model, train.data, y, queries, relevance_bins=bins)
    with warnings.catch_warnings():
        # That ties are accepted first is no matter here: nothing is accepted.
        warnings.filterwarnings("ignore", "Nearly all accepted pairs are ties")
        # What a review gets right are labels, ties included.
        options = {"loss": "zero_one", "random_state": 0} | options
        ranker = BALToR(model, **options)
        return ranker.fit(vali.data, vali.target, qid=vali.qid)


def run_fold(fold: Any, budgets: list[float], *, quiet: bool, title: str) -> Any:
    """Return a curve for each run, and the rates found for two reviewers."""
    ranker, test = calibrated(fold), fold.test
    items = (test.data, np.asarray(test.target, dtype=float))
    curves = {}
    for objective, error, known in tqdm(RUNS, desc=title, disable=quiet):
        curves[objective, error, known] = review_curve(
            ranker,
            *items,
            qid=test.qid,
            budgets=budgets,
            error=error,
            objective=objective,
            reviewer_error=error / 2 if known else None,
            random_state=0,
        )
    n_pairs = sum(n * (n - 1) // 2 for n in np.unique(test.qid, return_counts=True)[1])
    found = review_curve(
        ranker,
        *items,
        qid=test.qid,
        budgets=[min(1.0, 2000 / n_pairs)],
        error=TWO,
        random_state=0,
    )
    return curves, {"answers": int(found["asked"][0]), **found["reviewer_error"][0]}


def print_runs(title: str, folds: list[Any], budgets: list[float]) -> list[Any]:
    """Print means over folds: right, expected, and NDCG, by budget."""
    print(f"\n{title}: mean over {len(folds)} folds, by share of the pairs asked")
    heads = [f"{head} {b:.1%}" for head in SHOWN.values() for b in budgets]
    print(
        f"{'questions':10}{'wrong':>6}{'known':>6}  "
        + "".join(f"{h:>12}" for h in heads)
    )
    rows = []
    for run in RUNS:
        means = {
            what: np.mean([curves[run][what] for curves, _ in folds], axis=0).tolist()
            for what in SHOWN
        }
        objective, error, known = run
        cells = "".join(f"{m:>12.3f}" for what in SHOWN for m in means[what])
        print(f"{objective:10}{error:>6.0%}{'yes' if known else 'no':>6}  {cells}")
        rows.append({"objective": objective, "error": error, "known": known, **means})
    for name, rate in TWO.items():
        found = [rates[name] for _, rates in folds]
        text = " ".join(f"{value:.3f}" for value in found)
        # Fewer where nothing was left to ask.
        answers = min(rates["answers"] for _, rates in folds) // 2
        print(
            f"reviewer who errs in {rate:.0%} and reverses half of that, "
            f"{answers:,} answers, found: {text}"
        )
        rows.append({"reviewer": name, "error": rate, "found": found})
    return rows


def noticed(smoke: bool) -> list[Any]:
    """Print what becomes of reviewers who say "same" of close items."""
    sizes = (100, 60, 4 if smoke else 40)
    train, vali, test = (
        make_ranking(n_queries=n, n_items=20, random_state=k)
        for k, n in enumerate(sizes)
    )
    for part in (train, vali, test):
        part.target = part.utility  # no two items are tied
    fold = SimpleNamespace(train=train, validation=vali, test=test)
    ranker = calibrated(fold, relevance_bins=5)
    spread = float(np.std(test.target))
    print("\nReviewers who notice a difference of at least so many standard deviations")
    print(f"{'notice':>8}{'same':>8}{'right 5%':>10}{'expected':>10}{'reversed':>13}")
    rows = []
    for share in (0.0, 0.1, 0.25, 0.5):
        values = defaultdict(list)
        for seed in range(1 if smoke else 5):
            curve = review_curve(
                ranker,
                test.data,
                test.target,
                qid=test.qid,
                budgets=[0.05],
                error=0.0,
                noticeable=share * spread,
                random_state=seed,
            )
            values["right"].append(curve["accuracy"][0])
            values["expected"].append(curve["expected_accuracy"][0])
            values["found"].append(curve["reviewer_error"][0]["reviewer"])
        gaps = np.abs(np.subtract.outer(test.target, test.target))
        one = test.qid[:, None] == test.qid[None, :]
        same = float(np.mean(gaps[one & (gaps > 0)] < share * spread))
        row = {"noticeable": share, "same": same}
        row |= {name: float(np.mean(found)) for name, found in values.items()}
        right, expected, error = row["right"], row["expected"], row["found"]
        print(f"{share:>8}{same:>8.1%}{right:>10.3f}{expected:>10.3f}{error:>13.3f}")
        rows.append(row)
    return rows


def short_lists(folder: Path | None, smoke: bool) -> Iterator[Any]:
    """Yield a ranker and queries of at most twenty items for each fold: X, y, qid."""
    for _, fold in folds_of(folder, smoke):
        ranker, test = calibrated(fold, loss="misranking", coverage=0.6), fold.test
        qid = np.asarray(test.qid)
        few = np.isin(qid, [q for q in np.unique(qid) if (qid == q).sum() <= 20])
        if not few.any():  # all are longer: the first twenty by score
            score = ranker.predict(test.data)
            ahead = (score[:, None] < score) & (qid[:, None] == qid)
            few = ahead.sum(axis=1) < 20
        y = np.asarray(test.target, dtype=float)
        yield ranker, test.data[few], y[few], qid[few]


def short_days(smoke: bool) -> Iterator[Any]:
    """Yield a ranker and ten of the 34 days of the triage data for each split."""
    data = load_triage()
    X, y, qid = data.data, np.asarray(data.target, dtype=float), data.qid
    for seed in range(1 if smoke else 5):
        days = np.random.default_rng(seed).permutation(np.unique(qid))[:10]
        new = np.isin(qid, days)
        model = LGBMRanker(
            n_estimators=40, learning_rate=0.05, num_leaves=5, n_jobs=1, verbose=-1
        )
        ranker = BALToR(model, coverage=0.6, calibration_size=0.3, random_state=seed)
        yield ranker.fit(X[~new], y[~new], qid=qid[~new]), X[new], y[new], qid[new]


def few_answers(title: str, lists: Iterator[Any]) -> list[Any]:
    """Print what 1, 3 and 6 answers a query do to lists of at most twenty items.

    NDCG@10, and that of the order by expected gain alone; then shares: decided orders
    that are wrong (the mean over folds); items with worst <= 3 that are truly among the
    first three; answers "same" whose pair is a decided tie; pairs without an answer
    about either item whose decision changed; and, of items in answers that confirm the
    list, those with wider ranks, and those that left their printed ranks.
    """
    heads = ["NDCG@10", "by gain", "wrong", "top 3", "tie", "unasked", "wider", "left"]
    print(f"\n{title}: few answers a query, 60% of the pairs decided")
    print("".join(f"{head:>10}" for head in ["reviewer", "answers", *heads]))
    found = defaultdict(list)
    for seed, parts in enumerate(lists):
        for kind, n in product(("grade", "finer", "10% wrong"), (1, 3, 6)):
            found[kind, n].append(few_of_fold(*parts, kind, n, seed))
    rows = []
    for (kind, n), shares in found.items():
        over, under = np.sum(shares, axis=0)
        # Of nothing there is no share.
        values = np.where(under, over / np.maximum(under, 1), np.nan).tolist()
        print(f"{kind:>10}{n:>10}" + "".join(f"{v:>10.3f}" for v in values))
        row = {"reviewer": kind, "answers": n, **dict(zip(heads, values, strict=True))}
        rows.append(row)
    return rows


def few_of_fold(
    ranker: BALToR, X: Any, y: Any, qid: Any, kind: str, n: int, seed: int
) -> Any:
    """Return numerators and denominators of what `few_answers` prints, (2, 8)."""
    rng = np.random.default_rng(seed)
    before = ranker.review(X, qid=qid)
    asked = before.ask(n * np.unique(qid).size, objective="top", per_query=n)
    left, right = asked.left, asked.right
    seen = y + rng.uniform(0, 0.9, y.size) * (kind == "finer")
    label = pair_labels(seen, left, right)
    if kind == "10% wrong":
        wrong, turn = rng.random(label.size) < 0.1, rng.choice([-1, 1], label.size)
        other = np.where(label == 0, turn, np.where(turn > 0, -label, 0))
        label = np.where(wrong, other, label)
    words = np.array(["right", "same", "left"])[label + 1]
    said = {"left": left, "right": right, "label": words}
    after = ranker.review(X, qid=qid, answers=said)
    old, new = before.decisions, after.decisions
    bounds = [review.rank_intervals() for review in (before, after)]
    places, gain = np.empty((2, y.size), dtype=int), np.empty(y.size)
    for place, review in zip(places, (before, after), strict=True):
        ranking = review.ranking()
        place[ranking.item_id], gain[ranking.item_id] = ranking.place, ranking.score
    graded = [qid == q for q in np.unique(qid) if y[qid == q].any()]
    ndcg = [
        [ndcg_score([2 ** y[rows] - 1], [order[rows]], k=10) for rows in graded]
        for order in (-places[1], gain)
    ]
    truth = pair_labels(y, new.left, new.right)
    ordered = new.decided_order & (truth != 0)
    number = {pair: k for k, pair in enumerate(zip(old.left, old.right, strict=True))}
    at = [number[min(pair), max(pair)] for pair in zip(left, right, strict=True)]
    same = np.array(at, dtype=int)[label == 0]
    first = bounds[1][:, 1] <= 3
    third = np.array([np.sort(y[qid == q])[-3:][0] for q in qid[first]])
    silent = np.isin(qid[old.left], qid[left])
    silent &= ~(np.isin(old.left, [left, right]) | np.isin(old.right, [left, right]))
    changed = (old.label != new.label) | (old.accepted != new.accepted)
    confirms = label == np.sign(places[0][right] - places[0][left])
    items = np.concatenate([left[confirms], right[confirms]])
    wide = np.diff(bounds[1])[items, 0] > np.diff(bounds[0])[items, 0]
    low, high = bounds[0][items].T
    out = (places[1][items] < low) | (places[1][items] > high)
    means = [*ndcg, (new.label != truth)[ordered]]
    parts = y[first] >= third, new.decided_tie[same], changed[silent], wide, out
    over = [np.mean(mean) for mean in means] + [part.sum() for part in parts]
    return [over, [1] * len(means) + [part.size for part in parts]]


def time_of_question(smoke: bool) -> dict[str, float]:
    """Print the milliseconds of the processor for a question, 120 items."""
    sizes = (100, 60, 1)
    parts = [
        make_ranking(n_queries=n, n_items=120 if n == 1 else 20, random_state=k)
        for k, n in enumerate(sizes)
    ]
    fold = SimpleNamespace(train=parts[0], validation=parts[1], test=parts[2])
    ranker, X = calibrated(fold), parts[2].data
    n = 5 if smoke else 60
    seconds = {}
    for objective in ("pairs", "top"):
        asked = ranker.review(X).ask(n, objective=objective)
        answers = {"left": asked.left, "right": asked.right, "label": ["left"] * n}
        review = ranker.review(X, answers=answers, reviewer_error=0.05)
        review.ask(1, objective=objective)
        start = time.process_time()
        review.ask(n, objective=objective)
        seconds[objective] = 1000 * (time.process_time() - start) / n
    print(
        "\nMilliseconds of the processor for a question, 120 items, 60 answered before:"
    )
    print(", ".join(f"{name} {value:.1f}" for name, value in seconds.items()))
    return seconds


#: Answers a query and shares of them that are wrong, for first places.
ANSWERED = [(0, 0.0), (1, 0.0), (3, 0.0), (3, 0.1)]


def clinic_days(smoke: bool) -> Iterator[Any]:
    """Yield groupings of the triage patients: days to train, to calibrate, to test."""
    for seed in range(1 if smoke else 10):
        data = load_triage(random_state=seed)
        ends = {"train": (0, 17), "validation": (17, 24), "test": (24, 34)}
        parts = {}
        for name, (low, high) in ends.items():
            rows = (low <= data.qid) & (data.qid < high)
            columns = {key: data[key][rows] for key in ("data", "target", "qid")}
            parts[name] = SimpleNamespace(**columns)
        yield SimpleNamespace(**parts)


def answered(questions: Any, y: Any, error: float, rng: Any) -> list[dict[str, Any]]:
    """Answer questions by the labels; any other label is as likely for an error."""
    said = []
    truth = pair_labels(y, questions.left, questions.right).tolist()
    for pair, label in zip(questions, truth, strict=True):
        if rng.random() < error:
            label = rng.choice([other for other in (-1, 0, 1) if other != label])
        row = {"qid": pair.qid, "left": pair.left, "right": pair.right}
        said.append(row | {"label": {-1: "right", 0: "same", 1: "left"}[int(label)]})
    return said


def first_places(
    title: str, folds: Any, coverages: list[float], *, quiet: bool
) -> list[Any]:
    """Print how often items that are put among the first k, or not, are there, or not.

    Coverage 1 without answers has the first k by score alone.
    """
    # For each query: items with worst <= k, with best > k, those of them right, and how
    # many of the former would be, drawn from the query by lot: ties make that many.
    counts = defaultdict(list)
    for fold in tqdm(folds, desc=f"first places, {title}", disable=quiet):
        full = calibrated(fold, loss="misranking")
        X, qid = fold.test.data, np.asarray(fold.test.qid)
        y = np.asarray(fold.test.target, dtype=float)
        names, sizes = np.unique(qid, return_counts=True)
        better = ((qid == qid[:, None]) & (y > y[:, None])).sum(axis=1)
        asked: dict[tuple[float, int], Any] = {}  # the questions are the slow part
        for coverage, (n, error) in [(1.0, (0, 0.0)), *product(coverages, ANSWERED)]:
            ranker, rng = full.at_coverage(coverage), np.random.default_rng(0)
            ranks = ranker.rank_intervals(X, qid=qid)
            if n:
                if (coverage, n) not in asked:
                    review = ranker.review(X, qid=qid)
                    asked[coverage, n] = review.ask(n * names.size, per_query=n)
                said = answered(asked[coverage, n], y, error, rng)
                ranks = ranker.review(X, qid=qid, answers=said).rank_intervals()
            for k, query in product((1, 3, 10), names):
                if sizes[names == query] <= k:
                    continue  # all places are among the first k
                listed = (ranks[:, 1] <= k) & (qid == query)
                out = (ranks[:, 0] > k) & (qid == query)
                right = (better[listed] < k).sum(), (better[out] >= k).sum()
                chance = listed.sum() * (better[qid == query] < k).mean()
                each = listed.sum(), out.sum(), *right, chance
                counts[coverage, n, error, k].append(each)
    print(f"\n{title}: share of the items with worst <= k that are among the first k;")
    print("beside it, by lot from the same queries; and of best > k that are not")
    print(
        "coverage answers wrong    k  places filled    by lot  right           best > k"
    )
    rows = []
    for (coverage, n, error, k), found in counts.items():
        *columns, chance = np.transpose(found).astype(float)
        given, right = np.reshape(columns, (2, 2, -1))
        total = np.maximum(given.sum(axis=1), 1)
        share = right.sum(axis=1) / total
        spread = np.sqrt(((right - share[:, None] * given) ** 2).sum(axis=1)) / total
        filled, chance = given[0].mean() / k, chance.sum() / total[0]
        print(
            f"{coverage:8}{n:8}{error:6.0%}{k:5}{filled:13.2f}{chance:10.2f}"
            + "".join(
                f"{a:12.3f} ± {b:.3f}" for a, b in zip(share, spread, strict=True)
            )
        )
        rows.append([coverage, n, error, k, filled, chance, *share, *spread])
    return rows


def main(argv: list[str] | None = None) -> dict[str, Any]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", default=[None])
    parser.add_argument("--budgets", type=float, nargs="+", default=BUDGETS)
    parser.add_argument("--smoke", action="store_true", help="one small fold")
    parser.add_argument("--places", action="store_true", help="first places alone")
    parser.add_argument("--answers", action="store_true", help="few answers alone")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    results: dict[str, Any] = {}
    every = not (args.places or args.answers)
    named = {"simulated" if f is None else f.name: f for f in args.data}
    for title, folder in named.items() if every else ():
        folds = [
            run_fold(fold, args.budgets, quiet=args.quiet, title=f"{title} {name}")
            for name, fold in folds_of(folder, args.smoke)
        ]
        results[title] = print_runs(title, folds, args.budgets)
    if every or args.answers:
        lists = {
            title: short_lists(folder, args.smoke) for title, folder in named.items()
        }
        for title, parts in (lists | {"triage": short_days(args.smoke)}).items():
            results[f"few answers, {title}"] = few_answers(title, parts)
    if every or args.places:
        coverages = [0.6] if args.smoke else [0.8, 0.6]
        data = {
            title: (fold for _, fold in folds_of(folder, args.smoke))
            for title, folder in named.items()
        }
        for title, folds in (data | {"triage": clinic_days(args.smoke)}).items():
            results[f"first places, {title}"] = first_places(
                title, folds, coverages, quiet=args.quiet
            )
    if every:
        results["noticeable"] = noticed(args.smoke)
        results["milliseconds"] = time_of_question(args.smoke)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "review.json").write_text(json.dumps(results, indent=1) + "\n")
    return results


if __name__ == "__main__":
    main()
