"""Pairwise ranking that knows when to stay silent."""
