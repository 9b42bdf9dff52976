"""
A leaderboard that does not overstate
=====================================

Voters compare thirty chatbots two by two. Six groups of five are equally strong, which
nobody knows: the votes are simulated, so that an order can be called false. A list by
strength puts all thirty in a row; a Leaderboard says which of these places the votes
bear out.
"""

# %%
# Votes
# -----
# A hundred and fifty voters with tastes of their own cast 10,000 votes. Columns
# as arenas publish them; ``pandas.read_json(path, lines=True)`` reads such a file.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skrank_abstain.leaderboard import Leaderboard, LeaderboardDisplay

rng = np.random.default_rng(0)
strength = np.repeat(np.arange(6) * 0.4, 5)[::-1]
names = np.array([f"{group}{number}" for group in "ABCDEF" for number in range(1, 6)])


def vote(n_votes):
    left = rng.integers(30, size=n_votes)
    right = (left + rng.integers(1, 30, size=n_votes)) % 30
    voter = rng.integers(150, size=n_votes)
    liked = strength + taste[voter]
    row = np.arange(n_votes)
    gap = liked[row, left] - liked[row, right] + rng.logistic(size=n_votes)
    winner = np.select([gap > 0.3, gap < -0.3], ["model_a", "model_b"], "tie")
    return pd.DataFrame(
        {
            "model_a": names[left],
            "model_b": names[right],
            "winner": winner,
            "voter": voter,
        }
    )


taste = rng.normal(scale=0.5, size=(150, 30))
votes = vote(10_000)
print(votes.head(3).to_string(index=False))

# %%
# Places that hold all at once
# ----------------------------
# Votes of one voter are alike: ``cluster`` says so. With probability .95 none of all
# the decided orders is false.
board = Leaderboard().fit(votes, cluster="voter")
ranking = board.ranking()
print(ranking.to_frame()[["place", "item_id", "best", "worst"]][:7].to_string())

# %%
# On the left are the strengths, each with its interval. On the right a bar reaches from
# the best to the worst place that is left open. Chatbots of a group have about the same
# bars: the votes do not tell them apart.
LeaderboardDisplay.from_estimator(board, name="Thirty chatbots, six groups of equals")

# %%
# What the usual list would claim
# -------------------------------
# Intervals that do not overlap are often read as a difference. How many orders of
# equals does each rule claim, on twenty boards of 10,000 votes?
truth = dict(zip(names, strength, strict=True))
by_board, by_intervals = [], []
for _ in range(20):
    taste = rng.normal(scale=0.5, size=(150, 30))
    other = Leaderboard().fit(vote(10_000), cluster="voter")
    decisions, table = other.decisions, other.ranking().to_frame().set_index("item_id")
    left, right = decisions.left_id, decisions.right_id
    equal = np.array([truth[a] == truth[b] for a, b in zip(left, right, strict=True)])
    low, high = table["low"], table["high"]
    apart = (low[left].to_numpy() > high[right].to_numpy()) | (
        high[left].to_numpy() < low[right].to_numpy()
    )
    by_board.append(bool((decisions.accepted & equal).any()))
    by_intervals.append(bool((apart & equal).any()))
print(f"boards with an order of equals: {np.mean(by_board):.0%}")
print(f"by intervals that do not overlap: {np.mean(by_intervals):.0%}")

# %%
# What to ask next
# ----------------
# Which votes would decide most of what concerns the leader? ``to_page`` makes a page
# for voters of these questions. Whoever asks and looks again fits with
# ``looks="any"``; the next page shows such an arena.
asking = Leaderboard(looks="any").fit(votes, cluster="voter")
questions = asking.ask(5, objective="top")
for pair in questions:
    print(f"{pair.left_id} or {pair.right_id}?")
print(board.fragility())

# %%
# Without asking, how many more votes like these decide each pair of neighbours, with a
# probability of one half? Equals would need more than anybody has.
needed = board.more_needed()
print(needed)
plt.show()
