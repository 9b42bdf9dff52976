"""Estimators: thin scikit-learn shells around the numeric core."""

from skrank_abstain.estimators._baltor import BALToR

__all__ = ["BALToR"]
