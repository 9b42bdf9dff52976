"""Wing: leaderboards from comparisons by name, with places that the votes bear out."""

from skrank_abstain.leaderboard._display import LeaderboardDisplay
from skrank_abstain.leaderboard._fragility import Fragility
from skrank_abstain.leaderboard._leaderboard import Leaderboard
from skrank_abstain.leaderboard._results import ItemDecisions, Standings

__all__ = [
    "Leaderboard",
    "Standings",
    "ItemDecisions",
    "Fragility",
    "LeaderboardDisplay",
]
