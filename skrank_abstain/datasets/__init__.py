"""Data sets: files, simulated queries, and a list of patients."""

from skrank_abstain.datasets._examples import load_triage, make_ranking
from skrank_abstain.datasets._files import (
    existing_file,
    load_letor,
    load_trec,
    read_lines,
    save_trec,
)

__all__ = ["load_letor", "load_trec", "save_trec", "make_ranking", "load_triage"]
