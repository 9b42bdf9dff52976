"""Calibration over partitions: the same ranker as on one machine, bit for bit."""
