"""Wing: leaderboards from comparisons by name, with places that the votes bear out."""

from skrank_abstain.leaderboard._evidence import Fragility
from skrank_abstain.leaderboard._leaderboard import Leaderboard
from skrank_abstain.leaderboard._standings import (
    ItemDecisions,
    LeaderboardDisplay,
    Standings,
)

__all__ = [
    "Leaderboard",
    "Standings",
    "ItemDecisions",
    "Fragility",
    "LeaderboardDisplay",
]
