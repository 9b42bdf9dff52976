"""Calibration and decisions over partitions: the same ranker as on one machine.

Partitions only score. The calling process puts the scores together and calibrates as
``fit`` does.
"""

from skrank_abstain.partitions._calibrate import calibrate
from skrank_abstain.partitions._decide import deferred, evaluate, predict_pairs, ranking
from skrank_abstain.partitions._engines import check_partitions

__all__ = [
    "calibrate",
    "evaluate",
    "predict_pairs",
    "deferred",
    "ranking",
    "check_partitions",
]
