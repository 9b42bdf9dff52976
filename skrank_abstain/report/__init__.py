"""Reports for an audit: tables, pictures and text about a fitted ranker on data."""

from skrank_abstain.report._content import write_report
from skrank_abstain.report._data import RankerFacts, ReportData
from skrank_abstain.report._page import Report

__all__ = ["Report"]
