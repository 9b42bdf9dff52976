"""Reports for an audit: tables, pictures and text about a fitted ranker on data."""

from skrank_abstain.report._content import fitted_numbers, write_report
from skrank_abstain.report._data import RankerFacts, ReportData
from skrank_abstain.report._ends import section_of_ends
from skrank_abstain.report._origin import date, versions
from skrank_abstain.report._page import Picture, Report, Section, Table
from skrank_abstain.report._rows import HEAD, row

__all__ = ["Report"]
