"""Whether a monitor cries wolf, and how soon it notices a change.

    python benchmarks/monitor.py            # some minutes
    python benchmarks/monitor.py --smoke    # seconds

Each function takes a number of draws and yields rows. "promised" is the largest share
of false alarms and "measured" the share of the draws with one, with its standard error
"se"; "power" is how soon a change is found.
"""

import json
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMRanker
from scipy.stats import norm
from sklearn.linear_model import LinearRegression, Ridge
from tqdm import tqdm

from skrank_abstain import BALToR, RiskControlledRanker
from skrank_abstain.datasets import make_ranking
from skrank_abstain.monitor import Monitor
from skrank_abstain.monitor._evidence import Bets

Row = dict[str, Any]
DELTA = 0.05
#: Uses its only feature as the score.
SCORES = LinearRegression(fit_intercept=False).fit([[1.0]], [1.0])
#: Trained and calibrated on the same queries, by ``cv``.
MODELS = {"ridge": Ridge(), "LightGBM": LGBMRanker(n_jobs=1, verbose=-1)}


def world(n_queries: int, seed: int) -> tuple[Any, ...]:
    """Return scores, relevance and queries, all of one kind."""
    data = make_ranking(n_queries, random_state=seed)
    return data.utility[:, None], data.target, data.qid


def uneven(n_queries: int, seed: int) -> tuple[Any, ...]:
    """Return half the queries with scores far apart, decided, and half close by."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), 12)
    utility = rng.choice([0.3, 2.0], n_queries)[qid] * rng.normal(size=qid.size)
    noise = rng.logistic(scale=0.5, size=qid.size)
    y = np.searchsorted([-1.0, 0.0, 1.0], utility + noise).astype(float)
    return utility[:, None], y, qid


#: By world: the shares of relevant items in two kinds of queries, and how far their
#: scores are from the relevance.
TIES = {
    "ties alike in all queries": ((0.4, 0.4), (1.5, 1.5)),
    "few ties and bad order, or many ties and good order": ((0.5, 0.12), (3.0, 0.5)),
    "few ties and good order, or many ties and bad order": ((0.5, 0.12), (0.5, 3.0)),
    "four in five pairs tied": ((0.12, 0.12), (1.5, 1.5)),
}


def of_two_kinds(name: str, n_queries: int, seed: int) -> tuple[Any, ...]:
    """Return queries of 10 to 20 items that are relevant or not."""
    shares, noises = TIES[name]
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(10, 21, n_queries))
    kind = rng.integers(0, 2, n_queries)[qid]
    utility, noise = rng.normal(size=(2, qid.size))
    y = (utility > norm.isf(np.array(shares)[kind])).astype(float)
    return (utility + np.array(noises)[kind] * noise)[:, None], y, qid


def taken(X: Any, qid: Any, queries: Any) -> tuple[Any, Any]:
    """Return the items of some queries, which may come more than once."""
    rows = [np.flatnonzero(qid == query) for query in queries]
    sizes = [own.size for own in rows]
    return X[np.concatenate(rows)], np.repeat(np.arange(len(rows)), sizes)


def row_of(false: list[bool], power: str = "", **said: Any) -> Row:
    """Return a row from the draws with a false alarm."""
    share = float(np.mean(false))
    error = float(np.sqrt(share * (1 - share) / len(false)))
    row = {"for_whom": "all", "promised": DELTA, "before": "", **said}
    return {**row, "measured": round(share, 4), "se": round(error, 4), "power": power}


def delay(monitor: Monitor, ranker: Any, X: Any, qid: Any) -> float:
    """Return after how many queries there is an alarm; infinity for none."""
    for query in range(int(qid[-1]) + 1):
        own = qid == query
        monitor = monitor.update(ranker, X[own], qid=qid[own], day=f"changed {query}")
        if monitor.alarm:
            return query + 1
    return np.inf


def streams(
    n_draws: int, ages: tuple[int, ...] = (0, 300, 3000, 15_000)
) -> Iterator[Row]:
    """Without labels: scores shrink to .7 after so many queries without a change."""
    for n_quiet in ages:
        false, waits = [], []
        for draw in range(n_draws):
            ranker = BALToR(SCORES, coverage=0.6, random_state=0)
            X, y, qid = world(150, 3 * draw)
            ranker.fit(X, y, qid=qid)
            monitor = Monitor.of(ranker, delta=DELTA, random_state=draw)
            if n_quiet:
                X, _, qid = world(n_quiet, 3 * draw + 1)
                monitor = monitor.update(ranker, X, qid=qid, day="quiet")
            false.append(monitor.alarm)
            X, _, qid = world(150, 3 * draw + 2)
            if not monitor.alarm:
                waits.append(delay(monitor, ranker, 0.7 * X, qid))
        low, median, high = np.quantile(waits, [0.25, 0.5, 0.75])
        yield row_of(
            false,
            f"found after {median:.0f} ({low:.0f} to {high:.0f}) queries",
            what="false alarm without labels",
            size=f"150 calibration queries, {n_quiet} without a change",
        )


def columns(n_draws: int) -> Iterator[Row]:
    """Without labels: the column that counts most is lost, or shuffled among rows."""
    for n_queries in (20, 100, 500):
        found: dict[str, list[tuple[float, float, float]]] = {}
        for draw in range(n_draws):
            known = make_ranking(2 * n_queries, random_state=3 * draw)
            ranker = BALToR(Ridge(), coverage=0.6, calibration_size=0.5, random_state=0)
            ranker.fit(known.data, known.target, qid=known.qid)
            monitor = Monitor.of(ranker, delta=DELTA, random_state=draw)
            quiet = make_ranking(30, random_state=3 * draw + 1)
            monitor = monitor.update(ranker, quiet.data, qid=quiet.qid, day="quiet")
            new = make_ranking(100, random_state=3 * draw + 2)
            most = int(np.abs(ranker.estimator_.coef_).argmax())
            lost, mixed = new.data.copy(), new.data.copy()
            lost[:, most] = 0
            mixed[:, most] = np.random.default_rng(draw).permutation(mixed[:, most])
            changes = {"nothing": new.data, "all columns times .7": 0.7 * new.data}
            changes |= {"a column lost": lost, "a column shuffled": mixed}
            for name, X in changes.items():
                totals = ranker.evaluate(X, new.target, qid=new.qid)
                wrong = totals.discordance_interval("pairs")[0]
                wait = delay(monitor, ranker, X, new.qid)
                found.setdefault(name, []).append((wait, wrong, totals.coverage))
        for name, each in found.items():
            waits, wrong, covered = np.transpose(each)
            yield row_of(
                np.isfinite(waits).tolist(),
                f"after {np.median(waits):.0f} queries, wrong orders "
                f"{wrong.mean():.3f}, coverage {covered.mean():.2f}",
                what="alarm within 100 queries without labels",
                for_whom=name,
                size=f"{n_queries} calibration queries",
                promised=DELTA if name == "nothing" else "",
            )


def audits(n_draws: int) -> Iterator[Row]:
    """With answers: 10 audits of 60 queries; then one answer in seven is wrong."""
    alarms, needed = {0.0: [], 0.15: []}, []
    for draw in range(n_draws):
        ranker = BALToR(SCORES, coverage=0.5, random_state=0)
        X, y, qid = uneven(300, draw)
        ranker.fit(X, y, qid=qid)
        rng = np.random.default_rng(draw)
        for wrong, found in alarms.items():
            monitor = Monitor.of(ranker, delta=DELTA, random_state=draw)
            for k in range(10):
                X, y, qid = uneven(60, 10**6 + 100 * draw + k)
                monitor, asked = monitor.audit(ranker, X, qid=qid, day=f"{k}", n=60)
                for pair in asked:
                    label = int(np.sign(y[pair.left] - y[pair.right]))
                    if rng.random() < wrong:
                        label = -pair.label or 1
                    answer = {"qid": pair.qid, "left": pair.left, "right": pair.right}
                    word = {1: "left", 0: "same", -1: "right"}[label]
                    monitor = monitor.judge(ranker, [{**answer, "label": word}])
                    if monitor.alarm:
                        break
                if monitor.alarm:
                    break
            found.append(monitor.alarm)
            if wrong and monitor.alarm:
                needed.append(monitor.bets.n)
    yield row_of(
        alarms[0.0],
        f"{np.mean(alarms[0.15]):.2f} found, after {np.median(needed):.0f} answers",
        what="false alarm of the audit",
        for_whom="half the queries decided nearly whole, half hardly",
        size="300 calibration queries, 600 audited",
    )


def audits_of_discordance(n_draws: int) -> Iterator[Row]:
    """With answers: a certificate whose bound is the true discordance; then worse.

    "before" draws one uniform pair of each query, which is right where all queries have
    the same share of ties.
    """
    for name in TIES:
        alarms, plain, needed = {0.0: [], 0.15: []}, [], []
        X, y, qid = of_two_kinds(name, 5000, 1)
        for draw in range(n_draws):
            ranker = RiskControlledRanker(SCORES, random_state=draw)
            known = of_two_kinds(name, 400, 3 * draw + 2)
            ranker.fit(*known[:2], qid=known[2])
            true = ranker.evaluate(X, y, qid=qid).discordance_interval("queries")[0]
            if np.isnan(true):
                continue  # nothing is certified
            for wrong, found in alarms.items():
                monitor = Monitor.of(ranker, delta=DELTA, random_state=draw)
                monitor = replace(monitor, bound=true)
                rng, bets = np.random.default_rng(draw), Bets()
                largest, n_answers = 0.0, 0
                for k in range(20):
                    new = of_two_kinds(name, 30, 10**6 + 100 * draw + k)
                    monitor, asked = monitor.audit(
                        ranker, new[0], qid=new[2], day=f"{k}", n=30
                    )
                    difference = np.sign(new[1][asked.left] - new[1][asked.right])
                    turned = asked.accepted & (rng.random(len(asked)) < wrong)
                    labels = np.where(
                        turned, np.where(asked.label, -asked.label, 1), difference
                    )
                    answers = [
                        {"qid": q, "left": i, "right": j, "label": int(label)}
                        for q, i, j, label in zip(
                            asked.qid, asked.left, asked.right, labels, strict=True
                        )
                    ]
                    monitor = monitor.judge(
                        ranker, answers, labels={-1: "right", 0: "tie", 1: "left"}
                    )
                    n_answers += len(answers)
                    for first in np.unique(asked.qid, return_index=True)[1]:
                        differs = asked.accepted[first] and labels[first] != 0
                        lost = differs and labels[first] != asked.label[first]
                        bets = bets.add(float(lost - true * differs), true)
                        largest = max(largest, bets.log_capital)
                    if wrong and monitor.alarm:
                        break
                found.append(monitor.alarm)
                if not wrong:
                    plain.append(largest >= -np.log(DELTA))
                elif monitor.alarm:
                    needed.append(n_answers)
        yield row_of(
            alarms[0.0],
            f"{np.mean(alarms[0.15]):.2f} found, after {np.median(needed or 0):.0f} "
            "answers",
            what="false alarm of the audit, discordance at the bound",
            for_whom=name,
            size="600 queries audited",
            before=f"one uniform pair of each query: {np.mean(plain):.2f}",
        )


def not_exchangeable(n_draws: int) -> Iterator[Row]:
    """Streams in which nothing changes, and for which nothing is promised."""
    traffic = {
        "bursts: each query comes 5 times in a row": [],
        "each of 150 queries labelled once, traffic by Zipf": [],
    }
    for draw in range(n_draws):
        rng = np.random.default_rng(draw)
        known = world(150, 2 * draw)
        ranker = BALToR(SCORES, coverage=0.6, random_state=0)
        ranker.fit(*known[:2], qid=known[2])
        monitor = Monitor.of(ranker, delta=DELTA, random_state=draw)
        new = world(60, 2 * draw + 1)
        weight = 1 / np.arange(1, 151)
        popular = rng.permutation(150)
        drawn = popular[rng.choice(150, 300, p=weight / weight.sum())]
        streams = [
            taken(new[0], new[2], np.repeat(np.arange(60), 5)),
            taken(known[0], known[2], drawn),
        ]
        for found, (X, qid) in zip(traffic.values(), streams, strict=True):
            found.append(monitor.update(ranker, X, qid=qid, day="all").alarm)
    for name, found in traffic.items():
        yield row_of(
            found,
            what="alarm without labels though nothing changed",
            for_whom=name,
            size="150 calibration queries, 300 queries",
            promised="nothing",
        )


def cross_fitted(n_draws: int) -> Iterator[Row]:
    """Streams without a change after ``cv``, for which nothing is proved."""
    for (name, model), n_queries in product(MODELS.items(), (60, 150)):
        found = []
        for draw in range(n_draws):
            known = make_ranking(n_queries, 8, random_state=2 * draw)
            ranker = BALToR(model, coverage=0.6, random_state=draw)
            ranker.fit(known.data, known.target, qid=known.qid)
            new = make_ranking(300, 8, random_state=2 * draw + 1)
            monitor = Monitor.of(ranker, delta=DELTA, random_state=draw)
            monitor = monitor.update(ranker, new.data, qid=new.qid, day="all")
            found.append(monitor.alarm)
        yield row_of(
            found,
            what="false alarm without labels after cv",
            for_whom=name,
            size=f"{n_queries} queries of 8 items, 300 new ones",
            promised="nothing",
        )


def cost(n_repeats: int) -> Iterator[Row]:
    """Yield how long an update takes, against predict_pairs on the same queries."""
    known, new = make_ranking(200, random_state=0), make_ranking(1000, random_state=1)
    for name, model in MODELS.items():
        ranker = BALToR(model, random_state=0)
        ranker.fit(known.data, known.target, qid=known.qid)
        monitor, seconds = Monitor.of(ranker, delta=DELTA), []
        for _ in range(n_repeats):
            start = time.process_time()  # other programs on the machine do not count
            ranker.predict_pairs(new.data, qid=new.qid)
            middle = time.process_time()
            monitor.update(ranker, new.data, qid=new.qid, day="all")
            seconds.append((middle - start, time.process_time() - middle))
        pairs, update = np.min(seconds, axis=0)
        yield {
            "what": "processor time of update / predict_pairs",
            "for_whom": name,
            "size": "1,000 queries of 5 to 20 items",
            "measured": round(float(update / pairs), 2),
        }


PROMISES = (
    streams,
    columns,
    audits,
    audits_of_discordance,
    not_exchangeable,
    cross_fitted,
)


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    rows = []
    for promise in (*PROMISES, cost):
        found = promise(2 if args.smoke else args.draws)
        for row in tqdm(found, desc=promise.__name__, disable=args.quiet):
            rows.append(row)
            if not args.quiet:
                print(row, flush=True)
            if args.smoke:
                break
    args.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rows, indent=1, ensure_ascii=False)
    (args.out / "monitor.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
