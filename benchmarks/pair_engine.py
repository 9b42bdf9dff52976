"""How fast, how large: calibration, curves, ranks and predictions without pairs.

    python benchmarks/pair_engine.py            # WEB30K-sized, several minutes
    python benchmarks/pair_engine.py --smoke    # seconds, for continuous integration

Prints a table and where the time of a fit goes, writes JSON and a log-log plot of time
against the number of items.
Every figure is a ratio of two things measured in the same run. The data are simulated:
queries of about 120 items, 136 features, five grades.
"""

import cProfile
import json
import multiprocessing
import os
import pstats
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from sklearn.base import BaseEstimator
from tqdm import tqdm

from skrank_abstain import BALToR, RiskControlledRanker
from skrank_abstain.pairs import Scores, group_queries, semiorder_ranks
from skrank_abstain.selection import Calibration, decide_queries
from skrank_abstain.tie_models import BradleyTerry

LOSS = 1.0 - np.eye(3)
N_FEATURES = 136
#: Aims for the time that a fit takes longer than the wrapped model's predict.
TIE_MODELS = {"graded_relevance": "<= 0.5", "bradley_terry": "<= 0.35"}


class Scored(BaseEstimator):
    """A trained ranker whose scores are in the data: nothing of it is timed."""

    def fit(self, X: Any = None, y: Any = None) -> "Scored":
        """Learn nothing."""
        self.fitted_ = True
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the scores."""
        return X[:, 0]


def best_of(task: Callable[[], Any], repeats: int) -> float:
    """Return the shortest of several times, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def simulate(n_queries: int, size: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return scores, relevance and queries of about ``size`` items each."""
    rng = np.random.default_rng(seed)
    spread = size // 6
    sizes = rng.integers(size - spread, size + spread + 1, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    utility = rng.normal(size=qid.size)
    scores = utility + 0.5 * rng.normal(size=qid.size)
    noisy = utility + rng.logistic(size=qid.size)
    y = np.searchsorted([0.2, 1.0, 2.0, 3.0], noisy).astype(float)
    return {"scores": scores, "y": y, "qid": qid}


def calibrate(data: dict[str, np.ndarray]) -> tuple[Any, ...]:
    """Maximum likelihood and quantile from sorted scores: what ``fit`` does."""
    items = Scores(data["scores"], data["queries"], y=data["y"]).ascending
    model = BradleyTerry().fit_items(items)
    calibration = Calibration(model, items, LOSS)
    region = calibration.at_coverage(0.8)
    return items, model, calibration.engine, region, calibration.coverage(region)


def enumerate_with_numpy(data: dict[str, np.ndarray], theta: float = 2.0) -> float:
    """Algorithm 1 as one would write it: all pairs, probabilities, np.quantile."""
    scores, offsets = data["scores"], data["queries"].offsets
    risks = []
    for start, stop in pairwise(offsets):
        i, j = np.triu_indices(stop - start, 1)
        s = scores[start:stop]
        d = s[i] - s[j]
        win = 1 / (1 + theta * np.exp(-d))
        lose = 1 / (1 + theta * np.exp(d))
        tie = 1 - win - lose
        risks.append(1 - np.maximum(np.maximum(win, lose), tie))
    return float(np.quantile(np.concatenate(risks), 0.8))


def curve_of_risk_and_coverage(items: Any, risk: Any) -> np.ndarray:
    """Coverage and selective risk at 100 points of the curve of all pairs."""
    # A copy, so that what was counted before is gone.
    profile = risk.tally(replace(items)).profile()
    at = np.searchsorted(profile.coverage, np.linspace(0.01, 1, 100) - 1e-12)
    return np.stack([profile.coverage[at], profile.selective_risk[at]], axis=1)


def predict_with_numpy(
    data: dict[str, np.ndarray], theta: float, scale: float, risk: float
) -> tuple[np.ndarray, ...]:
    """All fields of a prediction as one would write them."""
    scores, offsets = data["scores"], data["queries"].offsets
    parts = []
    for start, stop in pairwise(offsets):
        i, j = np.triu_indices(stop - start, 1)
        parts.append((i + start, j + start))
    left = np.concatenate([part[0] for part in parts])
    right = np.concatenate([part[1] for part in parts])
    d = scale * (scores[left] - scores[right])
    win, lose = 1 / (1 + theta * np.exp(-d)), 1 / (1 + theta * np.exp(d))
    proba = np.stack([lose, 1 - win - lose, win], axis=1)
    label = proba.argmax(axis=1) - 1
    risks = 1 - proba.max(axis=1)
    return left, right, data["qid"][left], label, risks <= risk, risks, proba


def fit_ranker(kind: Any, data: dict[str, np.ndarray], **params: Any) -> Any:
    """Fit a selective ranker to scores: group, calibrate and, it may be, certify."""
    ranker = kind(Scored().fit(), random_state=0, **params)
    return ranker.fit(data["scores"][:, None], data["y"], qid=data["qid"])


def peak_memory(name: str, n_queries: int, size: int) -> float:
    """Return the growth of a fresh process's peak memory, in bytes."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_measure_memory, (name, n_queries, size))


def _measure_memory(name: str, n_queries: int, size: int) -> float:
    small = with_queries(simulate(3, size))
    calibrate(small)  # loads and compiles what is needed
    data = with_queries(simulate(n_queries, size))
    tasks: dict[str, Callable[[Any], Any]] = {
        "engine": calibrate,
        "numpy": enumerate_with_numpy,
    }
    task = tasks.get(name, partial(fit_ranker, BALToR, tie_model=name))
    task(small)
    before, peak, done = resident(), [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    task(data)
    done.set()
    watcher.join()
    return peak[0] - before


def resident() -> float:
    """Return the resident memory of this process, in bytes (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


def with_queries(data: dict[str, np.ndarray]) -> dict[str, Any]:
    """Add the grouping of rows, which every method needs."""
    return {**data, "queries": group_queries(data["qid"], data["qid"].size)}


def fits_of_a_booster(n_queries: int, repeats: int) -> dict[str, float]:
    """Time a LightGBM model's predict and fits that calibrate it, in turn.

    136 features, 100 trees, two threads. Also prints a profile of each fit.
    """
    from lightgbm import LGBMRanker

    data = simulate(n_queries, 120)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(data["y"].size, N_FEATURES)).astype(np.float32)
    X[:, 0] = data["scores"]
    some = np.flatnonzero(data["qid"] < 200)
    model = LGBMRanker(n_jobs=2, verbose=-1)
    group = np.bincount(data["qid"][some])
    model.fit(X[some], data["y"][some].astype(int), group=group)

    def fit(name: str) -> None:
        ranker = BALToR(model, tie_model=name, random_state=0)
        ranker.fit(X, data["y"], qid=data["qid"])

    tasks = {"predict": lambda: model.predict(X)}
    tasks |= {name: partial(fit, name) for name in TIE_MODELS}
    for task in tasks.values():  # compile
        task()
    times = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            times[name].append(best_of(task, 1))
    for name in TIE_MODELS:
        print(f"\nA fit with {name}, by cumulative time:")
        profile = cProfile.Profile()
        profile.runcall(fit, name)
        stats = pstats.Stats(profile).strip_dirs().sort_stats("cumulative")
        stats.print_stats(25)
    return {name: min(each) for name, each in times.items()}


def run(args: Namespace) -> tuple[list[dict[str, Any]], dict[str, list[list[float]]]]:
    n_queries = 300 if args.smoke else 31_531
    large = 20_000 if args.smoke else 1_000_000
    repeats = 1 if args.smoke else 3
    rows: list[dict[str, Any]] = []
    growth: dict[str, list[list[float]]] = {}

    def report(what: str, ratio: float, target: str, detail: str) -> None:
        rows.append({"what": what, "ratio": ratio, "target": target, "detail": detail})

    steps = tqdm(total=9, desc="benchmarks", disable=args.quiet)
    calibrate(with_queries(simulate(3, 120)))  # compile
    data = with_queries(simulate(n_queries, 120))
    items, model, risk, region, _ = calibrate(data)
    n_pairs = items.n_pairs
    engine = best_of(lambda: calibrate(data), repeats)
    numpy_time = best_of(lambda: enumerate_with_numpy(data, model.theta_), 1)
    size = f"{n_pairs / 1e6:.0f} M pairs"
    report(
        "a. calibrate: NumPy enumeration / engine",
        numpy_time / engine,
        ">= 50",
        f"{numpy_time:.2f} s / {engine:.3f} s, {size}",
    )
    steps.update()
    memory = [peak_memory(name, n_queries, 120) for name in ("numpy", "engine")]
    report(
        "a. calibrate: peak memory, NumPy / engine",
        memory[0] / max(memory[1], 1.0),
        ">= 20",
        f"{memory[0] / 1e6:.0f} MB / {memory[1] / 1e6:.0f} MB",
    )
    steps.update()
    booster = fits_of_a_booster(100 if args.smoke else 3_000, repeats)
    predict = booster["predict"]
    for name, target in TIE_MODELS.items():
        report(
            f"a. (fit - predict) / LGBMRanker.predict, {name}",
            (booster[name] - predict) / predict,
            target,
            f"{booster[name]:.3f} s / {predict:.3f} s",
        )
    steps.update()
    points = best_of(lambda: curve_of_risk_and_coverage(items, risk), repeats)
    report(
        "b. risk-coverage curve, 100 points / calibrate",
        points / engine,
        "<= 3",
        f"{points:.3f} s / {engine:.3f} s",
    )
    steps.update()
    # A bound that lets about half of the pairs be decided, so that half of the
    # thresholds are tested.
    rules = {RiskControlledRanker: {"max_risk": 0.45}, BALToR: {"coverage": 0.8}}
    fits = {kind: [] for kind in rules}
    for _ in range(repeats):
        for kind, rule in rules.items():  # in turn
            fits[kind].append(
                best_of(lambda k=kind, r=rule: fit_ranker(k, data, **r), 1)
            )
    certify, plain = min(fits[RiskControlledRanker]), min(fits[BALToR])
    report(
        "f. fit with scores: RiskControlledRanker / BALToR",
        certify / plain,
        "<= 5",
        f"{certify:.2f} s / {plain:.2f} s",
    )
    steps.update()
    _by_name(report, data, n_queries, repeats)
    steps.update()
    one = with_queries(simulate(1, large))
    one["qid"], one["queries"] = None, group_queries(None, one["scores"].size)

    def fit_and_rank() -> None:
        items, _, _, region, _ = calibrate(one)
        semiorder_ranks(items, region.order_from)

    fit_and_rank()
    single = best_of(fit_and_rank, repeats)
    sort = best_of(lambda: np.sort(one["scores"], kind="stable"), repeats)
    report(
        f"c. one query of {one['scores'].size} items: fit and rank_intervals / np.sort",
        single / sort,
        "<= 20",
        f"{single:.3f} s / {sort:.3f} s",
    )
    steps.update()
    _growth(report, growth, args.smoke, repeats)
    steps.update()
    part = with_queries(simulate(min(n_queries, 1500), 120))
    items = Scores(part["scores"], part["queries"])
    fast = best_of(
        lambda: decide_queries(risk, region, items),
        repeats,
    )
    slow = best_of(
        lambda: predict_with_numpy(part, model.theta_, model.scale_, region.risk),
        repeats,
    )
    report(
        "e. predict_pairs: NumPy / engine",
        slow / fast,
        ">= 4",
        f"{slow:.3f} s / {fast:.3f} s, {part['queries'].n_pairs / 1e6:.1f} M pairs",
    )
    steps.update()
    steps.close()
    return rows, growth


def _by_name(
    report: Callable[..., None],
    data: dict[str, np.ndarray],
    n_queries: int,
    repeats: int,
) -> None:
    """Compare the default tie model with Bradley-Terry."""
    names = tuple(TIE_MODELS)
    part = slice(0, min(data["y"].size, 180_000))
    X, y, qid = data["scores"][:, None], data["y"], data["qid"]
    times: dict[str, list[list[float]]] = {name: [] for name in names}
    for _ in range(repeats):
        for name in names:  # in turn
            ranker = fit_ranker(BALToR, data, tie_model=name)
            tasks = (
                lambda name=name: fit_ranker(BALToR, data, tie_model=name),
                lambda ranker=ranker: ranker.predict_pairs(X[part], qid=qid[part]),
                lambda ranker=ranker: ranker.evaluate(X, y, qid=qid),
            )
            times[name].append([best_of(task, 1) for task in tasks])
    best = {name: np.min(times[name], axis=0) for name in names}
    for k, (what, target) in enumerate(
        [("fit with scores", "<= 2"), ("predict_pairs", ""), ("evaluate", "")]
    ):
        graded, plain = (float(best[name][k]) for name in names)
        detail = f"{graded:.2f} s / {plain:.2f} s"
        report(f"g. {what}: {' / '.join(names)}", graded / plain, target, detail)
    graded, plain = (peak_memory(name, n_queries, 120) for name in names)
    report(
        f"g. peak memory of fit: {' / '.join(names)}",
        graded / max(plain, 1.0),
        "<= 1.5",
        f"{graded / 1e6:.0f} MB / {plain / 1e6:.0f} MB",
    )


def _growth(
    report: Callable[..., None],
    growth: dict[str, list[list[float]]],
    smoke: bool,
    repeats: int,
) -> None:
    """Time calibration while the data double."""
    start = 100 if smoke else 2_000
    by_queries = [[n, 120] for n in (start * 2**k for k in range(3 if smoke else 5))]
    total = start * 120
    by_size = [[total // size, size] for size in (60, 120, 240, 480, 960)]
    for name, shapes in (("fixed query size", by_queries), ("fixed n", by_size)):
        times = []
        for n_queries, size in shapes:
            data = with_queries(simulate(n_queries, size))
            calibrate(data)
            seconds = best_of(lambda data=data: calibrate(data), repeats + 2)
            times.append([n_queries, size, data["scores"].size, seconds])
        growth[name] = times
        steps = [b[3] / a[3] for a, b in pairwise(times)]
        what = "n" if name == "fixed query size" else "the query size"
        report(
            f"d. doubling {what} at {name}: time ratio, worst step",
            max(steps),
            "<= 2.2",
            ", ".join(f"{step:.2f}" for step in steps),
        )


def plot(growth: dict[str, list[list[float]]], path: Path) -> None:
    """Draw time against the number of items, and against the query size."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for ax, (name, times) in zip(axes, growth.items(), strict=True):
        column = 2 if name == "fixed query size" else 1
        x, seconds = np.array([[t[column], t[3]] for t in times]).T
        ax.loglog(x, seconds, marker="o", color="#0072B2", label="calibration")
        ax.loglog(x, seconds[0] * x / x[0], color="#555555", ls="--", label="linear")
        label = "items" if column == 2 else "items per query"
        ax.set(xlabel=label, ylabel="seconds", title=f"Calibration, {name}")
        # An axis of hardly more than a decade would have one label.
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_minor_formatter(NullFormatter())
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.legend(frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(argv: list[str] | None = None) -> list[dict[str, Any]]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="small sizes, seconds")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    rows, growth = run(args)
    if args.smoke:
        print("\nSmoke sizes: the targets are for the full sizes.")
    print(f"\n{'what':<66} {'ratio':>8}  {'target':>8}   measured")
    for row in rows:
        print(
            f"{row['what']:<66} {row['ratio']:>8.2f}  {row['target']:>8}   "
            f"{row['detail']}"
        )
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "pair_engine.json").write_text(
        json.dumps({"rows": rows, "growth": growth}, indent=1)
    )
    plot(growth, args.out / "pair_engine.png")
    print(f"\nJSON and plot: {args.out / 'pair_engine'}.*")
    return rows


if __name__ == "__main__":
    main()
