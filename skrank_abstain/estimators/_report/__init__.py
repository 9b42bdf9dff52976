"""Reports: what they say, how they are written as a page, and their pictures."""

from skrank_abstain.estimators._report._content import ReportData, write_report
from skrank_abstain.estimators._report._items import ItemReport
from skrank_abstain.estimators._report._page import Report
