"""What answers moved in a list, and because of which answer."""

import json

import numpy as np
import pytest
from review.simulated import INPUT, NEW, RANKER, X, fit, loop, say

from skrank_abstain.review._posterior import Posterior

NAMES = np.array([f"item {k}" for k in range(NEW.qid.size)])


def test_without_answers_nothing_changes():
    changes = RANKER.review(**INPUT).changes()
    assert len(changes) == 0
    assert repr(changes).startswith("Changes(n_items=0, moved=0")


def test_places_before_and_after_are_those_of_the_two_rankings():
    answers, review = loop(1, n=6)
    changes = review.changes()
    # Whole lists, of the queries with answers.
    asked = np.isin(NEW.qid, [answer["qid"] for answer in answers])
    assert set(changes.item_id) == set(np.flatnonzero(asked))
    assert (np.diff(changes.place)[np.diff(changes.qid) == 0] == 1).all()
    changed = np.zeros(len(changes), dtype=bool)
    for name in ("place", "best", "worst"):
        old, new = np.empty((2, NEW.qid.size), dtype=int)
        for ranking, column in (
            (RANKER.ranking(**INPUT), old),
            (review.ranking(), new),
        ):
            column[ranking.item_id] = getattr(ranking, name)
        found = getattr(changes, f"old_{name}"), getattr(changes, name)
        np.testing.assert_array_equal(
            found, [old[changes.item_id], new[changes.item_id]]
        )
        changed |= found[0] != found[1]
    assert 0 < changed.sum() < len(changes)
    assert (changes.because[changed] != "").all()


def test_the_answer_that_carries_most_of_the_move_is_named():
    first = RANKER.ranking(X[:12]).item_id.tolist()
    top, low = first[0], first[-1]
    said = [
        {"left": NAMES[low], "right": NAMES[top], "label": "left"},
        {"left": NAMES[first[5]], "right": NAMES[first[6]], "label": "left"},
    ]
    review = RANKER.review(
        X[:12], answers=said, item_id=NAMES[:12], reviewer_error=0.05
    )
    rows = {row["item_id"]: row for row in review.changes().to_dicts()}
    row = rows[NAMES[low]]
    start = f"{row['old_place']} to {row['place']}: {NAMES[top]} was put below it"
    assert row["because"].startswith(start)
    before, after = (
        np.cumsum(p.grade_proba[low][::-1])[::-1]
        for p in (Posterior.of(review.prior.take(np.arange(12))), review._posterior(0))
    )
    k = int(np.argmax(np.abs(after - before)))
    a, b = (f"{p:.2f}".removeprefix("0") for p in (before[k], after[k]))
    n = len(before) - k
    best = "top grade" if n == 1 else f"top {n} grades"
    assert f"P({best}) rose from {a} to {b}" in row["because"]
    assert f"{NAMES[low]} was put above it; P(top " in rows[NAMES[top]]["because"]
    assert " fell from " in rows[NAMES[top]]["because"]
    passed = [
        row["because"]
        for item, row in rows.items()
        if item not in (NAMES[low], NAMES[top])
    ]
    assert any(NAMES[low] in text or NAMES[top] in text for text in passed)


def test_orders_that_no_longer_hold_are_counted():
    ranker = fit(loss="misranking", coverage=0.9)
    own = ranker.predict_pairs(X[:12])
    first = ranker.ranking(X[:12]).item_id.tolist()
    said = [{"left": first[8], "right": first[1], "label": "left"}]
    review = ranker.review(X[:12], answers=said, reviewer_error=0.1)
    after = review.decisions
    lost = own.decided_order & ~(after.decided_order & (after.label == own.label))
    rows = {row["item_id"]: row["because"] for row in review.changes().to_dicts()}
    for item in (first[8], first[1]):
        n = int(lost[(own.left == item) | (own.right == item)].sum())
        assert n > 1
        assert rows[item].endswith(f"; orders reopened: {n}")


def test_shown_in_a_terminal_a_notebook_and_a_frame():
    answers = say(RANKER.review(**INPUT).ask(6))
    for answer in answers:
        answer |= {side: NAMES[answer[side]] for side in ("left", "right")}
    changes = RANKER.review(**INPUT, answers=answers, item_id=NAMES).changes()
    lines = repr(changes).splitlines()
    moved = int((changes.old_place != changes.place).sum())
    assert lines[0] == f"Changes(n_items={len(changes)}, moved={moved})"
    assert lines[1].split() == list(changes.to_frame())
    assert len(lines) == 2 + min(len(changes), 50)
    assert lines[2].endswith(changes.because[0])
    assert "<table" in changes._repr_html_()
    rows = json.loads(json.dumps(changes.to_dicts()))
    assert rows[0]["because"] == changes.because[0]


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_days_are_written_as_on_the_page(unit):
    days = np.array("2026-02-03", dtype=f"datetime64[{unit}]").repeat(24)
    days[12:] += np.timedelta64(1, "D")
    said = [{"qid": "2026-02-03", "left": 0, "right": 1, "label": "left"}]
    said += [{"qid": "2026-02-04", "left": 12, "right": 13, "label": "left"}]
    review = RANKER.review(X[:24], qid=days, answers=said)
    changes, ranking = review.changes(), review.ranking()
    expected = {"2026-02-03", "2026-02-04"}
    assert {line.split()[0] for line in repr(changes).splitlines()[2:]} == expected
    for table in (changes, ranking, review.decisions):
        assert {row["qid"] for row in table.to_dicts()} == expected


def test_people_who_disagree_are_said_to():
    said = [
        {"left": 0, "right": 1, "label": label, "reviewer": name}
        for label, name in (("same", "Ann"), ("right", "Bo"))
    ]
    review = RANKER.review(X[:12], answers=said)
    rows = {row["item_id"]: row["because"] for row in review.changes().to_dicts()}
    assert "people disagree about item 1 and it; P(top " in rows[0]


def test_nobody_falls_by_a_win_nor_rises_by_a_defeat():
    """An item that gained and fell was passed: the other item is the reason."""
    fell = 0
    for first, second, third in np.random.default_rng(0).integers(0, 12, (12, 3)):
        if len({first, second, third}) < 3:
            continue
        won = [(first, second), (third, first)]  # the first gains, and is passed
        said = [{"left": NAMES[a], "right": NAMES[b], "label": "left"} for a, b in won]
        changes = RANKER.review(X[:12], answers=said, item_id=NAMES[:12]).changes()
        for row in changes.to_dicts():
            text, down = row["because"], row["place"] - row["old_place"]
            assert not (down > 0 and "was put below it" in text), row
            assert not (down < 0 and "was put above it" in text), row
            fell += down > 0 and row["item_id"] == NAMES[first]
    assert fell > 0


def test_a_disputed_pair_that_other_answers_decide_is_said_to_be_one():
    """Two people contradict each other, and a third item decides."""
    said = [
        {"left": left, "right": right, "label": "left", "reviewer": name}
        for left, right, name in [(0, 1, "x"), (1, 0, "y"), (0, 2, "z"), (2, 1, "z")]
    ]
    names = np.array(["Ann", "Bo", "Cy", *NAMES[3:12]])
    for answer in said:
        answer |= {side: names[answer[side]] for side in ("left", "right")}
    review = RANKER.review(X[:12], answers=said, item_id=names)
    assert review.decisions.answered[0]
    assert review.decisions.label[0] == 1
    because = dict(zip(names, [""] * 12, strict=True)) | {
        row["item_id"]: row["because"] for row in review.changes().to_dicts()
    }
    start = "people disagree about {} and it, and answers about other pairs decide: "
    assert because["Ann"].count(start.format("Bo") + "Bo was put below it") == 1
    assert because["Bo"].count(start.format("Ann") + "Ann was put above it") == 1
    assert not any("disagree" in because[name] for name in names[2:])
    # While nothing else decides it, people disagree and that is all.
    open_pair = RANKER.review(X[:12], answers=said[:2], item_id=names)
    assert not any("other pairs" in text for text in open_pair.changes().because)
