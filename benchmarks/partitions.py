"""Calibration over partitions: rounds, bytes, time and memory.

    python benchmarks/partitions.py            # 225 million pairs, many minutes
    python benchmarks/partitions.py --smoke    # seconds, for continuous integration

Prints Markdown and writes it with JSON. Times are ratios of two things measured in the
same run, in turn; the best of several counts. Rounds and bytes are counted: partitions
lie in a process of their own, as those of an engine do. The data are simulated: queries
of about 150 items, five grades, and a model whose scores are in the data, so that
nothing of it is timed.
"""

import json
import multiprocessing
import resource
import tempfile
import time
import tracemalloc
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from counted_partitions import (
    SIZE,
    Round,
    Rows,
    Simulated,
    elsewhere,
    even,
    found_by_calibrate,
    joined,
    uneven,
)
from sklearn.base import BaseEstimator
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.partitions import calibrate

TIE_MODELS = (
    "graded_relevance",
    "bradley_terry",
    "isotonic_difference",
    "feature_aware_relevance",
)
#: Rows of a partition of a large log: those of Parquet.
ROWS = 262_144
N_FEATURES = 50


class Scored(BaseEstimator):
    """A trained ranker whose scores are in the data."""

    def fit(self, X: Any = None, y: Any = None) -> "Scored":
        """Learn nothing."""
        self.fitted_ = True
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the first column."""
        X = X.iloc[:, 0] if hasattr(X, "iloc") else X[:, 0]
        return np.asarray(X, dtype=np.float64)


def baltor(tie_model: str) -> BALToR:
    """Return an unfitted ranker around a trained model."""
    return BALToR(Scored().fit(), coverage=0.7, tie_model=tie_model, random_state=0)


def seconds_of(task: Callable[[], Any]) -> float:
    """Return how long a task takes."""
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def in_turn(tasks: dict[Any, Callable[[], Any]], repeats: int) -> dict[Any, float]:
    """Return the shortest time of each task, which take turns."""
    times: dict[Any, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            times[name].append(seconds_of(task))
    return {name: min(each) for name, each in times.items()}


# Memory: fresh processes.


def in_fresh_process(task: Callable[..., Any], *args: Any) -> Any:
    """Return ``task(*args)`` of a process that has done nothing else."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(task, args)


def write_parquet(parts: list[Rows], folder: Path) -> None:
    """Write a file of each part, and the scores alone."""
    scores = []
    for number, part in enumerate(parts):
        frame = part.frame(N_FEATURES)
        frame.to_parquet(folder / f"{number:03}.parquet", index=False)
        scores.append(frame[["x0", "y", "q"]].astype(float).to_numpy())
    np.save(folder.with_suffix(".npy"), np.concatenate(scores).T)


def growth_of_memory(what: str, folder: Path, tie_model: str) -> float:
    """Return how far the peak memory of this process grows, in bytes."""
    with tempfile.TemporaryDirectory() as small:  # loads and compiles what is needed
        Rows(0, 50).frame().to_parquet(Path(small) / "0.parquet", index=False)
        calibrate(baltor(tie_model), small, label="y", qid="q")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if what == "parquet":
        calibrate(baltor(tie_model), folder, label="y", qid="q")
    else:
        scores, y, qid = np.load(folder.with_suffix(".npy"))
        baltor(tie_model).fit(scores[:, None], y, qid=qid)
    return 1024.0 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


# Dask.


def dask_times(
    parts: list[Rows], models: dict[str, Any], repeats: int
) -> dict[str, dict[int, dict[str, float]]]:
    """Return what each model takes with one process and with two."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster, wait

    found: dict[str, Any] = {}
    with ExitStack() as stack:
        clients = {}
        for n in (1, 2):
            cluster = LocalCluster(
                n_workers=n,
                threads_per_worker=1,
                dashboard_address=":0",
                silence_logs=50,
            )
            clients[n] = stack.enter_context(Client(stack.enter_context(cluster)))
        for name, (ranker, n_features) in models.items():
            make = partial(Rows.frame, n_features=n_features)
            meta = Rows(0, 1).frame(n_features)[:0]
            times: dict[int, list[dict[str, float]]] = {n: [] for n in clients}
            frames = {}
            for n, client in clients.items():
                with client.as_current():
                    frames[n] = dd.from_map(make, parts, meta=meta).persist()
                    wait(frames[n])
                calibrate_on(client, ranker, frames[n])  # compiles
            for _ in range(repeats):
                for n, client in clients.items():
                    times[n].append(calibrate_on(client, ranker, frames[n]))
            found[name] = {
                n: {key: min(each[key] for each in some) for key in some[0]}
                for n, some in times.items()
            }
    return found


def calibrate_on(client: Any, ranker: BALToR, frame: Any) -> dict[str, float]:
    """Calibrate on a cluster; return seconds, and those of processors one by one.

    Where other programs keep the processors busy the latter say more: those of the
    caller and of the process that was busiest.
    """

    def processors() -> np.ndarray:
        theirs = client.run(time.process_time)
        return np.array([time.process_time(), *theirs.values()])

    before = processors()
    with client.as_current():
        seconds = seconds_of(lambda: calibrate(ranker, frame, label="y", qid="q"))
    caller, *workers = (processors() - before).tolist()
    return {"seconds": seconds, "processors": caller + max(workers)}


def booster(n_train: int) -> Any:
    """Return a trained LGBMRanker of 100 trees, for one thread."""
    from lightgbm import LGBMRanker

    X, y, qid = Rows(0, n_train).simulate(N_FEATURES)
    model = LGBMRanker(n_jobs=1, verbose=-1)
    return model.fit(X, y.astype(int), group=np.bincount(qid))


# The report.


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def megabytes(size: float) -> str:
    return f"{size / 1e6:,.1f}" if size < 1e8 else f"{size / 1e6:,.0f}"


def report_serial(parts: list[Rows], repeats: int) -> tuple[str, dict[str, Any]]:
    """Count rounds and bytes; time `calibrate` and `fit`."""
    here = [part.simulate() for part in parts]
    whole = joined(here)
    figures: dict[str, Any] = {}
    lines, details = [], []
    with elsewhere(parts) as rounds:
        for name in TIE_MODELS:
            rounds.clear()
            calibrate(baltor(name), [()])
            figures[name] = {"rounds": [each._asdict() for each in rounds]}
    for name in TIE_MODELS:
        ranker = baltor(name)
        both = {
            "fit": ranker.fit(*whole[:2], qid=whole[2]),
            "calibrate": calibrate(ranker, here),
        }
        assert both["fit"].threshold_ == both["calibrate"].threshold_
        tasks = {
            "fit": partial(ranker.fit, *whole[:2], qid=whole[2]),
            "calibrate": partial(calibrate, ranker, here),
        }
        best = in_turn(tasks, repeats)
        figures[name] |= best | {"n_pairs": both["fit"].n_pairs_}
        asked = [Round(**each) for each in figures[name]["rounds"]]
        ratio = best["calibrate"] / best["fit"]
        lines.append(
            [
                f"`{name}`",
                str(len(asked)),
                megabytes(sum(each.bytes_back for each in asked)),
                f"{best['calibrate']:.2f} s / {best['fit']:.2f} s = {ratio:.2f}",
            ]
        )
        for each in asked:
            cpu = f"{each.cpu_seconds:.2f}"
            back = megabytes(each.bytes_back)
            details.append([f"`{name}`", each.task, back, cpu])
    pairs = figures[TIE_MODELS[0]]["n_pairs"] / 1e6
    text = (
        f"## One process: {pairs:.0f} M pairs in {len(parts)} uneven partitions\n\n"
        + table(
            ["tie model", "rounds", "MB back", "calibrate / fit"],
            lines,
        )
        + "\n\n"
        + table(["tie model", "task", "MB back", "s of processors"], details)
    )
    return text, figures


def report_memory(
    parts: list[Rows], names: tuple[str, ...]
) -> tuple[str, dict[str, Any]]:
    """Compare the peak memory of Parquet with that of scores."""
    figures: dict[str, Any] = {}
    lines = []
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "log"
        folder.mkdir()
        in_fresh_process(write_parquet, parts, folder)
        size = sum(file.stat().st_size for file in folder.iterdir())
        for name in names:
            parquet, scores = (
                in_fresh_process(growth_of_memory, what, folder, name)
                for what in ("parquet", "scores")
            )
            figures[name] = {"parquet": parquet, "scores": scores, "files": size}
            limit = 1.3 * scores + 1e8
            lines.append([f"`{name}`", *map(megabytes, (parquet, limit, scores))])
    n_rows = sum(part.stop - part.start for part in parts) * SIZE
    text = (
        f"## Parquet: {n_rows:,} rows of {N_FEATURES} columns, {megabytes(size)} MB\n\n"
        + table(
            ["tie model", "peak, MB", "allowed, MB", "`fit` on the scores, MB"], lines
        )
    )
    return text, figures


def report_dask(
    parts: list[Rows], names: tuple[str, ...], repeats: int
) -> tuple[str, dict[str, Any]]:
    """Time one process of Dask and two."""
    try:
        import dask.dataframe  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        return f"## Dask\n\nLeft out: {error}.", {}
    models = {f"`{name}`": (baltor(name), 1) for name in names}
    boosted = baltor(names[0]).set_params(estimator=booster(100))
    models[f"`{names[0]}`, scored by a LGBMRanker"] = boosted, N_FEATURES
    figures = dask_times(parts, models, repeats)
    lines = [
        [name, *(_one_to_two(each, key) for key in ("seconds", "processors"))]
        for name, each in figures.items()
    ]
    head = ["tie model", "one process / two (>= 1.5)", "processors: caller and busiest"]
    text = f"## Dask: {len(parts)} partitions\n\n" + table(head, lines)
    return text, figures


def _one_to_two(figures: dict[int, dict[str, float]], key: str) -> str:
    one, two = (figures[n][key] for n in (1, 2))
    return f"{one:.2f} s / {two:.2f} s = {one / two:.2f}"


def report_growth(
    n_parts: list[int], names: tuple[str, ...], step: Callable[[], Any]
) -> tuple[str, dict[str, Any]]:
    """Say what an item takes in the calling process, from sizes that grow."""
    n_queries = ROWS // SIZE
    figures: dict[str, Any] = {}
    lines = []
    for name in names:
        measured = []
        for n in n_parts:
            measured.append(bytes_held(name, even(n * n_queries, n)))
            step()
        n_items, kept, peak = np.array(measured).T
        each = [np.polyfit(n_items, values, 1)[0] for values in (kept, peak)]
        figures[name] = {"kept": each[0], "peak": each[1], "measured": measured}
        gigabytes = f"{each[1] / 10:.1f} GB"
        lines.append([f"`{name}`", f"{each[0]:.0f}", f"{each[1]:.0f}", gigabytes])
    head = ["tie model", "bytes kept", "bytes at the peak", "peak of 10^8 items"]
    return "## What an item takes in the calling process\n\n" + table(
        head, lines
    ), figures


def bytes_held(name: str, parts: list[Rows]) -> tuple[int, int, int]:
    """Return items, bytes that a ranker keeps, and bytes at the peak."""
    with found_by_calibrate(Simulated(parts)):
        calibrate(baltor(name), [()])  # loads and compiles what is needed
        tracemalloc.start()
        ranker = calibrate(baltor(name), [()])
        kept, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return ranker._calibration.items.value.size, kept, peak


def run(args: Namespace) -> tuple[list[str], dict[str, Any]]:
    n_queries, n_uneven, n_even = (300, 6, 4) if args.smoke else (20_000, 64, 32)
    parts = uneven(n_queries, n_uneven)
    n_parts = [3, 4] if args.smoke else [12, 24, 48]
    names = TIE_MODELS[1:2] if args.smoke else TIE_MODELS
    repeats = 1 if args.smoke else args.repeats
    total = 3 + len(n_parts) * len(names)
    steps = tqdm(total=total, desc="partitions", disable=args.quiet)
    texts, figures = [], {}
    # Memory first: the peak of a process is passed on to those that it starts.
    tasks: dict[str, Callable[[], tuple[str, Any]]] = {
        "memory": lambda: report_memory(parts, names),
        "serial": lambda: report_serial(parts, repeats),
        "dask": lambda: report_dask(even(n_queries, n_even), names, repeats),
        "growth": lambda: report_growth(n_parts, names, steps.update),
    }
    for name, task in tasks.items():
        if name in args.only:
            text, figures[name] = task()
            texts.append(text)
        if name != "growth":
            steps.update()
    steps.close()
    return texts, figures


def main(argv: list[str] | None = None) -> dict[str, Any]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="small sizes, seconds")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--only", nargs="+", default=["memory", "serial", "dask", "growth"]
    )
    args = parser.parse_args(argv)
    texts, figures = run(args)
    if args.smoke:
        texts.insert(0, "Smoke sizes: the targets are for the full sizes.")
    text = "\n\n".join(texts)
    print(f"\n{text}")
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "partitions.md").write_text(text + "\n")
    (args.out / "partitions.json").write_text(json.dumps(figures, indent=1))
    print(f"\nMarkdown and JSON: {args.out / 'partitions'}.*")
    return figures


if __name__ == "__main__":
    main()
