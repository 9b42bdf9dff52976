"""The road from the scores of calibration items to ``threshold_`` is short."""

import sys
from pathlib import Path

import pytest
from doubles import FirstColumn

import skrank_abstain
from skrank_abstain import BALToR, RiskControlledRanker
from skrank_abstain.datasets import make_ranking

PACKAGE = str(Path(skrank_abstain.__file__).parent)


def files_after_scoring(ranker, data):
    """Return the files of the package that ``fit`` enters once items are scored."""
    # Entered before there were scores; the story goes on in it.
    entered, scored = {"estimators/_selective_ranker.py"}, False

    def profile(frame, event, _):
        nonlocal scored
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return
        # Folds are scored one by one.
        if event == "return" and code.co_name == "train_and_score":
            scored = True
        elif event == "call" and scored and not code.co_name.startswith("<"):
            entered.add(code.co_filename.removeprefix(PACKAGE + "/"))

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        ranker.fit(data.data, data.target, qid=data.qid)
    finally:
        sys.setprofile(before)
    # What checks and says is no step of the road.
    other = ("_kernels", "_validation", "_warnings")
    return {f for f in entered if not f.startswith(other)}


@pytest.mark.parametrize(
    ("ranker", "most"),
    [
        (BALToR(FirstColumn(), random_state=0), 13),
        (RiskControlledRanker(FirstColumn(), max_risk=0.45, random_state=0), 14),
    ],
    ids=["budget", "certified"],
)
def test_few_files_lead_from_scores_to_the_threshold(ranker, most):
    data = make_ranking(n_queries=100, random_state=0)
    files = files_after_scoring(ranker, data)
    assert "selection/_bins.py" in files  # it looked at the right stretch
    assert len(files) <= most, sorted(files)
