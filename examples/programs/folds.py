"""Folds for the programs in this folder: of a collection, or simulated."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from skrank_abstain.datasets import load_letor, make_ranking

SIZES = {"train": 300, "validation": 150, "test": 300}  # queries


def folds_of(
    folder: Path | None, smoke: bool = False, **options: Any
) -> Iterator[tuple[str, Any]]:
    """Yield name and parts of each Fold1, ... in a folder; None: simulated ones.

    Options are those of make_ranking; smoke: two folds instead of five, a fifth of the
    queries.
    """
    if folder is not None:
        for path in sorted(p for p in folder.glob("Fold*") if p.is_dir()):
            yield path.name, load_letor(path)
        return
    for k in range(2 if smoke else 5):
        parts = {
            name: make_ranking(
                n_queries // 5 if smoke else n_queries,
                random_state=10 * k + j,
                **options,
            )
            for j, (name, n_queries) in enumerate(SIZES.items())
        }
        yield f"Fold{k + 1}", SimpleNamespace(**parts)
