"""Readers of published collections of multilabel and label ranking data."""
