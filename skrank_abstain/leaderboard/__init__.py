"""Wing: leaderboards from comparisons by name, with places that the votes bear out."""

__all__: list[str] = []
