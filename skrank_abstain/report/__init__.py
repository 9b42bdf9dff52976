"""Reports for an audit: tables, pictures and text about a fitted ranker on data."""

from skrank_abstain.report._content import fitted_numbers, section_of_ends, write_report
from skrank_abstain.report._facts import HEAD, RankerFacts, ReportData, row
from skrank_abstain.report._page import Picture, Report, Section, Table, date, versions

__all__ = ["Report"]
