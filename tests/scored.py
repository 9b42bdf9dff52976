"""Sorted items, and what engines make of them, in the short form that tests need."""

import numpy as np

from skrank_abstain.pairs import Scores
from skrank_abstain.selection import Calibration


def scored(value, queries, y=None, novel=None, **others):
    """Return items sorted by value within their queries."""
    return Scores(value, queries, y=y, novel=novel, **others).ascending


def mass_of(engine, region, items):
    """Return the expected number of accepted pairs."""
    return engine.tally(items, [region], outcomes=False).mass()[0]


def totals_of(engine, region, items, weight=None):
    """Return the sums by query."""
    return engine.tally(items, [region], weight=weight).totals()


def at_coverage(engine, items, coverage, *, seed=0, **options):
    """Return the region that an engine finds for a coverage of calibration items."""
    calibration = Calibration(None, items.ascending, engine.loss, seed=seed)
    vars(calibration)["engine"] = engine
    return calibration.at_coverage(coverage, **options)


def fit_on_pairs(model, left, right, label):
    """Fit a tie model to labelled pairs: each is a query of two items."""
    scores, y = np.stack([left, right], axis=1), np.zeros((len(label), 2), int)
    y[:, 0] = label
    return model.fit(scores.ravel(), y.ravel(), qid=np.arange(y.size) // 2)
