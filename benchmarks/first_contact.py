"""What the first minute with an installation costs: nothing is compiled yet.

    python benchmarks/first_contact.py            # two minutes
    python benchmarks/first_contact.py --smoke    # half a minute

Each figure is of a fresh process with a folder of its own for compiled code, empty or
filled by the process before. All seconds are the processor's, of all threads, the
least of some runs: what else the machine does counts for little. Imports are compared
with that of ``sklearn.ensemble``, where most models come from that a ranker is given.
"""

import json
import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from tqdm import tqdm

N_QUERIES = 60
# Until here the sum is what is aimed at.
FIRST_CONTACT = ("import", "fit", "predict_pairs", "score", "ranking")
STEPS = (*FIRST_CONTACT, "rank_intervals", "evaluate")
AIM_S, AIM_IMPORT = 4.0, 1.2

IMPORT = """
import time
start = time.process_time()
import {module}
print(time.process_time() - start)
"""

# Seconds of the steps, and of the kernels that were compiled meanwhile: what a kernel
# calls is compiled with the outermost.
JOURNEY = """
import json, time
seconds, kernels = {}, []
start = time.process_time()
import skrank_abstain
seconds["import"] = time.process_time() - start

import numba.core.event
from sklearn.linear_model import LinearRegression
from skrank_abstain.datasets import make_ranking

class Compilations(numba.core.event.Listener):
    starts = []
    def on_start(self, event):
        self.starts.append(time.process_time())
    def on_end(self, event):
        spent = time.process_time() - self.starts.pop()
        if not self.starts:
            function = event.data["dispatcher"].py_func
            module = function.__module__.rpartition(".")[2]
            kernels.append([f"{module}.{function.__name__}", step, spent])

data = make_ranking(n_queries=N_QUERIES, random_state=0)
X, y, qid = data.data, data.target, data.qid
model = LinearRegression().fit(X, y)
numba.core.event.register("numba:compile", Compilations())
ranker = skrank_abstain.BALToR(model, tie_model="TIE_MODEL")
calls = {
    "fit": lambda: ranker.fit(X, y, qid=qid),
    "predict_pairs": lambda: ranker.predict_pairs(X, qid=qid),
    "score": lambda: ranker.score(X, y, qid=qid),
    "ranking": lambda: ranker.ranking(X, qid=qid),
    "rank_intervals": lambda: ranker.rank_intervals(X, qid=qid),
    "evaluate": lambda: ranker.evaluate(X, y, qid=qid),
}
for step, call in calls.items():
    start = time.process_time()
    call()
    seconds[step] = time.process_time() - start
print(json.dumps([seconds, kernels]))
"""


def run(code: str, cache: str) -> Any:
    """Return what ``code`` prints in a fresh process with this folder as its cache."""
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(out.stdout)


def journey(tie_model: str) -> dict[str, Any]:
    """Return the seconds of each step, cold and warm, and of each kernel."""
    code = JOURNEY.replace("TIE_MODEL", tie_model)
    code = code.replace("N_QUERIES", str(N_QUERIES))
    with tempfile.TemporaryDirectory() as cache:
        cold, kernels = run(code, cache)
        warm, left = run(code, cache)
    assert not left, f"compiled again: {left}"
    return {"cold": cold, "warm": warm, "kernels": kernels}


def least(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the least of each figure of some runs."""
    return {
        "cold": {step: min(r["cold"][step] for r in runs) for step in STEPS},
        "warm": {step: min(r["warm"][step] for r in runs) for step in STEPS},
        "kernels": [
            [name, step, min(r["kernels"][k][2] for r in runs)]
            for k, (name, step, _) in enumerate(runs[0]["kernels"])
        ],
    }


def report(tie_model: str, row: dict[str, Any]) -> None:
    print(f"\n{tie_model}, {N_QUERIES} queries: processor seconds")
    print(f"{'step':<16} {'nothing compiled':>17} {'compiled':>9} {'difference':>11}")
    for step in STEPS:
        cold, warm = row["cold"][step], row["warm"][step]
        print(f"{step:<16} {cold:>17.2f} {warm:>9.2f} {cold - warm:>11.2f}")
    print(f"to ranking: {row['difference_s']:.2f} more, target <= {AIM_S:g}")
    for name, step, spent in sorted(row["kernels"], key=lambda kernel: -kernel[2]):
        print(f"    {name:<32} {step:<16} {spent:>6.2f}")


def main(argv: list[str] | None = None) -> list[dict[str, Any]]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="each once")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    repeats = 1 if args.smoke else 3
    tie_models = "graded_relevance", "bradley_terry"
    rows: list[dict[str, Any]] = []
    bar = tqdm(total=repeats * len(tie_models), disable=args.quiet)
    for tie_model in tie_models:
        runs = []
        for _ in range(repeats):
            runs.append(journey(tie_model))
            bar.update()
        row = least(runs)
        row["tie_model"] = tie_model
        row["difference_s"] = sum(
            row["cold"][step] - row["warm"][step] for step in FIRST_CONTACT
        )
        rows.append(row)
        report(tie_model, row)
    bar.close()
    imports = {
        module: min(
            run(IMPORT.format(module=module), "") for _ in range(1 + 2 * repeats)
        )
        for module in ("sklearn", "sklearn.ensemble", "skrank_abstain")
    }
    ours, theirs = imports["skrank_abstain"], imports["sklearn.ensemble"]
    print(
        f"\nimport skrank_abstain / import sklearn.ensemble: {ours:.2f} s / "
        f"{theirs:.2f} s = {ours / theirs:.2f}, target <= {AIM_IMPORT:g} "
        f"(import sklearn: {imports['sklearn']:.2f} s)"
    )
    rows.append({"imports_s": imports, "import_ratio": ours / theirs})
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "first_contact.json").write_text(json.dumps(rows, indent=1))
    return rows


if __name__ == "__main__":
    main()
