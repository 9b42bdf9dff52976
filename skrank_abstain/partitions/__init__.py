"""Calibration over partitions: the same ranker as on one machine, bit for bit."""

from skrank_abstain.partitions._check import check_partitions

__all__ = ["check_partitions"]
