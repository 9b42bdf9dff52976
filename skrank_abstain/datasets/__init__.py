"""Data sets: files, simulated queries, and a list of patients."""

from skrank_abstain.datasets._letor import load_letor
from skrank_abstain.datasets._simulated import make_ranking
from skrank_abstain.datasets._text_files import DAMAGED, open_file
from skrank_abstain.datasets._trec import load_trec
from skrank_abstain.datasets._triage import load_triage

__all__ = ["load_letor", "load_trec", "make_ranking", "load_triage"]
