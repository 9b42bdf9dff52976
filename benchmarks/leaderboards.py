"""Leaderboards on simulated votes: false orders, questions, judges, next votes, time.

    python benchmarks/leaderboards.py            # minutes
    python benchmarks/leaderboards.py --smoke    # seconds

The truth is known, so that an order can be called false; promises_leaderboard.py asks
that of few queries, uneven voters and many looks. Intervals that do not overlap,
the usual rule, stand beside the places of a board. A football-like history, whose
strengths drift, is predicted match day by match day; Elo's constants are tuned on the
first half, as are the board's half-life and prior. choix and evalica are compared where
they are installed.
"""

import json
import resource
import time
import warnings
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import logistic, norm
from sklearn.base import clone
from tqdm import tqdm

from skrank_abstain.leaderboard import Leaderboard

N_ITEMS, N_VOTES, HALF_WIDTH = 30, 10_000, 0.3
GROUPS = np.repeat(np.arange(6) * 0.3, 5)
WORLDS = (
    *("equal", "groups", "normal"),
    *("tastes, clustered", "tastes, not clustered", "tastes of ten, clustered"),
)
#: Votes of the boards that ask, in rounds; about each pair at first.
ROUND, ASKED = 200, 4300
#: Teams, seasons, days of a season, and how strengths and places are made.
TEAMS, SEASONS, HOME, DRIFT = 20, 6, 0.4, 0.05
HALF_LIVES, PRIORS = (20.0, 30.0, 45.0, 70.0, 110.0), (1.0, 3.0)
ELO_STEPS, ELO_HOMES = (0.02, 0.04, 0.06, 0.09, 0.13, 0.2), (0.25, 0.35, 0.45, 0.55)

Votes = dict[str, Any]


def outcome(
    difference: np.ndarray, rng: np.random.Generator, half_width: float = HALF_WIDTH
) -> np.ndarray:
    """Draw outcomes by Rao and Kupper's model."""
    u = rng.random(difference.size)
    wins = 1 / (1 + np.exp(half_width - difference))
    loses = 1 / (1 + np.exp(half_width + difference))
    return np.where(u < wins, 1, np.where(u < wins + loses, -1, 0))


def random_votes(
    strengths: np.ndarray,
    rng: np.random.Generator,
    n_votes: int = N_VOTES,
    half_width: float = HALF_WIDTH,
) -> Votes:
    """Draw votes; strengths are (n_items,), or (n_votes, n_items) for each vote."""
    n = strengths.shape[-1]
    left = rng.integers(n, size=n_votes)
    right = (left + rng.integers(1, n, size=n_votes)) % n
    rows = np.arange(n_votes)
    each = np.broadcast_to(strengths, (n_votes, n))
    label = outcome(each[rows, left] - each[rows, right], rng, half_width)
    return {"left": left, "right": right, "label": label}


def draw_world(
    world: str, rng: np.random.Generator
) -> tuple[np.ndarray, Votes, str | None]:
    """Return the truth, the votes and the column of their clusters."""
    if world == "equal":
        truth = np.zeros(N_ITEMS)
    elif world == "normal":
        truth = rng.normal(size=N_ITEMS)
    else:
        truth = GROUPS
    if not world.startswith("tastes"):
        return truth, random_votes(truth, rng), None
    n_voters = 10 if "ten" in world else 150
    voter = rng.integers(n_voters, size=N_VOTES)
    taste = rng.normal(scale=0.7, size=(n_voters, N_ITEMS))
    votes = random_votes(truth + taste[voter], rng)
    if world == "tastes, not clustered":
        return truth, votes, None
    return truth, votes | {"voter": voter}, "voter"


def judge(board: Leaderboard, truth: np.ndarray) -> tuple[bool, float, bool]:
    """Return whether an order is false, the share decided, the same of intervals."""
    decisions, ranking = board.decisions, board.ranking()
    order = np.sign(truth[decisions.left] - truth[decisions.right])
    false = decisions.accepted & (decisions.label != order)
    low, high = np.empty((2, truth.size))
    low[ranking.item_id], high[ranking.item_id] = ranking.low, ranking.high
    above = low[decisions.left] > high[decisions.right]
    below = high[decisions.left] < low[decisions.right]
    usual = (above & (order <= 0)) | (below & (order >= 0))
    return bool(false.any()), decisions.coverage, bool(usual.any())


def false_orders(n_boards: int, quiet: bool) -> dict[str, Any]:
    """Measure false orders and decided pairs, on votes and on systems x queries."""
    results = {}
    for world in WORLDS:
        found = []
        for seed in tqdm(range(n_boards), desc=world, disable=quiet):
            rng = np.random.default_rng(seed)
            truth, votes, cluster = draw_world(world, rng)
            board = Leaderboard().fit(votes, cluster=cluster)
            found.append(judge(board, truth))
        results[world] = summary(found)
    for n_queries in (50, 200, 800):
        found = []
        for seed in tqdm(range(n_boards), desc=f"{n_queries}", disable=quiet):
            rng = np.random.default_rng(seed)
            truth = GROUPS / 15
            scores = rng.normal(scale=0.25, size=(n_queries, 1)) + truth
            scores = scores + rng.normal(scale=0.1, size=(n_queries, N_ITEMS))
            board = Leaderboard()
            found.append(judge(board.fit_scores(dict(enumerate(scores.T))), truth))
        results[f"{n_queries} queries"] = summary(found)
    return results


def summary(found: list[tuple[bool, float, bool]]) -> dict[str, float]:
    """Return means over boards."""
    names = ("false", "decided", "false by intervals")
    return dict(zip(names, np.mean(found, axis=0).round(3).tolist(), strict=True))


def ask_rounds(how: str, n_boards: int, quiet: bool) -> dict[str, float]:
    """Measure who leads after the same number of votes, asked for in three ways."""
    found = []
    for seed in tqdm(range(n_boards), desc=how, disable=quiet):
        truth = np.random.default_rng(seed).normal(size=N_ITEMS)
        rng = np.random.default_rng(1000 + seed)
        left, right = np.triu_indices(N_ITEMS, 1)
        label = outcome(truth[left] - truth[right], rng)
        while left.size < ASKED:
            n = min(ROUND, ASKED - left.size)
            if how == "random":
                more = random_votes(truth, rng, n)
                a, b = more["left"], more["right"]
            else:
                votes = {"left": left, "right": right, "label": label}
                board = Leaderboard(looks="any").fit(votes)
                questions = board.ask(n, objective=how, per_pair=10)
                if not len(questions):  # the leader is decided
                    break
                a, b = questions.left, questions.right
            left, right = np.append(left, a), np.append(right, b)
            label = np.append(label, outcome(truth[a] - truth[b], rng))
        votes = {"left": left, "right": right, "label": label}
        board = Leaderboard(looks="any").fit(votes)
        ranking = board.ranking()
        leader = ranking.item_id == truth.argmax()
        width = (ranking.worst - ranking.best + 1)[leader][0]
        false, decided, _ = judge(board, truth)
        found.append((ranking.item_id[0] == truth.argmax(), width, decided, false))
    names = ("leader right", "places of the leader", "decided", "false")
    return dict(zip(names, np.mean(found, axis=0).round(3).tolist(), strict=True))


def season(seed: int, n_seasons: int) -> tuple[Votes, np.ndarray]:
    """Return a history of matches, and the true probabilities of each."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(scale=0.6, size=TEAMS)
    parts: list[tuple[np.ndarray, ...]] = []
    for day in range(n_seasons * 2 * (TEAMS - 1)):
        teams = rng.permutation(TEAMS).reshape(2, -1)
        difference = strength[teams[0]] - strength[teams[1]] + HOME
        label = outcome(difference, rng, 0.5)
        parts.append((*teams, label, np.full(TEAMS // 2, day), difference))
        # A walk that is pulled back, so that the spread stays.
        strength = strength * (1 - DRIFT**2 / 0.72)
        strength = strength + rng.normal(scale=DRIFT, size=TEAMS)
    left, right, label, day, difference = map(np.concatenate, zip(*parts, strict=True))
    votes = {"left": left, "right": right, "label": label, "time": day}
    return votes | {"home": np.ones(left.size)}, difference


def log_loss(difference: np.ndarray, label: np.ndarray, half_width: float) -> float:
    """Return the mean log loss of differences of strengths."""
    wins = 1 / (1 + np.exp(half_width - difference))
    loses = 1 / (1 + np.exp(half_width + difference))
    proba = np.stack([loses, 1 - wins - loses, wins], axis=1)
    return float(-np.log(proba[np.arange(label.size), label + 1]).mean())


def elo(votes: Votes, step: float, home: float) -> np.ndarray:
    """Return the difference of Elo's ratings before each match, in logits."""
    rating, found = np.zeros(TEAMS), np.empty(votes["left"].size)
    for row, (i, j, label) in enumerate(
        zip(votes["left"], votes["right"], votes["label"], strict=True)
    ):
        found[row] = rating[i] - rating[j] + home
        expected = 1 / (1 + np.exp(-found[row]))
        move = step * ((label + 1) / 2 - expected)
        rating[i], rating[j] = rating[i] + move, rating[j] - move
    return found


def best_half_width(difference: np.ndarray, label: np.ndarray) -> float:
    """Return the half-width of a tie that suits the differences best."""
    grid = np.linspace(0.05, 1.2, 47)
    return float(min(grid, key=lambda width: log_loss(difference, label, width)))


def board_loss(votes: Votes, days: range, half_life: float, prior: float) -> float:
    """Return the mean log loss of boards fitted on all earlier days."""
    total = []
    for day in days:
        past, now = votes["time"] < day, votes["time"] == day
        board = Leaderboard(half_life=half_life, prior=prior)
        board.fit(
            {k: v[past] for k, v in votes.items()},
            covariates=["home"],
            # A day without a win of the right side leaves 0 and 1.
            labels={-1: "right", 0: "tie", 1: "left"},
        )
        total.append(board.score({k: v[now] for k, v in votes.items()}))
    return -float(np.mean(total))


def histories(n_histories: int, n_seasons: int, quiet: bool) -> dict[str, Any]:
    """Compare boards with tuned Elo on histories of drifting strengths."""
    found = []
    for seed in tqdm(range(n_histories), desc="histories", disable=quiet):
        votes, truth = season(seed, n_seasons)
        n_days = int(votes["time"].max()) + 1
        start, half = n_days // 6, n_days // 2
        tune = (votes["time"] >= start) & (votes["time"] < half)
        test = votes["time"] >= half
        label = votes["label"]
        tuned = []
        for step in ELO_STEPS:
            for home in ELO_HOMES:
                rated = elo(votes, step, home)
                width = best_half_width(rated[tune], label[tune])
                loss = log_loss(rated[tune], label[tune], width)
                tuned.append((loss, log_loss(rated[test], label[test], width)))
        options = min(
            ((half_life, prior) for half_life in HALF_LIVES for prior in PRIORS),
            key=lambda pair: board_loss(votes, range(start, half), *pair),
        )
        found.append(
            (
                log_loss(truth[test], label[test], 0.5),
                min(tuned)[1],
                board_loss(votes, range(half, n_days), *options),
            )
        )
    names = ("truth", "tuned Elo", "board")
    means = dict(zip(names, np.mean(found, axis=0).round(4).tolist(), strict=True))
    error = np.diff(found, axis=1)[:, 1].std() / max(n_histories - 1, 1) ** 0.5
    return means | {"standard error of board - Elo": round(float(error), 4)}


def judges(agreement: float, n_boards: int, quiet: bool) -> dict[str, float]:
    """Measure what a biased judge adds to 2,000 votes of people."""
    found = []
    for seed in tqdm(range(n_boards), desc=f"judge {agreement}", disable=quiet):
        rng = np.random.default_rng(seed)
        votes = random_votes(GROUPS, rng, 22_000)
        seen = rng.normal(size=22_000)
        other = agreement * seen
        other += np.sqrt(1 - agreement**2) * rng.normal(size=22_000)
        believed = GROUPS + 0.3 * rng.normal(size=N_ITEMS)
        labels = []
        for strength, noise in ((GROUPS, seen), (believed, other)):
            gap = strength[votes["left"]] - strength[votes["right"]]
            gap = gap + logistic.ppf(norm.cdf(noise))
            labels.append(np.select([gap > HALF_WIDTH, gap < -HALF_WIDTH], [1, -1], 0))
        machine = votes | {"label": labels[1], "vote_id": np.arange(22_000)}
        people = machine | {"label": labels[0]}
        people = {name: column[:2000] for name, column in people.items()}
        board = Leaderboard()
        row = []
        for fitted in (
            board.fit(people, judges=machine),
            clone(board).fit(people),
            clone(board).fit(machine),
        ):
            error = fitted.strengths_ - GROUPS + GROUPS.mean()
            row += [*judge(fitted, GROUPS)[:2], float(np.mean(error**2))]
        found.append([board.vote_worth_, *row])
    kinds = ("both", "people", "judge")
    names = [
        f"{what}, {kind}" for kind in kinds for what in ("false", "decided", "mse")
    ]
    means = np.mean(found, axis=0).round(4).tolist()
    return dict(zip(["worth", *names], means, strict=True))


def rivals(n_items: int, n_votes: int) -> dict[str, Any]:
    """Compare log loss and time with choix and evalica, on votes without ties."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=n_items)
    votes, fresh = (random_votes(truth, rng, n, 0.0) for n in (n_votes, 100_000))

    def tested(strength: np.ndarray, seconds: float) -> dict[str, float]:
        difference = strength[fresh["left"]] - strength[fresh["right"]]
        loss = np.logaddexp(0, -fresh["label"] * difference).mean()
        return {"log loss": round(float(loss), 4), "seconds": round(seconds, 3)}

    def board() -> np.ndarray:
        fitted = Leaderboard().fit(votes)
        strength = np.zeros(n_items)
        strength[fitted.items_] = fitted.strengths_
        return strength

    def choix_() -> np.ndarray:
        import choix

        won = votes["label"] > 0
        winner = np.where(won, votes["left"], votes["right"])
        loser = np.where(won, votes["right"], votes["left"])
        pairs = np.stack([winner, loser], axis=1).tolist()
        return np.asarray(choix.ilsr_pairwise(n_items, pairs, alpha=0.01))

    def evalica_() -> np.ndarray:
        import evalica

        kinds = {1: evalica.Winner.X, -1: evalica.Winner.Y}
        winners = [kinds[label] for label in votes["label"].tolist()]
        left, right = votes["left"].tolist(), votes["right"].tolist()
        found = evalica.bradley_terry(left, right, winners)
        scores = found.scores.reindex(range(n_items))
        return np.log(scores.to_numpy() + 1e-12)

    results = {}
    for name, fit in (("board", board), ("choix", choix_), ("evalica", evalica_)):
        if name == "board" or find_spec(name):
            start = time.perf_counter()
            strength = fit()
            results[name] = tested(strength, time.perf_counter() - start)
    return results


def size(n_items: int, n_votes: int, *, places: bool) -> dict[str, float]:
    """Measure the time of a fit and of places, and the memory of this process."""
    rng = np.random.default_rng(0)
    votes = random_votes(rng.normal(size=n_items), rng, n_votes)
    names = np.array([f"item {k}" for k in range(n_items)])
    votes = votes | {side: names[votes[side]] for side in ("left", "right")}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    board = Leaderboard().fit(votes)
    found = {"fit": time.perf_counter() - start}
    if places:
        start = time.perf_counter()
        board.ranking()
        found["places"] = time.perf_counter() - start
        start = time.perf_counter()
        board.ask(20)
        found["ask"] = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found["GB before"], found["GB at most"] = before / 1e6, peak / 1e6
    return {name: round(value, 2) for name, value in found.items()}


def main(argv: list[str] | None = None) -> dict[str, Any]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boards", type=int, default=200)
    parser.add_argument("--smoke", action="store_true", help="a few small boards")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    n = 3 if args.smoke else args.boards
    # Boards of few votes have items that always win.
    warnings.filterwarnings("ignore", message=".* every time")
    small = args.smoke
    sizes = [(50, 2000)] if small else [(100, 200_000), (1000, 1_000_000)]
    results: dict[str, Any] = {
        "sizes": {
            f"{items} items, {votes} votes": size(items, votes, places=True)
            for items, votes in sizes
        },
        "false orders": false_orders(n, args.quiet),
        "questions": {
            how: ask_rounds(how, 1 if small else 24, args.quiet)
            for how in ("top", "pairs", "random")
        },
        "judges": {
            str(agreement): judges(agreement, 2 if small else 60, args.quiet)
            for agreement in (0.9, 0.6, 0.0)
        },
        "histories": histories(1 if small else 20, 1 if small else SEASONS, args.quiet),
        "rivals": {
            f"{items} items, {votes} votes": rivals(items, votes)
            for items, votes in ((30, 300), (100, 10_000), (1000, 1_000_000))[
                : 1 if small else 3
            ]
        },
    }
    if not small:
        results["sizes"]["10000 items, 2000000 votes"] = size(
            10_000, 2_000_000, places=False
        )
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "leaderboards.json").write_text(json.dumps(results, indent=1) + "\n")
    return results


if __name__ == "__main__":
    main()
