"""Calibration over partitions: the same ranker as on one machine.

`PartitionedItems` passes the questions of a calibration on to the partitions, through
one function, ``map``, that each engine's adapter has.
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
