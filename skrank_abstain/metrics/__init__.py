"""Metrics of decisions about pairs, on plain arrays."""

from skrank_abstain.metrics._selective import (
    class_acceptance,
    coverage_score,
    selective_accuracy_score,
)

__all__ = ["selective_accuracy_score", "coverage_score", "class_acceptance"]
