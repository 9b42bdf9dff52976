"""Readers of published collections of multilabel and label ranking data."""

from skrank_abstain.multilabel.datasets._label_ranking import load_label_ranking
from skrank_abstain.multilabel.datasets._mulan import load_mulan_arff

__all__ = ["load_mulan_arff", "load_label_ranking"]
