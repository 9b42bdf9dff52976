"""
An arena: who may be called the best, and which battle comes next
=================================================================

Ten translation systems meet two by two, and voters say which translation is better.
After 1,500 votes five systems may still be the best. The arena asks for the battles
that settle it, looks every evening, and after seven more days it announces a winner.
"""

# %%
# The arena
# ---------
# Simulated: each system has a true strength, which the arena never sees; higher is
# better. Each of 200 voters has a taste, and votes several times. Close calls are ties.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skrank_abstain.leaderboard import Leaderboard, LeaderboardDisplay

STRENGTH = pd.Series(
    {"Heron": 1.0, "Dove": 0.75, "Finch": 0.7, "Lark": 0.4, "Egret": 0.1}
    | {"Robin": 0.1, "Crane": -0.4, "Merle": -0.4, "Kite": -0.9, "Swift": -1.0}
)
NAMES = STRENGTH.index.to_numpy()


class Arena:
    """Voters with tastes, and systems that meet by lot or as asked."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.taste = self.rng.normal(scale=0.3, size=(200, 10))

    def vote(self, left, right):
        voter = self.rng.integers(200, size=len(left))
        liked = STRENGTH.to_numpy() + self.taste[voter]
        row, place = np.arange(len(left)), STRENGTH.index.get_indexer
        a, b = place(left), place(right)
        gap = liked[row, a] - liked[row, b] + self.rng.logistic(size=len(left))
        winner = np.select([gap > 0.3, gap < -0.3], ["model_a", "model_b"], "tie")
        return pd.DataFrame(
            {"model_a": left, "model_b": right, "winner": winner, "voter": voter}
        )

    def by_lot(self, n):
        left = self.rng.integers(10, size=n)
        right = (left + self.rng.integers(1, 10, size=n)) % 10
        return self.vote(NAMES[left], NAMES[right])


def board_of(votes):
    return Leaderboard(confidence=0.95, looks="any").fit(votes, cluster="voter")


# %%
# Monday: who may be called the best?
# -----------------------------------
# ``best`` and ``worst`` are the places that the votes leave open; with a probability of
# .95 all of them are right, today and on all days to come: that is ``looks="any"``,
# which an arena needs that asks for votes and looks again. ``cluster="voter"`` says
# that votes of one voter are alike. Five systems may be first, so the arena announces
# no winner: without seven of the 1,500 votes Finch would lead.
COLUMNS = ["place", "item_id", "votes", "best", "worst"]
arena = Arena(seed=0)
votes = arena.by_lot(1500)
first = board_of(votes)
print(first.ranking().to_frame()[COLUMNS].to_string(index=False))
few = first.fragility()
print(f"without {few.n_votes} of the votes {few.successor} would lead")

# %%
# Which battles next?
# -------------------
# The arena can pay for 200 votes a day. ``ask(objective="top")`` names the battles that
# settle most of what concerns the leader, here at most 100 votes for one of them.
questions = first.ask(200, objective="top", per_pair=100)
battles = pd.Series(
    [f"{pair.left_id} against {pair.right_id}" for pair in questions], name="votes"
)
print(battles.value_counts().to_string())

# %%
# The days after
# --------------
# The arena asks again every evening, with all votes so far. It stops when only one
# system may be first, or after 14 days. Here it stops on day 7: Heron is the winner,
# and its lead rests on 66 votes, no longer on seven. A place that was open may look
# settled one day and open the next: what was sure on any day may be kept.


def days_until_settled(arena, votes, asked):
    """Return a board for each day; the last one settles who leads, or is of day 14."""
    boards = [board_of(votes)]
    while (boards[-1].ranking().best == 1).sum() > 1 and len(boards) <= 14:
        today = boards[-1].ask(200, objective="top", per_pair=100)
        new = arena.vote(today.left_id, today.right_id) if asked else arena.by_lot(200)
        votes = pd.concat([votes, new], ignore_index=True)
        boards.append(board_of(votes))
    return boards


boards = days_until_settled(arena, votes, asked=True)
for day, board in enumerate(boards):
    ranking = board.ranking()
    print(f"day {day:>2}: may be first:", *ranking.item_id[ranking.best == 1])
print(boards[-1].ranking().to_frame()[COLUMNS].head(4).to_string(index=False))
few = boards[-1].fragility()
print(f"without {few.n_votes} of the votes {few.successor} would lead")

# %%
# On the left are the strengths, on the right the places; a grey bar reaches from the
# best to the worst place that is left open.
LeaderboardDisplay.from_estimator(first, name="Monday: five may be first")
LeaderboardDisplay.from_estimator(boards[-1], name="Day 7: Heron is first")

# %%
# Was it worth asking?
# --------------------
# Twelve simulated arenas, each asking for battles or drawing them by lot: none
# announces a false winner. Of those that ask, nine have a winner after two
# weeks; of those that draw battles by lot, none.
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
settled, false = {}, {}
for name, asked in {"battles asked for": True, "battles by lot": False}.items():
    lengths, false[name] = [], 0
    for seed in range(12):
        other = Arena(seed)
        ends = days_until_settled(other, other.by_lot(1500), asked)
        ranking = ends[-1].ranking()
        one = (ranking.best == 1).sum() == 1
        lengths.append(len(ends) - 1 if one else np.inf)
        false[name] += one and ranking.item_id[0] != "Heron"
    settled[name] = [np.mean(np.array(lengths) <= day) for day in range(15)]
    ax.plot(range(15), settled[name], color="#0072B2" if asked else "#767676")
    ax.annotate(name, (9, settled[name][9] - 0.07))
ax.set(
    xlabel="days of 200 votes",
    ylabel="share of arenas with a winner",
    ylim=(0, 1.03),
    title="With battles asked for, nine of twelve arenas have a winner",
)
for name, share in settled.items():
    print(f"{name}: {share[14]:.0%} have a winner, {false[name]} false ones")
plt.show()
# sphinx_gallery_thumbnail_number = 3
