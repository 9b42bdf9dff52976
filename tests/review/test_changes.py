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
    turned = after.decided_order & (after.label == -own.label)
    lost = {
        "reopened": own.decided_order & ~after.decided_order,
        "turned around": own.decided_order & turned,
    }
    rows = {row["item_id"]: row["because"] for row in review.changes().to_dicts()}
    for item in (first[8], first[1]):
        about = (own.left == item) | (own.right == item)
        counts = {what: int(orders[about].sum()) for what, orders in lost.items()}
        assert min(counts.values()) > 0
        told = "".join(f"; orders {what}: {n}" for what, n in counts.items())
        assert rows[item].endswith(told)


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
    assert "answers disagree about item 1 and it; P(top " in rows[0]


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
    start = "answers disagree about {} and it, and answers about other pairs decide: "
    assert because["Ann"].count(start.format("Bo") + "Bo was put below it") == 1
    assert because["Bo"].count(start.format("Ann") + "Ann was put above it") == 1
    assert not any("disagree" in because[name] for name in names[2:])
    # While nothing else decides it, answers disagree and that is all.
    open_pair = RANKER.review(X[:12], answers=said[:2], item_id=names)
    assert not any("other pairs" in text for text in open_pair.changes().because)


# ---- two moments


def answer(left, right, label="left", reviewer="Ann"):
    return {"left": left, "right": right, "label": label, "reviewer": reviewer}


def reviewed(rows=range(12), said=(), move=None, names=NAMES, **options):
    """Review some items; ``move`` adds to their scores."""
    rows = list(rows)
    scores = X[rows].copy()
    for row, step in (move or {}).items():
        scores[rows.index(row)] += step
    return RANKER.review(scores, answers=list(said), item_id=names[rows], **options)


def because(changes):
    return dict(zip(changes.item_id.tolist(), changes.because.tolist(), strict=True))


def chance(review, row, n):
    """P(one of the n best grades), as it is printed."""
    return f"{review._posterior(0).grade_proba[row, -n:].sum():.2f}".removeprefix("0")


def order_of(review):
    return review.ranking().item_id.tolist()


MORNING = reviewed()
FIRST = order_of(MORNING)


def test_only_answers_that_the_morning_did_not_have_are_reasons():
    early = [answer(FIRST[5], FIRST[4])]
    late = [answer(FIRST[9], FIRST[0])]
    morning, evening = reviewed(said=early), reviewed(said=early + late)
    changes = evening.changes(morning)
    for column, review in (("old_place", morning), ("place", evening)):
        places = dict(zip(order_of(review), range(1, 13), strict=True))
        assert getattr(changes, column).tolist() == [
            places[name] for name in changes.item_id
        ]
    told = because(changes)
    assert f"{FIRST[9]} was put above it; P(top " in told[FIRST[0]]
    assert f"{FIRST[0]} was put below it; P(top " in told[FIRST[9]]
    for name in FIRST[4:6]:
        assert "was put" not in told[name]
    assert f"{FIRST[5]} was put above it" in because(evening.changes())[FIRST[4]]
    # An answer that was given again is as new as another one.
    turned = reviewed(said=[answer(FIRST[5], FIRST[4], "right")]).changes(morning)
    assert f"{FIRST[5]} was put below it" in because(turned)[FIRST[4]]


def test_the_same_answers_again_change_nothing():
    said = [answer(FIRST[9], FIRST[0]), answer(FIRST[3], FIRST[1], "same", "Bo")]
    morning = reviewed(said=said)
    assert len(morning.changes(morning)) == 0
    # In another order of rows and answers, with ids as texts.
    again = reviewed(range(11, -1, -1), said[::-1]).changes(morning)
    assert len(again) == 0
    assert again.qid.dtype == morning.items.queries.values.dtype
    assert len(morning.changes()) == 12


def test_without_answers_is_since_the_same_items_without_answers():
    said = [answer(FIRST[9], FIRST[0]), answer(FIRST[3], FIRST[1], "same", "Bo")]
    evening = reviewed(said=said)
    assert evening.changes().to_dicts() == evening.changes(MORNING).to_dicts()


def test_an_item_whose_data_changed_says_so():
    low, row = FIRST[8], NAMES.tolist().index(FIRST[8])
    evening = reviewed(move={row: 3.0})
    place = order_of(evening).index(low) + 1
    assert place < 9
    changes = evening.changes(MORNING)
    told = because(changes)
    start = f"9 to {place}: its data changed; P(top "
    assert told[low].startswith(start)
    n = int(told[low][len(start)]) if told[low][len(start)].isdigit() else 1
    was, now = chance(MORNING, row, n), chance(evening, row, n)
    assert f"rose from {was} to {now}" in told[low]
    reason = f"because of {low} (its data changed, 9 to {place})"
    for name in FIRST[place - 1 : 8]:  # whom it passed
        assert told[name].split(": ")[1].split(";")[0] == reason


def test_new_data_and_a_new_answer_are_both_named():
    low, row = FIRST[8], NAMES.tolist().index(FIRST[8])
    evening = reviewed(said=[answer(low, FIRST[0])], move={row: 2.0})
    text = because(evening.changes(MORNING))[low]
    assert f": {FIRST[0]} was put below it; its data changed; P(top " in text


def test_answers_from_before_the_data_changed_are_counted():
    low, row = FIRST[8], NAMES.tolist().index(FIRST[8])
    said = [answer(low, FIRST[10]), answer(FIRST[7], low), answer(FIRST[3], FIRST[1])]
    evening = reviewed(said=said, move={row: 2.0})
    text = because(evening.changes(reviewed(said=said)))[low]
    assert ": its data changed after 2 answers; P(top " in text
    # Each person's counts, also about one pair.
    more = [*said, answer(FIRST[7], low, reviewer="Bo")]
    told = reviewed(said=more, move={row: 2.0}).changes(reviewed(said=more))
    assert "its data changed after 3 answers; P(top " in because(told)[low]
    # An answer of today knows the data of today.
    text = because(evening.changes(reviewed(said=said[1:])))[low]
    assert "its data changed after 1 answer; P(top " in text


def test_an_answer_against_the_new_data_is_not_their_cause():
    low, row = FIRST[8], NAMES.tolist().index(FIRST[8])
    # He rises by his data, though somebody puts him below the next one.
    evening = reviewed(said=[answer(FIRST[9], low)], move={row: 3.0})
    changes = evening.changes(MORNING)
    (item,) = (each for each in changes.to_dicts() if each["item_id"] == low)
    assert item["place"] < 9
    assert item["because"].split(": ")[1].startswith("its data changed; P(top")


def test_items_that_came_and_went():
    gone, new = FIRST[0], FIRST[6]
    rows = range(12)
    before = reviewed([k for k in rows if NAMES[k] != new])
    after = reviewed([k for k in rows if NAMES[k] != gone])
    changes = after.changes(before)
    rows = {row["item_id"]: row for row in changes.to_dicts()}
    assert changes.item_id[-1] == gone
    assert changes.place.tolist() == [*range(1, 12), 0]
    left, came = rows[gone], rows[new]
    assert [left[name] for name in ("place", "best", "worst")] == [0, 0, 0]
    assert [came[name] for name in ("old_place", "old_best", "old_worst")] == [0, 0, 0]
    assert (left["old_place"], came["place"]) == (1, 6)
    assert (left["because"], came["because"]) == ("left the list", "new on the list")
    # All behind the first moved up, all behind the new one stay.
    assert rows[FIRST[1]]["because"] == f"2 to 1: because of {gone} (left the list)"
    behind = rows[FIRST[8]]
    assert behind["place"] == behind["old_place"] == 8
    added = MORNING.changes(before)
    assert added.old_place.tolist() == [*range(1, 7), 0, *range(7, 12)]
    assert because(added)[FIRST[7]] == f"7 to 8: because of {new} (new on the list)"


def test_who_keeps_the_order_among_the_others_was_moved_by_those_that_left():
    # Its answer went with the first, but nobody that stays passed it.
    said = [{"left": FIRST[0], "right": FIRST[5], "label": "left"}]
    before = reviewed(said=said)
    rows = [k for k in range(12) if NAMES[k] != FIRST[0]]
    with pytest.warns(UserWarning, match="1 of 1 answers, .* are set aside"):
        after = reviewed(rows, said=said)
    told = {row["item_id"]: row for row in after.changes(before).to_dicts()}
    order = [name for name in before.ranking().item_id.tolist() if name != FIRST[0]]
    pairs = zip(order, after.ranking().item_id.tolist(), strict=True)
    kept = {name for name, other in pairs if name == other}
    moved = {name for name in order if told[name]["place"] != told[name]["old_place"]}
    assert len(kept & moved) >= 4
    for name in kept & moved:
        assert f"because of {FIRST[0]} (left the list)" in told[name]["because"]


def test_several_that_left_or_came_are_counted():
    gone = FIRST[:3]
    fewer = reviewed([k for k in range(12) if NAMES[k] not in gone])
    last = FIRST[11]
    told = because(fewer.changes(MORNING))[last]
    assert told == f"12 to 9: because of {gone[0]} (left the list) and 2 more"
    told = because(MORNING.changes(fewer))[last]
    assert told == f"9 to 12: because of {gone[0]} (new on the list) and 2 more"


def test_tomorrows_list_is_matched_by_name():
    today = reviewed(qid="2026-11-25")
    kept = [k for k in range(12) if NAMES[k] != FIRST[0]]
    tomorrow = reviewed([*kept, 12], qid="2026-11-26")
    changes = tomorrow.changes(today)
    assert set(changes.qid.tolist()) == {"2026-11-26"}
    told = because(changes)
    assert told[FIRST[0]] == "left the list"
    assert told[NAMES[12]] == "new on the list"
    with pytest.raises(
        ValueError, match=r"since must share items .* no item is known to be on both "
    ):
        reviewed(range(12, 24), qid="2026-11-26").changes(today)


def test_an_answer_that_was_taken_back_is_a_reason():
    one, other = FIRST[9], FIRST[0]
    morning = reviewed(said=[answer(one, other), answer(FIRST[5], FIRST[4])])
    evening = reviewed(said=[answer(FIRST[5], FIRST[4])])
    told = because(evening.changes(morning))
    assert f": an answer about {other} and it no longer counts; P(top " in told[one]
    assert f": an answer about {one} and it no longer counts; P(top " in told[other]
    morning = reviewed(said=[answer(one, other), answer(one, FIRST[1])])
    told = because(reviewed().changes(morning))
    assert ": answers about it and 2 others no longer count; P(top " in told[one]


def test_answers_may_count_for_less_than_before():
    said = [answer(FIRST[9], FIRST[0])]
    morning = reviewed(said=said, reviewer_error={"Ann": 0.01})
    evening = reviewed(said=said, reviewer_error={"Ann": 0.3})
    told = {text.split(": ")[1] for text in evening.changes(morning).because if text}
    assert {text.split(";")[0] for text in told} == {
        "answers count for more or less than before"
    }


def test_equal_scores_change_places_with_their_rows():
    rows, names = np.repeat(X[:2], 2, axis=0), np.array(["a", "b", "c", "d"])
    other = [1, 0, 3, 2]
    before = RANKER.review(rows, item_id=names)
    told = RANKER.review(rows[other], item_id=names[other]).changes(before).because
    assert len(told) == 4
    for text in told:
        assert text.endswith(": scores are equal, and rows stand in another order")


def test_only_queries_that_changed_are_shown():
    rows, days = X[:36].copy(), np.repeat(["a", "b", "c"], 12)
    morning = RANKER.review(rows[:24], qid=days[:24], item_id=NAMES[:24])
    rows[12] += 5
    evening = RANKER.review(rows, qid=days, item_id=NAMES[:36])
    changes = evening.changes(morning)
    assert set(changes.qid.tolist()) == {"b"}
    assert len(changes) == 12
    # Without names by row, if all rows are there.
    by_row = RANKER.review(rows, qid=days)
    was = RANKER.review(X[:36], qid=days)
    assert because(by_row.changes(was))[12].endswith(
        because(changes)[NAMES[12]].partition(" ")[2]
    )
    assert "because of item 12 (its data changed" in " ".join(
        by_row.changes(was).because
    )
    with pytest.raises(ValueError, match=r"pass item_id= .*'a', 'b'\], now \['a', 'b'"):
        by_row.changes(RANKER.review(X[:24], qid=days[:24]))
    with pytest.raises(
        ValueError, match=r"since must share items .* no item is known to be on both "
    ):
        by_row.changes(morning)


@pytest.mark.parametrize("since", [MORNING.ranking(), "morning", [answer(0, 1)]])
def test_only_a_review_is_an_earlier_moment(since):
    with pytest.raises(ValueError, match="since must be an earlier review by this"):
        MORNING.changes(since)


def test_a_review_of_another_ranker_or_threshold_is_refused():
    assert len(MORNING.changes(fit().review(X[:12], item_id=NAMES[:12]))) == 0
    for ranker in (fit(loss="misranking"), RANKER.at_coverage(0.3)):
        other = ranker.review(X[:12], item_id=NAMES[:12])
        with pytest.raises(ValueError, match="by this ranker, at this threshold"):
            MORNING.changes(other)


@pytest.mark.parametrize("seed", range(12))
def test_every_change_of_every_kind_has_a_reason_and_the_places_of_its_rankings(seed):
    """Answers, measurements and items all change at once, in three queries."""
    rng = np.random.default_rng(seed)

    def drawn():
        rows = np.flatnonzero(rng.random(36) < 0.9)
        scores = X[:36].copy()
        scores[rng.integers(0, 36, 3)] += rng.normal(size=(3, 1))
        pairs = [rng.choice(12, 2, replace=False) + 12 * (k % 3) for k in range(9)]
        said = [
            answer(*NAMES[pair], rng.choice(["left", "same", "right"]), name)
            | {"qid": NEW.qid[pair[0]]}
            for pair, name in zip(pairs, rng.choice(["Ann", "Bo"], 9), strict=True)
            if np.isin(pair, rows).all() and rng.random() < 0.7
        ]
        named = {"qid": NEW.qid[rows], "item_id": NAMES[rows]}
        return RANKER.review(scores[rows], answers=said, **named)

    before, after = drawn(), drawn()
    rows = after.changes(before).to_dicts()
    places = [
        {(row["qid"], row["item_id"]): row["place"] for row in ranking.to_dicts()}
        for ranking in (before.ranking(), after.ranking())
    ]
    shown = {row["qid"] for row in rows}
    for row in rows:
        item = row["qid"], row["item_id"]
        for name, known in zip(("old_place", "place"), places, strict=True):
            assert row[name] == known.get(item, 0)
        kinds = ("place", "best", "worst")
        if any(row[kind] != row[f"old_{kind}"] for kind in kinds):
            assert row["because"]
        elif row["because"]:
            assert "orders reopened" in row["because"] or "disagree" in row["because"]
    assert {item for known in places for item in known if item[0] in shown} == {
        (row["qid"], row["item_id"]) for row in rows
    }
    old, new = (
        {item: place for item, place in known.items() if item[0] not in shown}
        for known in places
    )
    assert old == new
