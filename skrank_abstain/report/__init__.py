"""Reports for an audit: tables, pictures and text about a fitted ranker on data."""

# The pages of the other rooms are made of these, too.
from skrank_abstain.report._content import (
    ABOUT_NEW_QUERIES,
    NO_LABELS,
    NOT_SEEN,
    about_model,
    conclude,
    not_new,
    section_of_ends,
    warn_of_few,
    write_report,
)
from skrank_abstain.report._page import Picture, Report, Section, Table, write_page
from skrank_abstain.report._shares import (
    HEAD,
    ReportData,
    as_interval,
    as_number,
    interval_of,
    lie_to,
    row,
)

__all__ = ["Report"]
