"""What loading a damaged model file does, without and with its checksum.

    nice python benchmarks/damaged_models.py            # 10 to 45 minutes
    python benchmarks/damaged_models.py --smoke    # half a minute

Small models of the three libraries are saved in every format that is read, and each
copy is damaged once: one bit is flipped, or up to 64 bytes are lost or zeroed. Every
file is loaded and scores rows in a process of its own, which may die. POSIX only.
"""

import hashlib
import json
import multiprocessing as mp
import os
from argparse import ArgumentParser
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from tqdm import tqdm

from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker, load_model, score_items

KINDS = ("xgboost.json", "xgboost.ubj", "lightgbm.txt", "catboost.cbm", "catboost.json")
OUTCOMES = ("refused", "died", "hung", "other scores", "same scores")
MODES = ("plain", "sha256")
#: Seconds after which a reader counts as hung.
PATIENCE = 20
MEMORY = 4 << 30


def make_model(library: str) -> Any:
    """Return an untrained ranker of 20 trees."""
    if library == "xgboost":
        from xgboost import XGBRanker

        return XGBRanker(n_estimators=20, n_jobs=1)
    if library == "lightgbm":
        from lightgbm import LGBMRanker

        return LGBMRanker(n_estimators=20, n_jobs=1, verbose=-1)
    from catboost import CatBoostRanker

    return CatBoostRanker(iterations=20, thread_count=1, allow_writing_files=False)


def save_models(folder: Path) -> None:
    """Train a model of each library and save it in each of its formats."""
    train = make_ranking(n_queries=50, n_features=10, random_state=0)
    queries = group_queries(train.qid, train.qid.size)
    for kind in KINDS:
        library, form = kind.split(".")
        model = make_model(library)
        model = fit_ranker(model, train.data, train.target.astype(float), queries)
        if library == "lightgbm":
            model.booster_.save_model(folder / kind)
        elif kind == "catboost.json":
            model.save_model(str(folder / kind), format=form)
        else:
            model.save_model(str(folder / kind))


def damage(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip one bit, or lose or zero up to 64 bytes, anywhere."""
    damaged = bytearray(content)
    while damaged == content:  # zeros may be zero already
        place, size = int(rng.integers(len(content))), int(rng.integers(1, 65))
        way = rng.choice(["flip", "lose", "zero"])
        if way == "flip":
            damaged[place] ^= 1 << int(rng.integers(8))
        else:
            lost = min(size, len(content) - place)
            damaged[place : place + size] = b"" if way == "lose" else bytes(lost)
    return bytes(damaged)


def read(path: Path, options: dict[str, Any], X: np.ndarray, pipe: Any) -> None:
    """Load a file and send the scores, or the error. Runs in a process of its own."""
    import resource

    # An answer in place of a machine without memory.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    try:
        pipe.send(score_items(load_model(path, **options), X))
    except Exception as error:
        pipe.send(str(error))


def outcome(path: Path, mode: str, X: np.ndarray, right: dict[str, Any]) -> str:
    """Return what one way of reading makes of one file."""
    options = {"sha256": right["sha256"]} if mode == "sha256" else {}
    context = mp.get_context("forkserver")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=read, args=(path, options, X, sender), daemon=True)
    process.start()
    sender.close()
    try:
        answer = receiver.recv() if receiver.poll(PATIENCE) else "hung"
    except EOFError:
        answer = "died"
    if isinstance(answer, str) and answer == "hung":
        process.kill()
    process.join()
    if isinstance(answer, str):
        return answer if answer in OUTCOMES else "refused"
    same = np.array_equal(answer, right["scores"])
    return "same scores" if same else "other scores"


def main(argv: list[str] | None = None) -> list[dict[str, Any]]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="ten files")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    per_kind = 2 if args.smoke else 86
    X = make_ranking(n_queries=20, n_features=10, random_state=1).data
    rng = np.random.default_rng(0)
    mp.get_context("forkserver").set_forkserver_preload(
        ["xgboost", "lightgbm", "catboost", "skrank_abstain"]
    )
    with TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name)
        save_models(folder)
        right, jobs = {}, []
        for kind in KINDS:
            content = (folder / kind).read_bytes()
            right[kind] = {
                "sha256": hashlib.sha256(content).hexdigest(),
                "scores": score_items(load_model(folder / kind), X),
            }
            for number in range(per_kind):
                path = folder / f"{number}.{kind}"
                path.write_bytes(damage(content, rng))
                jobs += [(kind, path, mode) for mode in MODES]
        found = pool.map(lambda job: outcome(job[1], job[2], X, right[job[0]]), jobs)
        found = list(tqdm(found, total=len(jobs), unit="file", disable=args.quiet))
    counts = {mode: Counter() for mode in MODES}
    for (kind, _, mode), what in zip(jobs, found, strict=True):
        counts[mode][kind, what] += 1
    print(f"\n{len(KINDS) * per_kind} damaged files, {' / '.join(MODES)}")
    print(f"{'file':<14}" + "".join(f"{what:>16}" for what in OUTCOMES))
    rows = []
    for kind in (*KINDS, "all"):
        row = {"kind": kind}
        rows.append(row)
        cells = []
        for what in OUTCOMES:
            kinds = KINDS if kind == "all" else (kind,)
            row[what] = [
                sum(counts[mode][one, what] for one in kinds) for mode in MODES
            ]
            cells.append(" / ".join(map(str, row[what])))
        print(f"{kind:<14}" + "".join(f"{cell:>16}" for cell in cells))
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "damaged_models.json").write_text(json.dumps(rows, indent=1))
    return rows


if __name__ == "__main__":
    main()
