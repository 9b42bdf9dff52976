"""What leaderboards promise at the sizes that users have: false orders, decided ones.

    python benchmarks/promises.py --only leaderboards    # half an hour

A board is false if any decided order is. All items of a world are equal where it says
so; otherwise groups of five are. ``before`` is what boards did that compared all of
them by the normal, or Student's, distribution of the largest ratio.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from skrank_abstain.leaderboard import Leaderboard

N_ITEMS, N_VOTES = 30, 10_000
#: Items, first votes of a pair, and rounds of votes of boards that ask.
FEW_ITEMS, FIRST, ROUNDS, ROUND = 10, 5, 12, 100


Row = dict[str, Any]


def groups(n_items: int, step: float) -> np.ndarray:
    """Return strengths of groups of five."""
    return np.arange(n_items) // 5 * step


def draw_votes(
    strengths: np.ndarray, left: np.ndarray, right: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw outcomes; strengths are (n_items,) or (n_votes, n_items)."""
    each = np.broadcast_to(strengths, (left.size, strengths.shape[-1]))
    row = np.arange(left.size)
    gap = each[row, left] - each[row, right] + rng.logistic(size=left.size)
    return np.select([gap > 0.3, gap < -0.3], [1, -1], 0)


def systems(
    kind: str, n_queries: int, n_systems: int, step: float
) -> Callable[[int], tuple[bool, float]]:
    """Return a world of systems on queries."""

    def world(seed: int) -> tuple[bool, float]:
        rng = np.random.default_rng(seed)
        truth = groups(n_systems, step)
        shape = n_queries, n_systems
        noise = rng.normal(size=shape)
        if kind == "skewed":
            noise = rng.exponential(size=shape) - 1
        elif kind == "hard queries":
            noise *= np.exp(rng.normal(size=(n_queries, 1)))
        noise *= np.linspace(0.5, 2, n_systems)
        scores = truth + noise + rng.normal(size=(n_queries, 1))
        board = Leaderboard().fit_scores(dict(enumerate(scores.T)))
        return judged(board, truth)

    return world


def clusters(
    kind: str, n_voters: int, step: float
) -> Callable[[int], tuple[bool, float]]:
    """Return a world of voters with tastes, some of whom vote more than others."""

    def world(seed: int) -> tuple[bool, float]:
        rng = np.random.default_rng(seed)
        weight = np.ones(n_voters)
        if kind == "zipf":
            weight /= np.arange(1, n_voters + 1)
        elif kind == "lognormal":
            weight = np.exp(1.5 * rng.normal(size=n_voters))
        voter = rng.choice(n_voters, p=weight / weight.sum(), size=N_VOTES)
        truth = groups(N_ITEMS, step)
        taste = rng.normal(scale=0.7, size=(n_voters, N_ITEMS))
        left = rng.integers(N_ITEMS, size=N_VOTES)
        right = (left + rng.integers(1, N_ITEMS, size=N_VOTES)) % N_ITEMS
        label = draw_votes(truth + taste[voter], left, right, rng)
        votes = {"left": left, "right": right, "label": label, "voter": voter}
        return judged(Leaderboard().fit(votes, cluster="voter"), truth)

    return world


def looks(
    how: str, step: float, when: str = "any", sizes: str = "", n_voters: int = 1
) -> Callable[[int], tuple[bool, float]]:
    """Return a world whose board is read after each round of votes.

    ``sizes`` is "" for votes by themselves, or says how much the voters vote, who have
    tastes: "equal" or "zipf".
    """

    def world(seed: int) -> tuple[bool, float]:
        rng = np.random.default_rng(seed)
        truth, false = groups(FEW_ITEMS, step), False
        left, right = np.tile(np.triu_indices(FEW_ITEMS, 1), FIRST)
        weight = np.arange(1, n_voters + 1) ** -float(sizes == "zipf")
        taste = rng.normal(scale=0.7 * bool(sizes), size=(n_voters, FEW_ITEMS))

        def vote(left: np.ndarray, right: np.ndarray) -> dict[str, np.ndarray]:
            voter = rng.choice(n_voters, p=weight / weight.sum(), size=left.size)
            label = draw_votes(truth + taste[voter], left, right, rng)
            return {"left": left, "right": right, "label": label, "voter": voter}

        votes = vote(left, right)
        for _ in range(ROUNDS):
            board = Leaderboard(looks=when).fit(
                votes,
                labels={-1: "right", 0: "tie", 1: "left"},
                cluster="voter" if sizes else None,
            )
            wrong, decided = judged(board, truth)
            false |= wrong
            if how == "by lot":
                a = rng.integers(FEW_ITEMS, size=ROUND)
                b = (a + rng.integers(1, FEW_ITEMS, size=ROUND)) % FEW_ITEMS
            else:
                asked = board.ask(ROUND, objective=how, per_pair=20)
                a, b = asked.left, asked.right
            more = vote(a, b)
            votes = {name: np.append(votes[name], more[name]) for name in votes}
        return false, decided

    return world


def at_random(share: float, **options: Any) -> Callable[[int], tuple[bool, float]]:
    """Return a world where a share of the votes is cast at random.

    Three groups of ten: half of the weak items meet only the strong ones. ``before`` is
    the same without ``lapses=True``. Two thirds of the pairs differ. ``options`` are
    those of the board, which is read once.
    """

    def world(seed: int) -> tuple[bool, float]:
        rng = np.random.default_rng(seed)
        truth = np.repeat([0.0, 2.5, 5.0], N_ITEMS // 3)
        left, right = np.triu_indices(N_ITEMS, 1)
        apart, odd = right // 10 - left // 10, left % 2 == 1
        met = (apart == 1) & ((left >= 10) | ~odd) | (apart == 2) & odd
        pair = rng.choice(np.flatnonzero(met), size=N_VOTES)
        left, right = left[pair], right[pair]
        label = draw_votes(truth, left, right, rng)
        coin = rng.choice([-1, 1], size=N_VOTES)
        label = np.where(rng.random(N_VOTES) < share, coin, label)
        votes = {"left": left, "right": right, "label": label}
        return judged(Leaderboard(**options).fit(votes), truth)

    return world


def draw_few(
    rng: np.random.Generator, n_votes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both items of each vote, of six, and voters."""
    items = np.tile(np.arange(6), (n_votes, 1))
    left, right = rng.permuted(items, axis=1)[:, :2].T
    return left, right, rng.integers(12, size=n_votes)


def alike(kind: str, how: str) -> Callable[[int], tuple[bool, float]]:
    """Return a world of two categories with the same strengths.

    A world is false if a claim is that they differ: by the boards of both, or by
    covariates, whose claims are about the shift of an item beside that of the first.
    """

    def world(seed: int) -> tuple[bool, float]:
        rng = np.random.default_rng(seed)
        left, right, voter = draw_few(rng, 3000)
        code = rng.random(3000) < 0.2
        truth = np.array([1.5, 0.8, 0.8, 0.8, 0.0, 0.0])
        taste = rng.normal(scale=0.7 * (kind == "voters"), size=(12, 6))
        each, row = truth + taste[voter], np.arange(3000)
        tie = np.where(code, 0.8, 0.2) if kind == "ties" else 0.3
        gap = each[row, left] - each[row, right] + rng.logistic(size=3000)
        label = np.select([gap > tie, gap < -tie], ["left", "right"], "tie")
        votes: Any = {"left": left, "right": right, "label": label}
        cluster = None
        if kind == "voters":
            votes["voter"], cluster = voter, "voter"
        if how == "covariates":
            for item in range(1, 6):
                votes[f"z{item}"] = code * ((left == item) * 1.0 - (right == item))
            names = [f"z{item}" for item in range(1, 6)]
            board = Leaderboard(confidence=1 - 0.05 / 5)
            board = board.fit(votes, covariates=names, cluster=cluster)
            claims = (board.coef_interval_[:, 0] > 0) | (board.coef_interval_[:, 1] < 0)
        else:
            votes["topic"] = np.where(code, "code", "prose")
            board = Leaderboard(confidence=1 - 0.05 / 6)
            board = board.fit(votes, by="topic", cluster=cluster)
            frames = (own.ranking().to_frame() for own in board.boards_.values())
            one, other = (frame.set_index("item_id").sort_index() for frame in frames)
            width = np.hypot(one.high - one.score, other.high - other.score)
            claims = ((one.score - other.score).abs() > width).to_numpy()
        return bool(claims.any()), 0.0

    return world


def left_out(who: str) -> Callable[[int], tuple[bool, float]]:
    """Return a world of equal items and 12 honest voters with tastes.

    ``who`` is left out: "nobody", "one by lot", or "the worst", whose votes a board of
    the others finds least likely.
    """

    def world(seed: int) -> tuple[bool, float]:
        rng = np.random.default_rng(seed)
        left, right, voter = draw_few(rng, 1800)
        taste = rng.normal(scale=0.7, size=(12, 6))
        votes = {
            "left": left,
            "right": right,
            "label": draw_votes(taste[voter], left, right, rng),
            "voter": voter,
        }
        labels = {-1: "right", 0: "tie", 1: "left"}

        def fit(but: int) -> tuple[Leaderboard, float]:
            own, rest = (
                {name: column[rows] for name, column in votes.items()}
                for rows in (voter == but, voter != but)
            )
            board = Leaderboard().fit(rest, cluster="voter", labels=labels)
            return board, board.score(own) if but >= 0 else 0.0

        tried = {"nobody": [-1], "one by lot": [0], "the worst": range(12)}[who]
        board, _ = min(map(fit, tried), key=lambda found: found[1])
        return judged(board, np.zeros(6))

    return world


def judged(board: Leaderboard, truth: np.ndarray) -> tuple[bool, float]:
    """Return whether an order is false, and the share decided."""
    decisions = board.decisions
    order = np.sign(truth[decisions.left] - truth[decisions.right])
    false = decisions.accepted & (decisions.label != order)
    return bool(false.any()), decisions.coverage


#: What, size, world, and the share of false boards before (of 100), where measured.
WORLDS: list[tuple[str, str, Any, float | None]] = [
    *(
        (
            f"systems on queries, {kind}, " + ("groups" if step else "equal"),
            f"{n_queries} queries x {n} systems",
            systems(kind, n_queries, n, step),
            before,
        )
        for kind, n_queries, n, step, before in [
            ("normal", 5, 20, 0.0, 0.34),
            ("normal", 10, 90, 0.0, 0.35),
            ("normal", 20, 40, 0.0, 0.06),
            ("normal", 20, 180, 0.0, None),
            ("normal", 100, 40, 0.0, 0.08),
            ("skewed", 10, 20, 0.0, 0.28),
            ("skewed", 41, 20, 0.0, 0.06),
            ("skewed", 100, 40, 0.0, 0.11),
            ("hard queries", 20, 40, 0.0, 0.03),
            ("normal", 20, 20, 0.5, 0.03),
            ("normal", 100, 20, 0.5, 0.04),
        ]
    ),
    *(
        (
            f"clusters of {kind} sizes, " + ("groups" if step else "equal items"),
            f"{n} voters",
            clusters(kind, n, step),
            before,
        )
        for kind, n, step, before in [
            ("equal", 5, 0.0, 0.37),
            ("equal", 13, 0.0, 0.08),
            ("equal", 200, 0.0, 0.07),
            ("zipf", 13, 0.0, 0.53),
            ("zipf", 40, 0.0, 0.64),
            ("zipf", 200, 0.0, 0.45),
            ("lognormal", 60, 0.0, 0.54),
            ("equal", 150, 0.3, 0.0),
            ("zipf", 150, 0.3, 0.17),
        ]
    ),
    *(
        (
            f"any look, votes {how}, " + ("groups" if step else "equal items"),
            f"{FEW_ITEMS} items, {ROUNDS} looks",
            looks(how, step),
            before,
        )
        for how, step, before in [
            ("by lot", 0.0, 0.24),
            ("pairs", 0.0, 0.39),
            ("top", 0.0, 0.17),
            ("pairs", 1.0, 0.24),
        ]
    ),
    *(
        (
            f"any look, votes {how}, voters of {sizes} sizes, "
            + ("groups" if step else "equal items"),
            f"{n} voters, {ROUNDS} looks",
            looks(how, step, "any", sizes, n),
            before,
        )
        for how, sizes, n, step, before in [
            ("by lot", "equal", 13, 0.0, 0.1),
            ("by lot", "zipf", 13, 0.0, None),
            ("by lot", "equal", 200, 0.0, None),
            ("by lot", "zipf", 200, 0.0, None),
            ("pairs", "zipf", 40, 0.0, None),
            ("by lot", "equal", 60, 1.0, None),
        ]
    ),
    *(
        (
            f"{share:.0%} of votes at random, lapses=True",
            f"{N_ITEMS} items",
            at_random(share, lapses=True),
            before,
        )
        for share, before in [(0.0, 0.03), (0.02, 0.41), (0.05, 0.99), (0.1, 1.0)]
    ),
    *(
        (
            f"any look, 5% of votes at random, lapses={lapses}",
            f"{N_ITEMS} items",
            at_random(0.05, looks="any", lapses=lapses),
            None,
        )
        for lapses in (False, True)
    ),
    *(
        (
            f"equal categories, {kind}, claims by {how}",
            "6 items",
            alike(kind, how),
            None,
        )
        for kind in ("equal ties", "ties", "voters")
        for how in ("boards", "covariates")
    ),
    *(
        (f"12 voters but {who}, equal items", "6 items", left_out(who), None)
        for who in ("nobody", "one by lot", "the worst")
    ),
]


def promises(n_boards: int) -> Iterator[Row]:
    """Yield the share of boards with a false order, by world."""
    for what, size, world, before in WORLDS:
        found = [world(seed) for seed in range(n_boards)]
        false, decided = np.mean(found, axis=0)
        yield {
            "what": "some order of a board is false",
            "for_whom": what,
            "size": size,
            "promised": 0.05,
            "measured": round(float(false), 4),
            "se": round(float(np.sqrt(false * (1 - false) / n_boards)), 4),
            "power": f"{decided:.3f} of the pairs decided",
            "before": "" if before is None else f"broken {before:.2f}",
        }
