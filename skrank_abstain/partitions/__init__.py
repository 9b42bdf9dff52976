"""Calibration over partitions: the same ranker as on one machine, bit for bit.

A wing beside the spine: it calls the estimators, and they do not know of it. What a
calibration asks of its items, `PartitionedItems` asks of the partitions, by one
function, ``map``, which an adapter has for each engine.
"""

from skrank_abstain.partitions._calibrate import calibrate
from skrank_abstain.partitions._check import check_partitions
from skrank_abstain.partitions._decide import (
    deferred,
    evaluate,
    predict_pairs,
    ranking,
)

__all__ = [
    "calibrate",
    "evaluate",
    "predict_pairs",
    "deferred",
    "ranking",
    "check_partitions",
]
