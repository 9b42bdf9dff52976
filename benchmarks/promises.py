"""What is promised, what is measured: one table for all promises of the package.

    python benchmarks/promises.py                        # hours
    python benchmarks/promises.py --only certificates
    python benchmarks/promises.py --smoke                # seconds

Each function of `PROMISES` simulates worlds in which a promise can break, at sizes that
users have, and returns rows. "promised" is the largest share of broken promises, and
"measured" the share of the draws that broke it, with its standard error "se". "power"
is what the promise is worth, and "before" the same of what it replaced.
"""

import json
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import monitor
import numpy as np
import places
import promises_leaderboard
import queries
from sklearn.linear_model import LinearRegression
from tqdm import tqdm

from skrank_abstain import BALToR, PairwiseRankerClassifier, RiskControlledRanker
from skrank_abstain.selection import CertifiedRisk

COLUMNS = ("what", "for_whom", "size", "promised", "measured", "se", "power", "before")
Row = dict[str, Any]
#: Uses its only feature as the score.
SCORES = LinearRegression(fit_intercept=False).fit([[1.0]], [1.0])

#: By share of tied pairs: shares of the grades, and the correlation of score and
#: relevance with which a quarter of the pairs that differ are in the wrong order.
TIES = {0.0: ((), 0.706), 0.44: ((0.6, 0.2, 0.2), 0.569), 0.81: ((0.894, 0.106), 0.465)}
#: By world: share of the queries whose scores are turned round, and by what factor.
WORLDS = {
    "coin": (0.0, 0.0),
    "upside down": (1.0, -1.0),
    "good": (0.0, 1.0),
    "15 % inverted": (0.15, -1.0),
    "6 % confidently wrong": (0.06, -3.0),
    "25 % inverted": (0.25, -1.0),
}


def world(name: str, ties: float, n_queries: int, seed: int) -> tuple[Any, ...]:
    """Return scores, relevance and queries of 5 to 20 items.

    ``seed`` draws the queries.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 21, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    shares, correlation = TIES[ties]
    y, noise = rng.normal(size=(2, qid.size))
    share, factor = WORLDS[name]
    score = correlation * y + np.sqrt(1 - correlation**2) * noise
    turned = rng.random(n_queries) < share
    score = np.where(turned[qid], factor * score, score)
    if name == "coin":
        score = noise
    if shares:
        cuts = np.quantile(rng.normal(size=100_000), np.cumsum(shares)[:-1])
        y = np.searchsorted(cuts, y).astype(float)
    return score[:, None], y, qid


def certificate(
    ranker: Any,
    known: tuple[Any, ...],
    new: tuple[Any, ...],
    max_risk: float = 0.3,
    counted: str | None = None,
    **fit: Any,
) -> tuple[bool, float]:
    """Return whether the discordance exceeds the bound, and the share that is decided.

    Both of new pairs that differ. ``counted`` is by "queries" or by "pairs"; by default
    as certified.
    """
    X, y, qid = known
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = ranker.fit(X, y, qid=qid, **fit)
    if ranker.threshold_ == -np.inf:
        return False, 0.0  # nothing is decided, so nothing is promised
    X, y, qid = new
    totals = ranker.evaluate(X, y, qid=qid)
    differ = totals.pairs - totals.tied
    weighting = counted or getattr(ranker, "weighting", "queries")
    discordance = totals.discordance_interval(weighting)[0]
    return discordance > max_risk, float(totals.unlike.sum() / differ.sum())


def row_of(
    broken: list[bool], power: list[float], before: list[Any] | None = None, **said: Any
) -> Row:
    """Return a row from what happened in each draw."""
    share = float(np.mean(broken))
    error = np.sqrt(share * (1 - share) / len(broken))
    row = said | {"measured": round(share, 4), "se": round(float(error), 4)}
    row["power"] = f"{np.mean(power):.2f} of the pairs that differ decided"
    issued = float(np.mean(np.array(power) > 0))
    row["power"] += f"; anything in {issued:.2f} of draws"
    row["before"] = ""
    if before:
        was_broken, decided = np.mean(before, axis=0)
        row["before"] = f"broken {was_broken:.2f}, decided {decided:.2f}"
    return {name: row[name] for name in COLUMNS}


def certificates(
    n_draws: int,
    sizes: tuple[int, ...] = (60, 150, 400),
    worlds: tuple[str, ...] = tuple(WORLDS),
    ties: tuple[float, ...] = tuple(TIES),
    *,
    n_before: int = 20,
    max_risk: float = 0.3,
) -> Iterator[Row]:
    """Certify bounds on the discordance, by world and share of ties.

    ``sizes`` are numbers of certification queries. "before" is the bound on the loss,
    which the share of ties dilutes, with as many queries in all and at most
    ``n_before`` draws. The truth is that of 10,000 new queries.
    """
    for tied in ties:
        for name in worlds:
            new = world(name, tied, 10_000, seed=1)
            for size in sizes:
                found, before = [], []
                for draw in range(n_draws):
                    known = world(name, tied, int(size / 0.85), seed=draw + 2)
                    ranker = RiskControlledRanker(
                        SCORES, max_risk=max_risk, random_state=draw
                    )
                    found.append(certificate(ranker, known, new, max_risk))
                    if draw < n_before:
                        ranker.set_params(bound="loss", tuning_size=0.3)
                        before.append(certificate(ranker, known, new, max_risk))
                broken, power = zip(*found, strict=True)
                yield row_of(
                    broken,
                    power,
                    before,
                    what=f"discordance at most {max_risk:g}",
                    for_whom=f"{name}, {tied:.0%} ties",
                    size=f"{size} certification queries",
                    promised=0.1,
                )


def smaller_bounds(n_draws: int) -> Iterator[Row]:
    """Certify 0.2, which less than all pairs can keep."""
    worlds = "good", "6 % confidently wrong", "15 % inverted"
    yield from certificates(n_draws, worlds=worlds, n_before=0, max_risk=0.2)


def other_certificates(n_draws: int, size: int = 400) -> Iterator[Row]:
    """Certify the same for each of two sites, for pairs, and for comparisons."""
    name, tied = "15 % inverted", 0.44
    new = world(name, tied, 10_000, seed=1)

    def of_sites(draw: int, known: tuple[Any, ...]) -> tuple[bool, float]:
        ranker = RiskControlledRanker(SCORES, random_state=draw)
        return certificate(ranker, known, new, groups=known[2] % 2)

    def of_pairs(draw: int, known: tuple[Any, ...]) -> tuple[bool, float]:
        ranker = RiskControlledRanker(
            SCORES, weighting="pairs", largest_query=20, random_state=draw
        )
        return certificate(ranker, known, new)

    def of_comparisons(draw: int, known: tuple[Any, ...]) -> tuple[bool, float]:
        rule = CertifiedRisk(0.3)
        ranker = PairwiseRankerClassifier(SCORES, rule=rule, random_state=draw)
        return certificate(ranker, compared(known), compared(new))

    for whom, of_draw in (
        ("each of two sites", of_sites),
        ("each pair counting alike", of_pairs),
        ("comparisons, one of a query", of_comparisons),
    ):
        found = [
            of_draw(draw, world(name, tied, int(size / 0.85), seed=draw + 2))
            for draw in range(n_draws)
        ]
        broken, power = zip(*found, strict=True)
        yield row_of(
            broken,
            power,
            what="discordance at most 0.3",
            for_whom=f"{whom}; {name}, {tied:.0%} ties",
            size=f"{size} certification queries",
            promised=0.1,
        )


def large_and_bad(n_queries: int, seed: int) -> tuple[Any, ...]:
    """Return queries of 5 items in the right order, and a third of 20 in a poor one.

    There .37 of the pairs are in the wrong order.
    """
    rng = np.random.default_rng(seed)
    large = rng.random(n_queries) < 1 / 3
    qid = np.repeat(np.arange(n_queries), np.where(large, 20, 5))
    y, noise = rng.normal(size=(2, qid.size))
    poor = 0.4 * y + np.sqrt(0.84) * noise
    return np.where(large[qid], poor, y)[:, None], y, qid


def ways_of_counting(n_draws: int, size: int = 400) -> Iterator[Row]:
    """Certify by query and by pair where large queries are in the wrong order."""
    new = large_and_bad(10_000, seed=1)
    for weighting, options in (
        ("queries", {}),
        ("pairs", {"weighting": "pairs", "largest_query": 20}),
    ):
        for counted in "queries", "pairs":
            broken, power = [], []
            for draw in range(n_draws):
                ranker = RiskControlledRanker(SCORES, random_state=draw, **options)
                known = large_and_bad(int(size / 0.85), seed=draw + 2)
                found = certificate(ranker, known, new, counted=counted)
                broken.append(found[0])
                power.append(found[1])
            yield row_of(
                broken,
                power,
                what=f"discordance by {counted} at most 0.3",
                for_whom=f"certified by {weighting}; large queries in a poor order",
                size=f"{size} certification queries",
                promised=0.1 if counted == weighting else "nothing",
            )


def compared(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the first two items of each query as a labelled comparison."""
    X, y, qid = items
    first = np.unique(qid, return_index=True)[1]
    label = np.sign(y[first] - y[first + 1]).astype(int)
    return np.hstack([X[first], X[first + 1]]), label, qid[first]


def coverages(
    n_draws: int, sizes: tuple[int, ...] = (10, 20, 60, 200)
) -> Iterator[Row]:
    """Decide .7 of the pairs, with and without a guarantee.

    "measured" is the share of the pairs of a new query that is abstained on, each query
    counting alike, and "power" how far the coverage is from .7 in a draw.
    """
    X, y, qid = world("good", 0.44, 10_000, seed=1)
    for guarantee, promised in ((None, "nothing"), ("hierarchical", 0.3)):
        for size in sizes:
            found = []
            for draw in range(n_draws):
                ranker = BALToR(
                    SCORES,
                    coverage=0.7,
                    coverage_guarantee=guarantee,
                    random_state=draw,
                )
                known = world("good", 0.44, size, seed=draw + 2)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ranker.fit(known[0], known[1], qid=known[2])
                totals = ranker.evaluate(X, y, qid=qid)
                found.append((totals.accepted / totals.pairs).mean())
            error = np.std(found) / np.sqrt(len(found))
            off = np.abs(np.array(found) - 0.7).mean()
            yield {
                "what": "pairs of a new query are abstained on",
                "for_whom": f"coverage_guarantee={guarantee}",
                "size": f"{size} calibration queries",
                "promised": promised,
                "measured": round(1 - float(np.mean(found)), 4),
                "se": round(float(error), 4),
                "power": f"coverage off by {off:.3f}",
                "before": "",
            }


#: By name: functions that take a number of draws and yield rows.
PROMISES: dict[str, list[Callable[[int], Iterator[Row]]]] = {
    "coverage": [coverages],
    "certificates": [
        certificates,
        smaller_bounds,
        other_certificates,
        ways_of_counting,
    ],
    "places": [places.places],
    "lists": [
        queries.best_items,
        queries.first_items,
        queries.bounds_of_lists,
        queries.novel_items,
    ],
    "monitor": [*monitor.PROMISES],
    "leaderboards": [promises_leaderboard.promises],
}


def table(rows: list[Row]) -> str:
    """Return the rows in markdown."""
    head = [name.replace("_", " ") for name in COLUMNS]
    lines = [head, ["---"] * len(head)]
    lines += [[str(row[name]) for name in COLUMNS] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=PROMISES, default=[*PROMISES])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    rows = []
    for name in args.only:
        for promise in PROMISES[name]:
            found = promise(2 if args.smoke else args.draws)
            for row in tqdm(found, desc=name, disable=args.quiet):
                rows.append(row)
                if args.smoke:
                    break
    args.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rows, indent=1, ensure_ascii=False)
    (args.out / "promises.json").write_text(text + "\n", encoding="utf-8")
    (args.out / "promises.md").write_text(table(rows) + "\n", encoding="utf-8")
    if not args.quiet:
        print(table(rows))


if __name__ == "__main__":
    main()
