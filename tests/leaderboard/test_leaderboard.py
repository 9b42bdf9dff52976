"""The estimator: what it fits, returns, refuses and says."""

import json
import pickle
import re
import warnings
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from leaderboard.boards import draw
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skrank_abstain.leaderboard import Leaderboard
from skrank_abstain.pairs import PairDecisions, Ranking
from skrank_abstain.review import Questions, read_answers

# Most boards here ask after one look; one test is about the warning.
pytestmark = pytest.mark.filterwarnings('ignore:looks="once"')

LETTERS = np.array(list("ABCDEFGHIJ"))
STRENGTHS = np.array([2.0, 1, 1, 1, 0, 0])


def drawn(strengths=STRENGTHS, n_votes=2000, **options):
    left, right, label, z = draw(strengths, n_votes, **options)
    return {"left": LETTERS[left], "right": LETTERS[right], "label": label, "z": z}


@pytest.fixture(scope="module")
def board():
    return Leaderboard(random_state=0).fit(drawn())


def test_strengths_are_near_those_that_made_the_votes(board):
    assert board.items_.tolist() == list("ABCDEF")
    truth = STRENGTHS - STRENGTHS.mean()
    errors = np.sqrt(np.diag(board.covariance_))
    assert (np.abs(board.strengths_ - truth) < 4 * errors).all()
    assert board.tau_ == pytest.approx(0.4, abs=0.1)
    assert board.n_votes_ == 2000


@pytest.mark.parametrize("ties", ["rao_kupper", "davidson"])
def test_the_order_of_the_votes_and_their_sides_change_nothing(ties):
    votes = drawn()
    turned = np.random.default_rng(0).permutation(2000)
    label = votes["label"][turned]
    mirrored = {
        "left": votes["right"][turned],
        "right": votes["left"][turned],
        "label": np.array(["left", "tie", "right"])[label + 1],
    }
    one = Leaderboard(ties=ties, random_state=0).fit(votes)
    two = Leaderboard(ties=ties, random_state=0).fit(mirrored)
    np.testing.assert_allclose(one.strengths_, two.strengths_)
    for name in ("best", "worst", "votes"):
        np.testing.assert_array_equal(
            getattr(one.ranking(), name), getattr(two.ranking(), name)
        )


def test_a_ranking_has_the_places_of_decisions(board):
    ranking, decisions = board.ranking(), board.decisions
    assert isinstance(ranking, Ranking)
    assert isinstance(decisions, PairDecisions)
    assert ranking.item_id[0] == "A"
    assert sorted(ranking.item_id[1:4]) == ["B", "C", "D"]
    assert (ranking.best <= ranking.place).all()
    assert (ranking.place <= ranking.worst).all()
    assert ranking.place.tolist() == [1, 2, 3, 4, 5, 6]
    assert (np.diff(ranking.score) <= 0).all()
    assert (ranking.low < ranking.score).all()
    assert ranking.votes.sum() == 2 * 2000
    for item in ranking:
        above = sum(
            pair.accepted
            and item.item_id == (pair.right_id if pair.label > 0 else pair.left_id)
            for pair in decisions
        )
        assert item.best >= 1 + above
    assert len(decisions) == 15
    assert len(decisions.qid) == 15
    np.testing.assert_array_equal(decisions.accepted, decisions.pvalue <= 0.05)
    assert decisions.place.tolist() == [
        ranking.item_id.tolist().index(name) + 1 for name in board.items_
    ]


def test_results_are_tables(board):
    frame = board.ranking().to_frame()
    assert list(frame) == [
        *("place", "item_id", "score", "low", "high", "votes", "provisional"),
        *("best", "worst", "open"),
    ]
    rows = board.ranking().to_dicts()
    assert json.loads(json.dumps(rows)) == rows
    assert [tuple(row) for row in board.ranking()] == [tuple(r.values()) for r in rows]
    decisions = board.decisions.to_frame("polars")
    assert "pvalue" in decisions.columns
    assert "qid" not in decisions.columns
    assert next(iter(board.decisions)).left_id == "A"
    assert "pvalue" in board.decisions._repr_html_()
    html = board.ranking()._repr_html_()
    assert "worst</th>" in html
    assert "high</th>" in html
    assert repr(board.ranking()).startswith("Standings(n_items=6, open=")


def test_a_ranking_says_what_holds():
    votes = drawn()
    for options, promise in (
        ({}, "all places hold at once with probability 0.95, at one look"),
        ({"confidence": 0.9, "looks": "any"}, "probability 0.9, at every look"),
        ({"control": "fdr"}, "a share of 0.05 at most is expected to be false"),
    ):
        ranking = Leaderboard(**options).fit(votes).ranking()
        assert promise in repr(ranking)
        assert promise in ranking._repr_html_()


def test_more_confidence_decides_less_and_fdr_more():
    votes = drawn(np.linspace(0, 2, 10), n_votes=2000)

    def share(**options):
        return Leaderboard(random_state=0, **options).fit(votes).decisions.coverage

    assert share(confidence=0.999) < share() < share(control="fdr")


def test_old_votes_count_less_than_new_ones():
    votes = drawn(n_votes=400)
    turned = {**votes, "label": -votes["label"]}
    history = {k: np.concatenate([turned[k], votes[k]]) for k in votes}
    history["time"] = np.repeat([0, 30], 400)
    now = Leaderboard().fit(votes).strengths_
    faded = Leaderboard(half_life=3).fit(history).strengths_
    assert np.abs(faded - now).max() < 0.02
    alike = Leaderboard().fit(history).strengths_
    assert np.abs(alike).max() < 1e-6


def test_effects_of_covariates_have_intervals():
    votes = drawn(effect=0.7)
    board = Leaderboard().fit(votes, covariates=["z"])
    ((low, high),) = board.coef_interval_
    assert low < 0.7 < high
    assert low < board.coef_[0] < high
    assert high - low < 0.4
    without = Leaderboard().fit(votes).score(votes)
    assert board.score(votes) > without
    plain = board.predict_proba(["A"], ["B"])
    np.testing.assert_array_equal(
        plain, board.predict_proba(["A"], ["B"], covariates=[[0.0]])
    )
    assert board.predict_proba(["A"], ["B"], covariates=[[9.0]])[0, 2] > plain[0, 2]


def test_the_advantage_of_a_side_is_a_covariate():
    votes = drawn(np.zeros(4))
    rng = np.random.default_rng(1)
    votes["label"] = np.where(rng.random(2000) < 0.6, 1, -1)
    votes["left_first"] = np.ones(2000)
    board = Leaderboard().fit(votes, covariates=["left_first"])
    assert board.coef_[0] == pytest.approx(np.log(0.6 / 0.4), abs=0.2)


def test_clustered_votes_are_worth_less():
    rng = np.random.default_rng(0)
    voter = rng.integers(40, size=2000)
    left, right, _, _ = draw(np.zeros(5), 2000)
    taste = rng.normal(scale=1.5, size=(40, 5))
    difference = taste[voter, left] - taste[voter, right]
    label = np.where(rng.random(2000) < 1 / (1 + np.exp(-difference)), 1, -1)
    votes = {"left": left, "right": right, "label": label, "voter": voter}
    with pytest.warns(UserWarning, match="pass cluster='voter', or drop the column"):
        alone = Leaderboard().fit(votes)
    clustered = Leaderboard().fit(votes, cluster="voter")
    np.testing.assert_array_equal(alone.strengths_, clustered.strengths_)
    assert np.diag(clustered.covariance_).mean() > 2 * np.diag(alone.covariance_).mean()


def test_probabilities_are_those_of_the_votes():
    board = Leaderboard().fit(drawn(n_votes=20_000))
    fresh = drawn(n_votes=20_000, seed=1)
    proba = board.predict_proba(fresh["left"], fresh["right"])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    bins = np.digitize(proba[:, 2], np.quantile(proba[:, 2], [0.2, 0.4, 0.6, 0.8]))
    for column, label in ((0, -1), (1, 0), (2, 1)):
        for b in range(5):
            inside = bins == b
            share = np.mean(fresh["label"][inside] == label)
            assert proba[inside, column].mean() == pytest.approx(share, abs=0.03)


def with_newcomers():
    """Return votes on six items, and on Y and Z, which won all of three and nine."""
    votes = drawn(np.array([1.0, 0.8, 0.6, 0, -1, -3]), n_votes=3000)
    return {
        "left": np.concatenate([votes["left"], list("YYY"), list("Z" * 9)]),
        "right": np.concatenate([votes["right"], list("ABC"), list("FAFAFAFAF")]),
        "label": np.append(votes["label"], np.ones(12, dtype=int)),
    }


@pytest.mark.filterwarnings("ignore:.* every time")
def test_items_with_few_votes_do_not_lead():
    board = Leaderboard().fit(with_newcomers())
    ranking = board.ranking()
    strongest = board.items_[np.argsort(-board.strengths_)[:2]]
    assert set(strongest) == {"Y", "Z"}
    assert ranking.item_id[ranking.provisional].tolist() == ["Z", "Y"]
    assert ranking.item_id[0] == "A"
    # They surely beat E and F.
    assert ranking.item_id[-4:].tolist() == ["Z", "Y", "E", "F"]
    assert (ranking.best <= ranking.place).all()
    assert (ranking.place <= ranking.worst).all()
    assert ranking.place.tolist() == list(range(1, 9))
    assert board.fragility().leader == "A"
    assert board.fragility().successor not in ("Y", "Z")
    top = board.ask(5, objective="top", per_pair=2)
    # They may be first.
    assert {"Y", "Z"} & {*top.left_id, *top.right_id}
    assert "Y (provisional)" in board.report()
    assert "<td>True</td>" in ranking._repr_html_()
    few = {"left": list("ABC"), "right": list("BCA"), "label": [1, 1, -1]}
    alone = Leaderboard().fit(few)
    np.testing.assert_array_equal(
        alone.ranking().item_id, alone.items_[np.argsort(-alone.strengths_)]
    )


@pytest.mark.filterwarnings("ignore:.* every time")
def test_a_prior_by_cross_validation_foretells_the_next_votes_best():
    fresh = drawn(STRENGTHS / 4, n_votes=20_000, seed=1)
    votes = drawn(STRENGTHS / 4, n_votes=60)
    board = Leaderboard(prior="cv").fit(votes)
    scores = {
        prior: Leaderboard(prior=prior).fit(votes).score(fresh)
        for prior in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    }
    assert board.prior_ in scores
    assert board.score(fresh) > scores[0.1]
    turned = {name: column[::-1] for name, column in votes.items()}
    assert Leaderboard(prior="cv").fit(turned).prior_ == board.prior_
    many = Leaderboard(prior="cv").fit(drawn(STRENGTHS * 2, n_votes=20_000))
    assert many.prior_ < 3
    votes["voter"] = np.arange(60) % 3
    with pytest.warns(UserWarning, match="3 clusters"):
        assert Leaderboard(prior="cv").fit(votes, cluster="voter").prior_ in scores


def test_categories_have_boards_of_their_own():
    votes = drawn(np.array([1.0, 0.5, 0]), n_votes=900)
    votes["topic"] = np.array(["code", "maths"])[np.arange(900) % 2]
    apart = {"left": ["A"] * 40, "right": ["Z"] * 40, "label": [1] * 30 + [-1] * 10}
    apart |= {"z": np.arange(40) % 3, "topic": ["zoo"] * 40}
    votes = {
        name: np.concatenate([column, apart[name]]) for name, column in votes.items()
    }
    board = Leaderboard().fit(votes, covariates=["z"], by="topic")
    assert list(board.boards_) == ["code", "maths", "zoo"]
    page = str(board.report())
    for name, part in board.boards_.items():
        ranking = part.ranking()
        first = ", ".join(ranking.item_id[ranking.best == 1])
        text = f"{ranking.open.sum()} of {len(ranking)} places are open, first may be: "
        assert f"- {name!r} alone: {text}{first}\n" in page
    assert " alone: " not in str(Leaderboard().fit(votes).report())
    rows = votes["topic"] == "code"
    own = Leaderboard().fit({k: v[rows] for k, v in votes.items()}, covariates=["z"])
    np.testing.assert_array_equal(board.boards_["code"].strengths_, own.strengths_)
    with pytest.raises(ValueError, match="by must name a column of votes, got 'no'"):
        Leaderboard().fit(votes, by="no")
    kept = pickle.loads(pickle.dumps(board)).boards_["zoo"]
    np.testing.assert_array_equal(kept.strengths_, board.boards_["zoo"].strengths_)
    sides = np.array(["model_b", "tie", "model_a"])[np.asarray(votes["label"], int) + 1]
    log = {"model_a": votes["left"], "model_b": votes["right"], "winner": sides}
    arena = Leaderboard().fit(log | {n: votes[n] for n in ("z", "topic")}, by="topic")
    assert list(arena.boards_) == list(board.boards_)


def test_what_is_said_about_a_category_names_it():
    votes = drawn(np.array([1.0, 0.5, 0]), n_votes=900)
    kind, voter = np.arange(900) % 100, np.arange(900) % 90
    votes["kind"] = np.where(kind == 0, "rare", "usual")
    votes["voter"] = np.where(kind == 0, voter % 20, voter)
    rule = "^kind='rare': 2 clusters decide no order"
    with pytest.warns(UserWarning, match=rule) as said:
        Leaderboard().fit(votes, by="kind", cluster="voter")
    assert len(said) == 1
    # What holds for the whole table is said once, of the whole.
    with pytest.warns(UserWarning, match="^votes name 90 voters of 900") as said:
        Leaderboard().fit(votes, by="kind")
    assert len(said) == 1
    votes["voter"] = np.where(kind == 0, 0, voter)
    with pytest.raises(ValueError, match=r"^kind='rare': cluster must name a column"):
        Leaderboard().fit(votes, by="kind", cluster="voter")


def test_any_look_decides_no_more_than_one_look():
    votes = drawn(np.linspace(0, 2, 10), n_votes=2000)
    votes["block"] = np.arange(2000) % 50
    for cluster in (None, "block"):
        once, always = (
            Leaderboard(looks=looks).fit(votes, cluster=cluster).decisions
            for looks in ("once", "any")
        )
        assert (once.accepted | ~always.accepted).all()
        assert 0 < always.coverage < once.coverage
    report = Leaderboard(looks="any").fit(votes).report()
    assert "at every look" in report


def test_few_clusters_that_agree_decide_nothing_at_any_look():
    # The square of a sum over its errors is at most the number of clusters: 11 / 2 is
    # less than the log of 15 pairs over .05.
    votes = drawn(np.linspace(-4, 4, 6), n_votes=200)
    votes = {name: np.tile(column, 11) for name, column in votes.items()}
    votes["voter"] = np.repeat(np.arange(11), 200)
    board = Leaderboard(looks="once").fit(votes, cluster="voter")
    assert board.decisions.accepted.any()
    with pytest.warns(
        UserWarning, match="11 clusters decide no order.* at least 16 of"
    ):
        board = Leaderboard(looks="any").fit(votes, cluster="voter")
    assert not board.decisions.accepted.any()


def test_fits_with_other_seeds_mostly_agree():
    same = 0
    for seed in range(10):
        votes = drawn(np.linspace(0, 1, 10), n_votes=3000, seed=seed)
        boards = [
            Leaderboard(random_state=k).fit(votes) for k in (2 * seed, 2 * seed + 1)
        ]
        first, second = (board.ranking() for board in boards)
        same += bool((first.best == second.best).all())
    assert same >= 8


def test_one_look_is_said_once():
    votes = drawn(np.linspace(0, 2, 10), n_votes=2000)
    assert "at one look" in Leaderboard().fit(votes).report()


@pytest.mark.parametrize("looks", ["once", "any"])
def test_neighbours_that_are_open_need_more_votes(looks):
    board = Leaderboard(looks=looks).fit(drawn(n_votes=1000))
    needed, ranking = board.more_needed(), board.ranking()
    names = np.sort([needed.left_id, needed.right_id], axis=0)
    expected = np.sort([ranking.item_id[:-1], ranking.item_id[1:]], axis=0)
    np.testing.assert_array_equal(names, expected)
    np.testing.assert_array_equal(needed.more == 0, needed.accepted)
    every = {
        frozenset([pair.left_id, pair.right_id]): row
        for row, pair in enumerate(board.decisions)
    }
    for pair, pvalue in zip(needed, needed.pvalue, strict=True):
        row = every[frozenset([pair.left_id, pair.right_id])]
        assert board.decisions.pvalue[row] == pvalue
    frame = needed.to_frame()
    np.testing.assert_array_equal(frame["more"], needed.more)
    assert (frame["first"] == needed.first).all()
    assert not {"more", "first"} & {*board.decisions.to_frame().columns}
    leader = ranking.item_id[0]
    grown = board._evidence.growth(
        np.array([row for pair, row in every.items() if leader in pair])
    )
    assert needed.first == np.ceil(1000 * (grown.max() - 1))
    assert needed.first >= needed.more[0]
    assert needed.take([0]).first == needed.first
    same = Leaderboard().fit_scores({"A": np.arange(9.0), "B": np.arange(9.0)})
    assert same.more_needed().more[0] == np.inf


def test_votes_that_fade_never_decide():
    votes = drawn(n_votes=200) | {"time": np.arange(200)}
    with pytest.raises(ValueError, match="half_life must be None for more_needed"):
        Leaderboard(half_life=50).fit(votes).more_needed()


def test_what_is_needed_can_be_read():
    noise = np.random.default_rng(0).normal(size=(400, 4))
    noise -= noise.mean(axis=0)
    # Differences of some 25, .1 and .001 standard errors.
    noise += np.array([2, 0.2, 0.1925, 0.1924])
    scores = dict(zip("ABCD", noise.T, strict=True))
    needed = Leaderboard().fit_scores(scores).more_needed()
    title, *lines = repr(needed).splitlines()
    assert title.startswith("ItemDecisions(n_pairs=3): how many more")
    assert lines[0] == "  A over B: sure"
    assert lines.pop() == "  first place: sure"
    assert lines[1:] == [
        f"  {pair}: more than 99 times as many" for pair in ("B over C", "C over D")
    ]
    assert (needed.more[1:] == np.inf).all()
    assert "A over B: sure" in needed._repr_html_()
    scores["B"] = noise[:, 1] + 0.1
    needed = Leaderboard().fit_scores(scores).more_needed()
    assert f"  B over C: {needed.more[1]:,.0f}" in repr(needed)
    assert 0 < needed.more[1] < 99 * 400
    assert "pvalue" in Leaderboard().fit_scores(scores).decisions._repr_html_()


def test_the_score_is_the_mean_log_probability():
    votes = drawn(n_votes=300) | {"weight": np.arange(300.0)}
    board = Leaderboard().fit(votes)
    proba = board.predict_proba(votes["left"], votes["right"])
    logs = np.log([p[o + 1] for p, o in zip(proba, votes["label"], strict=True)])
    assert board.score(votes) == pytest.approx(logs @ np.arange(300) / 44850)
    untied = Leaderboard().fit(drawn(ties=0.0))
    assert untied.score({"left": ["A"], "right": ["B"], "label": ["tie"]}) == -np.inf


def test_asking_needs_a_promise_for_any_look():
    with pytest.warns(UserWarning, match=r"fit with Leaderboard\(looks=\"any\"\)"):
        Leaderboard().fit(drawn()).ask(2)
    Leaderboard(looks="any").fit(drawn()).ask(2)


def test_questions_become_votes(tmp_path, board):
    questions = board.ask(4)
    assert isinstance(questions, Questions)
    np.testing.assert_allclose(
        questions.proba, board.predict_proba(questions.left_id, questions.right_id)
    )
    np.testing.assert_array_equal(questions.left_id, board.items_[questions.left])
    np.testing.assert_array_equal(
        questions.label, np.sign(questions.proba[:, 2] - questions.proba[:, 0])
    )
    assert (np.diff(questions.value) <= 1e-12).all()
    assert len({(q.left_id, q.right_id) for q in questions}) == 4
    path = tmp_path / "tasks.csv"
    questions.to_tasks(path, shown={"text": [f"model {name}" for name in board.items_]})
    assert "model " in path.read_text()
    page = tmp_path / "page.html"
    questions.to_page(page, shown={"text": list("uvwxyz")}, question="Who is better?")
    text = page.read_text(encoding="utf-8")
    assert "Who is better?" in text
    assert '"qid": ""' in text  # the page then names no query
    header, *rows = path.read_text().splitlines()
    column = header.split(",").index("label")
    filled = []
    for row in rows:
        cells = row.split(",")
        cells[column] = "left"
        filled.append(",".join(cells))
    path.write_text("\n".join([header, *filled]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert Leaderboard().fit(read_answers(path)).n_votes_ == 4


def test_voters_see_texts_without_names(tmp_path, board):
    questions = board.ask(40, per_pair=20)
    with pytest.raises(
        ValueError, match=r"pass other .* shown=.*left_text and right_t"
    ):
        questions.to_page(tmp_path / "page.html", blind=True)
    texts = questions.to_frame()[["left_id", "right_id"]]
    for side in ("left", "right"):
        texts[f"{side}_text"] = [
            f"{k} by {name}" for k, name in enumerate(texts[f"{side}_id"])
        ]
    questions.to_tasks(tmp_path / "tasks", format="jsonl", shown=texts)
    questions.to_page(tmp_path / "page.html", shown=texts, blind=True)
    lines = (tmp_path / "tasks").read_text().splitlines()
    sides = {}
    for k, task in enumerate(map(json.loads, lines)):
        left, right = task["left_id"], task["right_id"]
        assert task["left_text"] == f"{k} by {left}"
        assert task["right_text"] == f"{k} by {right}"
        sides.setdefault(frozenset((left, right)), set()).add(left)
    # No pair that is asked about often has the same sides each time.
    assert len(sides) < 10
    assert all(found == pair for pair, found in sides.items())


def test_questions_about_the_top_are_about_those_near_it():
    equals = Leaderboard().fit(drawn(np.zeros(6), n_votes=300))
    top = equals.ask(3, objective="top", per_pair=2)
    assert len(top) == 3
    pairs = [(q.left_id, q.right_id) for q in top]
    assert max(map(pairs.count, pairs)) <= 2
    clear = Leaderboard().fit(drawn(np.array([2.0, 2, 0, 0, 0, 0])))
    about = clear.ask(1, objective="top")
    assert {about.left_id[0], about.right_id[0]} == {"A", "B"}
    first = clear.strengths_.argmax()
    four = clear.ask(4)
    assert not ((four.left == first) | (four.right == first)).all()


@pytest.mark.parametrize("objective", ["pairs", "top"])
def test_what_is_decided_is_not_asked(board, objective):
    decided = {(d.left_id, d.right_id) for d in board.decisions if d.accepted}
    n_open = len(board.decisions) - len(decided)
    # B, C and D are equals, and so are E and F.
    assert n_open == 4
    if objective == "top":  # A leads: nothing about its place is open
        assert board.ranking().worst[0] == 1
        n_open = 0
    few = rf"n=100 .*: {3 * n_open} are all there are about open pairs with per_pair=3"
    with pytest.warns(UserWarning, match=few):
        asked = board.ask(100, objective=objective, per_pair=3)
    assert len(asked) == 3 * n_open
    assert not decided & set(zip(asked.left_id, asked.right_id, strict=True))
    assert {*asked.reason.tolist()} <= {"p-value above the level"}


def shown_on(path):
    text = path.read_text("utf-8")
    return json.loads(re.search(r"application/json[^>]*>(.*?)</script>", text)[1])


def test_a_text_of_each_item_for_each_prompt_makes_a_blind_page(board, tmp_path):
    pd = pytest.importorskip("pandas")
    n_prompts = 5
    texts = {
        f"{name}": [f"{name.lower()} says {k}" for k in range(n_prompts)]
        for name in "CBADEF"  # in any order, and of items that are not asked about
    }
    table = {"prompt": [f"prompt {k}" for k in range(n_prompts)], **texts}
    page = tmp_path / "battles.html"
    with pytest.warns(UserWarning, match=r"12 are all .* per_pair=3\. per_pair=5 asks"):
        asked = board.ask(20, per_pair=3)
    asked.to_page(page, shown=pd.DataFrame(table), blind=True)
    tasks = shown_on(page)["tasks"]
    seen = []
    for task in tasks:
        row = int(task["prompt"].removeprefix("prompt "))
        for side in ("left", "right"):
            name = task[f"{side}_id"]
            assert task[f"{side}_text"] == f"{name.lower()} says {row}"
        assert task.keys() <= {
            *("pair_id", "qid", "prompt", "left_id", "right_id"),
            *("left_text", "right_text"),
        }
        seen.append((frozenset([task["left_id"], task["right_id"]]), row))
    lacking = pd.DataFrame(table).drop(columns="B")
    with pytest.raises(ValueError, match=r"column for each item .*missing: \['B'\]"):
        asked.to_page(page, shown=lacking)
    # The prompts may be the index, as pivot leaves them.
    for name in ("prompt", None):
        by_prompt = pd.DataFrame(table).set_index("prompt").rename_axis(name)
        asked.to_page(page, shown=by_prompt, blind=True)
        assert shown_on(page)["tasks"] == tasks
    asked.take([]).to_page(page, shown=pd.DataFrame(table), blind=True)
    assert shown_on(page)["tasks"] == []
    rule = r"6 rows, shown has 5.* prompts \(column per item: frame\.pivot\("
    with pytest.raises(ValueError, match=rule):
        asked.to_page(page, shown={"text": ["of a prompt"] * 5})
    # No battle comes twice, and 12 questions use 5 prompts two or three times.
    assert len(set(seen)) == len(asked) == 12
    assert {*Counter(row for _, row in seen).values()} == {2, 3}
    with pytest.raises(ValueError, match=r"begin with prompt, .* got \['G'\]: rename"):
        asked.to_page(page, shown=table | {"G": texts["A"]}, blind=True)
    # A text that is missing is no text.
    for what in (None, " "):
        few = {name: [*column[:2], what, *column[3:]] for name, column in texts.items()}
        asked.to_page(page, shown=few, blind=True)
        told = [task["left_text"] for task in shown_on(page)["tasks"]]
        assert len(told) == 12
        assert not [text for text in told if "says" not in text]
    # Of three questions about a pair the third repeats one.
    with pytest.warns(UserWarning, match=r"4 of 12 questions ask again .* 2 prompts"):
        asked.to_page(page, shown={k: v[:2] for k, v in texts.items()}, blind=True)
    silent = {name: [""] * n_prompts for name in texts}
    with pytest.raises(
        ValueError, match=r"a prompt to which both of \(.*\) say a text"
    ):
        asked.to_page(page, shown=silent)


def test_rows_of_items_in_another_order_are_refused(board, tmp_path):
    pd = pytest.importorskip("pandas")
    page, asked = tmp_path / "page.html", board.ask(2)
    colours = pd.DataFrame({"colour": list("abcdef")}, index=list("FEDCBA"))
    for wrong in (colours, colours.reset_index(drop=True)):
        with pytest.raises(ValueError, match=r"or of board\.items_, got another index"):
            asked.to_page(page, shown=wrong)
    asked.to_page(page, shown=colours.loc[board.items_])
    for task in shown_on(page)["tasks"]:
        assert task["left_colour"] == colours.colour[task["left_id"]]


def test_few_votes_hold_a_narrow_lead():
    votes = drawn(np.array([0.05, 0, -1]), n_votes=300)
    board = Leaderboard().fit(votes)
    found = board.fragility()
    assert found.leader == board.ranking().item_id[0]
    kept = np.ones(300, dtype=bool)
    kept[found.rows] = False
    without = Leaderboard().fit({k: v[kept] for k, v in votes.items()})
    lead = without.strengths_[without.items_ == found.leader]
    assert without.strengths_[without.items_ == found.successor] >= lead - 1e-9
    assert found.share == found.rows.size / 300


def test_one_vote_less_than_fragile_keeps_the_leader():
    # By trying every set of votes of that size.

    votes = drawn(np.array([1.0, 0, -1]), n_votes=14, ties=0.0, seed=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Leaderboard().fit(votes).fragility()
        assert 1 < found.rows.size < 4
        for removed in combinations(range(14), found.rows.size - 1):
            kept = np.setdiff1d(np.arange(14), removed)
            fewer = Leaderboard().fit({k: v[kept] for k, v in votes.items()})
            assert fewer.items_[fewer.strengths_.argmax()] == found.leader


def test_systems_on_queries_are_compared_in_pairs():
    rng = np.random.default_rng(1)
    hard = rng.normal(scale=3, size=(100, 1))
    scores = hard + rng.normal(scale=0.1, size=(100, 4)) + [0.2, 0.1, 0.1, 0]
    board = Leaderboard(random_state=0).fit_scores(
        dict(zip("ABCD", scores.T, strict=True))
    )
    np.testing.assert_allclose(board.strengths_, scores.mean(axis=0))
    np.testing.assert_allclose(board.covariance_, np.cov(scores.T) / 100)
    ranking = board.ranking()
    half = student.ppf(0.975, 99) * scores[:, 0].std(ddof=1) / 10
    assert ranking.high[0] - ranking.score[0] == pytest.approx(half)
    assert ranking.item_id[0] == "A"
    assert ranking.best.tolist() == [1, 2, 2, 4]
    assert ranking.worst.tolist() == [1, 3, 3, 4]
    assert (ranking.votes == 100).all()
    for call in (board.fragility, board.ask, lambda: board.predict_proba(["A"], ["B"])):
        with pytest.raises(ValueError, match="must be fitted on votes for this"):
            call()


def test_systems_that_lack_queries_are_compared_on_those_of_both():
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=3, size=(60, 1)) + rng.normal(scale=0.1, size=(60, 3))
    scores += [0.5, 0.2, 0.0]
    scores[:30, 0] = np.nan  # A has other queries than C, beside a few
    scores[35:, 2] = None
    board = Leaderboard().fit_scores(dict(zip("ABC", scores.T, strict=True)))
    places = {item.item_id: (item.place, item.votes) for item in board.ranking()}
    assert places == {"A": (1, 30), "B": (2, 60), "C": (3, 35)}
    assert board.decisions.accepted.tolist() == [True, False, True]
    np.testing.assert_allclose(
        board.strengths_ - board.strengths_[1], [0.3, 0, -0.2], atol=0.1
    )
    assert np.isfinite(board.covariance_).all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_systems_may_come_in_frames(library):
    values = np.random.default_rng(0).normal(size=(30, 2))
    frame = pytest.importorskip(library).DataFrame(
        {"x": values[:, 0], "y": values[:, 1]}
    )
    board = Leaderboard().fit_scores(frame)
    assert board.items_.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (np.zeros((3, 2)), TypeError, "a column for each system"),
        ({"A": [1, 2]}, ValueError, "at least two systems"),
        ({"A": [1, 2], "B": [1]}, ValueError, "the same rows"),
        ({"A": [1], "B": [1]}, ValueError, "at least two queries"),
        ({"A": [1, 2], "B": [1, np.inf]}, ValueError, r"frame\['B'\] must be finite"),
        ({"A": [1, 2], "B": [np.nan, None]}, ValueError, "at least one of each"),
        ({"A": [1, 2], "B": ["1", "2"]}, ValueError, "must hold numbers"),
        (
            {"Query": [1, 1, 2], "run": [0, 1, 0], "ndcg": [0.1, 0.2, 0.3]},
            ValueError,
            r"'Query', which looks like an id.*frame\.pivot\(index",
        ),
        (
            {"number": range(6), "A": np.linspace(0, 1, 6), "B": np.ones(6)},
            ValueError,
            r"'number', which looks like an id.*frame\.set_index",
        ),
        (
            {"number": np.arange(6.0), "A": np.linspace(0, 1, 6), "B": np.ones(6)},
            ValueError,
            r"'number', which looks like an id.*frame\.set_index",
        ),
        (
            {"prompt": [0, 1, 2] * 2, "run": [0, 0, 0, 1, 1, 1], "f": np.arange(6) / 7},
            ValueError,
            r"'prompt', which looks like an id.*frame\.pivot\(index",
        ),
        (
            {"run": ["a", "b"], "ndcg": [0.1, 0.2]},
            ValueError,
            r"must hold numbers.*frame\.pivot\(index",
        ),
        (
            {"q_1": [0.1, 0.2], "Q2": [0.1, 0.2]},
            ValueError,
            r"got queries as columns.*frame\.T",
        ),
    ],
)
def test_mistakes_in_scores_are_named(frame, error, message):
    with pytest.raises(error, match=message):
        Leaderboard().fit_scores(frame)


def test_systems_as_rows_are_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(2, 20)))
    Leaderboard().fit_scores(frame.T)
    frame.index = ["dense", "sparse"]
    with pytest.raises(ValueError, match="got queries as columns"):
        Leaderboard().fit_scores(frame)
    Leaderboard().fit_scores(frame.T)


def test_whole_metrics_are_no_ids():
    hits = np.random.default_rng(0).permuted(np.tile(np.arange(9), (2, 1)), axis=1)
    Leaderboard().fit_scores({"A": hits[0], "B": hits[1]})
    Leaderboard().fit_scores({"A": hits[0] // 2, "B": hits[1] / 2})


def test_few_queries_warn():
    scores = {"A": np.arange(5) + 9.0, "B": np.arange(5) % 2}
    with pytest.warns(UserWarning, match="5 queries decide no order.* at least 6 of"):
        assert not Leaderboard().fit_scores(scores).decisions.accepted.any()
    enough = {"A": np.arange(6) + 9.0, "B": np.arange(6) % 2}
    assert Leaderboard().fit_scores(enough).decisions.accepted.all()
    votes = drawn(n_votes=500) | {"voter": np.arange(500) % 3}
    with pytest.warns(UserWarning, match="3 clusters decide no order"):
        board = Leaderboard().fit(votes, cluster="voter")
    assert "3 clusters decide no order" in board.report()


def test_groups_that_never_met_warn_and_are_not_ordered():
    one, two = drawn(np.array([3.0, 0])), drawn(np.array([3.0, 0]), seed=1)
    two = {
        **two,
        "left": np.char.add("x", two["left"]),
        "right": np.char.add("x", two["right"]),
    }
    votes = {name: np.concatenate([one[name], two[name]]) for name in one}
    with pytest.warns(UserWarning, match=r"2 groups that never met.*\['A', 'B'\]"):
        board = Leaderboard().fit(votes)
    places = {item.item_id: (item.best, item.worst) for item in board.ranking()}
    assert places == {"A": (1, 3), "B": (2, 4), "xA": (1, 3), "xB": (2, 4)}
    assert np.abs(board.strengths_).max() < 5


def test_an_item_that_always_wins_warns_and_is_not_certain_after_few_votes():
    votes = {"left": list("AAAB"), "right": list("BBBC"), "label": [1, 1, 1, -1]}
    with pytest.warns(UserWarning, match=r"\['A', 'C'\] won .* and \['B'\] lost ev"):
        board = Leaderboard().fit(votes)
    assert not board.decisions.accepted.any()
    assert np.isfinite(board.strengths_).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"confidence": 1.0}, ValueError, "confidence must be in"),
        ({"ties": "thurstone"}, ValueError, "ties must be one of 'rao_kupper'"),
        ({"control": "none"}, ValueError, "control must be one of"),
        ({"looks": "daily"}, ValueError, "looks must be one of 'once', 'any'"),
        ({"prior": 0}, ValueError, "prior must be in"),
        ({"half_life": -1}, ValueError, "half_life must be in"),
    ],
)
def test_parameters_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        Leaderboard(**options).fit(drawn(n_votes=20))


def test_covariates_that_say_what_items_say_are_refused():
    votes = {"left": list("AAAA"), "right": list("BCBC"), "label": [1, -1, 1, -1]}
    with pytest.raises(ValueError, match="the advantage of the left side, for one"):
        Leaderboard().fit({**votes, "home": [1] * 4}, covariates=["home"])
    twice = drawn(n_votes=100)
    twice["w"] = 3 * twice["z"]
    with pytest.raises(ValueError, match="items and other covariates do not"):
        Leaderboard().fit(twice, covariates=["z", "w"])


def test_unknown_items_and_shapes_are_refused(board):
    with pytest.raises(ValueError, match="items of the board, got 'Z'"):
        board.predict_proba(["A"], ["Z"])
    with pytest.raises(ValueError, match="right"):
        board.predict_proba(["A"], ["B", "C"])
    with pytest.raises(ValueError, match=r"covariates must be of shape \(1, 0\)"):
        board.predict_proba(["A"], ["B"], covariates=[[1.0]])
    with pytest.raises(ValueError, match="items of the board"):
        board.score({"left": ["A"], "right": ["Z"], "label": [1]})
    with pytest.raises(ValueError, match="objective must be one of"):
        board.ask(objective="all")


def test_a_board_that_is_not_fitted_says_so():
    for name in ("covariance_", "decisions"):
        with pytest.raises(NotFittedError):
            getattr(Leaderboard(), name)
    with pytest.raises(NotFittedError):
        Leaderboard().ranking()


def test_fits_of_the_same_votes_agree_in_any_order():
    votes = drawn(np.linspace(0, 0.5, 10), n_votes=3000)
    votes["block"] = np.random.default_rng(0).integers(50, size=3000)
    turned = np.random.default_rng(1).permutation(3000)
    other = {name: column[turned] for name, column in votes.items()}
    for cluster in (None, "block"):
        one = Leaderboard().fit(votes, cluster=cluster)
        two = Leaderboard().fit(other, cluster=cluster)
        pvalues = one.decisions.pvalue, two.decisions.pvalue
        np.testing.assert_allclose(*pvalues, atol=0.002)
    seeded = Leaderboard(random_state=1).fit(other).decisions.pvalue
    assert not np.array_equal(seeded, Leaderboard().fit(votes).decisions.pvalue)


def test_boards_survive_clone_and_pickle(board):
    other = pickle.loads(pickle.dumps(board))
    np.testing.assert_array_equal(other.decisions.pvalue, board.decisions.pvalue)
    assert clone(board).get_params() == board.get_params()
    assert not hasattr(clone(board), "items_")


def test_a_pickle_of_another_version_says_the_version(board):
    state = board.__getstate__() | {"_skrank_abstain_version": "0.0.1"}
    evidence = state["_evidence"]
    for old in (
        {name: state[name] for name in state if name != "lapses"},
        state | {"_evidence": {k: evidence[k] for k in evidence if k != "lapse"}},
    ):
        with pytest.raises(ValueError, match=r"saved by skrank_abstain 0\.0\.1 and"):
            Leaderboard.__new__(Leaderboard).__setstate__(old)


def test_the_label_of_the_board_is_no_vote(board):
    frame = board.ask(3).to_frame()
    with pytest.raises(ValueError, match="whose label is the board's"):
        board.score(frame)
    votes = frame[["left_id", "right_id"]].assign(winner="left")
    assert board.score(votes) < 0


def test_categories_fade_by_the_newest_vote_of_all():
    votes = drawn(n_votes=400)
    votes |= {"time": np.arange(400), "half": np.arange(400) // 200}
    board = Leaderboard(half_life=50).fit(votes, by="half")
    early, late = (board.boards_[k]._evidence.votes.weight.sum() for k in (0, 1))
    np.testing.assert_allclose(early, late * 2 ** (-200 / 50))


def test_a_failed_fit_leaves_no_half_board():
    board = Leaderboard().fit(drawn(n_votes=100))
    with pytest.raises(ValueError, match="columns"):
        board.fit({"left": ["A"]})
    with pytest.raises(NotFittedError):
        board.ranking()


def test_a_report_says_what_is_promised_and_found(tmp_path):
    votes = drawn(n_votes=600) | {"block": np.arange(600) % 30}
    board = Leaderboard(random_state=0).fit(votes, covariates=["z"], cluster="block")
    report = board.report()
    assert report.startswith("# Leaderboard: report")
    for text in (
        "6 items, 600 votes",
        "30 clusters of votes",
        "effect of z: ",
        "All places hold at once with probability 0.95, at one look at the board.",
        "one strength per item",
        "| A | 1 | 1 |",
    ):
        assert text in report
    assert "Warnings" not in report
    report.to_html(tmp_path / "board.html")
    assert "<img" in (tmp_path / "board.html").read_text(encoding="utf-8")
    assert pickle.loads(pickle.dumps(report)) == report
    fewer = Leaderboard(control="fdr", random_state=0).fit(votes).report()
    assert "a share of 0.05 at most is expected to be false" in fewer
    assert "each vote is taken to stand by itself" in fewer
    assert "votes weigh differently" not in report
    votes["weight"] = np.linspace(1, 2, 600)
    weighted = Leaderboard(random_state=0).fit(votes).report()
    assert "votes weigh differently, by their weight or age" in weighted


def test_a_report_warns_of_what_the_votes_cannot_say():
    votes = {"left": list("AAAX"), "right": list("BBBY"), "label": ["left"] * 4}
    with pytest.warns(UserWarning, match="every time|never met") as seen:
        report = Leaderboard().fit(votes).report()
    assert "## Warnings" in report
    for warning in seen:
        assert str(warning.message) in report
    scores = {"A": np.arange(30.0), "B": np.arange(30.0) % 7}
    report = Leaderboard().fit_scores(scores).report()
    assert "the mean of the metric, the higher the better" in report
    assert "2 systems on 30 queries" in report
    assert "| to | queries |" in report
    assert "vote" not in report.split("Made with")[0].lower()


def with_lapses(rate, n_votes=6000):
    votes = drawn(np.linspace(2, -2, 6), n_votes=n_votes)
    rng = np.random.default_rng(3)
    coin = rng.choice([-1, 1], size=n_votes)
    label = np.where(rng.random(n_votes) < rate, coin, votes["label"])
    return votes | {"label": label, "block": np.arange(n_votes) % 60}


def test_with_lapses_an_order_holds_for_each_share_of_random_votes():
    votes = with_lapses(0.1)
    board = Leaderboard(lapses=True).fit(votes)
    low, high = board.lapse_interval_
    assert 0 < low < board.lapse_ < high < 0.2
    plain = Leaderboard().fit(votes)
    assert (plain.lapse_, *plain.lapse_interval_) == (0, 0, 0)
    # Random votes draw strengths together.
    assert np.ptp(board.strengths_) > 1.1 * np.ptp(plain.strengths_)
    assert board.score(votes) > plain.score(votes)
    pvalue = board.decisions.pvalue
    for rate in np.arange(low, high + 0.01, 0.025):
        alone = board._evidence._with_lapse(rate).comparisons.pvalue
        assert (pvalue >= alone - 1e-12).all()
    other = pickle.loads(pickle.dumps(board))
    np.testing.assert_array_equal(other.decisions.pvalue, pvalue)
    text = f"{board.lapse_:.1%} of the votes are taken to be random"
    assert text in board.report()
    assert "taken to be random" not in plain.report()


def test_an_order_that_turns_with_the_share_of_random_votes_is_open():
    board = Leaderboard(lapses=True).fit(with_lapses(0.1))
    evidence = board._evidence
    turned = replace(evidence, theta=-evidence.theta)
    assert evidence.comparisons.accepted.any()
    assert not turned.comparisons.accepted.any()


def test_clusters_and_several_looks_leave_every_share_of_random_votes_possible():
    votes = with_lapses(0.1)
    for looks, cluster in [("once", "block"), ("any", None)]:
        board = Leaderboard(lapses=True, looks=looks).fit(votes, cluster=cluster)
        np.testing.assert_array_equal(board.lapse_interval_, [0, 0.2])
        # Every share is possible: none of them is a finding.
        assert np.isnan(board.lapse_)
        assert "to 20.0%, of which the votes favour none" in board.report()
        assert board.decisions.accepted.any()


def test_more_random_votes_than_are_provided_for_warn():
    with pytest.warns(UserWarning, match="20% of the votes or more seem to be random"):
        Leaderboard(lapses=True).fit(with_lapses(0.4, n_votes=20_000))


def test_random_votes_go_with_neither_judges_nor_scores():
    votes = drawn(n_votes=40) | {"vote_id": np.arange(40)}
    with pytest.raises(ValueError, match=r"judges must be None with .* lapses"):
        Leaderboard(lapses=True).fit(votes, judges=votes)
    with pytest.raises(ValueError, match=r"judges must be None with .* half_life"):
        Leaderboard(half_life=30).fit(votes | {"time": np.arange(40)}, judges=votes)
    with pytest.raises(ValueError, match=r"judges must be None with .* by,"):
        Leaderboard().fit(votes, judges=votes, by="vote_id")
    with pytest.raises(ValueError, match="lapses must be False for fit_scores"):
        Leaderboard(lapses=True).fit_scores({"A": [1.0, 2], "B": [2.0, 4]})


def test_an_item_whose_votes_have_faded_is_not_certain_to_be_average():
    votes = drawn(np.array([3.0, 0, 0, 0]), n_votes=2000)
    old = {"left": ["Z"] * 50, "right": list("BCDBC") * 10, "label": [1, -1] * 25}
    history = {
        name: np.concatenate([column, votes[name]]) for name, column in old.items()
    }
    history["time"] = np.repeat([0, 1000], [50, 2000])
    board = Leaderboard(half_life=20, random_state=0).fit(history)
    places = {item.item_id: (item.best, item.worst) for item in board.ranking()}
    assert places["Z"] == (1, 5)
    assert places["A"] == (1, 2)


def test_labels_may_be_named_for_the_score_too():
    votes = drawn(n_votes=300)
    board = Leaderboard().fit(votes, labels={-1: "right", 0: "tie", 1: "left"})
    np.testing.assert_array_equal(board.strengths_, Leaderboard().fit(votes).strengths_)
    # A day without a win of the right side.
    day = {"left": ["A", "B"], "right": ["B", "C"], "label": [1, 0]}
    proba = board.predict_proba(day["left"], day["right"])
    expected = np.log([proba[0, 2], proba[1, 1]]).mean()
    assert board.score(day) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"labels=\{-1: .right., 0: .tie., 1"):
        Leaderboard().fit(votes).score(day)
    words = np.array(["2", "X", "1"])[votes["label"] + 1]
    pools = Leaderboard().fit(
        votes | {"label": words}, labels={"2": "right", "X": "tie", "1": "left"}
    )
    np.testing.assert_array_equal(pools.strengths_, board.strengths_)


def test_places_that_do_not_fit_into_memory_are_refused(monkeypatch):
    from skrank_abstain.pairs import _memory

    n = 1300
    ring = {"left": np.arange(n), "right": np.roll(np.arange(n), 1)}
    board = Leaderboard().fit(ring | {"label": ["left"] * n})
    monkeypatch.setattr(_memory, "available_memory", lambda: 1 << 20)
    with pytest.raises(ValueError, match="Strengths and probabilities need no pairs"):
        board.ranking()
    assert board.predict_proba([0], [1]).shape == (1, 3)


def test_a_confidence_that_seems_turned_is_on_the_page():
    votes = [{"left": "Ada", "right": "Bly", "label": k} for k in ["left", "right"] * 9]
    with pytest.warns(UserWarning, match=r"confidence=0\.05 promises .* pass confid"):
        board = Leaderboard(confidence=0.05).fit(votes)
    page = str(board.report()).split("## Warnings")[1]
    assert "\n- confidence=0.05 promises something with a probability of" in page


def saved_by_a_page(path, n_answers, seed=0):
    """Write the first answers of a person, as a page does each time that it saves."""
    votes = drawn(np.zeros(6), n_votes=60, seed=seed)
    words = np.array(["right", "same", "left"])[votes["label"] + 1]
    columns = votes["left"], votes["right"], words
    rows = [
        {
            "left_id": left,
            "right_id": right,
            "label": label,
            "reviewer": "Ann",
            "time": f"2026-11-25T10:00:{second:02d}.250Z",
        }
        for second, (left, right, label) in enumerate(zip(*columns, strict=True))
    ]
    path.write_text(json.dumps(rows[:n_answers]))
    return path


def test_answers_that_a_page_saved_twice_count_once(tmp_path):
    paths = [saved_by_a_page(tmp_path / f"{n}.json", n) for n in (40, 60)]
    once = Leaderboard().fit(read_answers(paths[1]))
    with pytest.warns(UserWarning, match="votes repeat 40 votes") as caught:
        twice = Leaderboard().fit(read_answers(paths))
    assert len(caught) == 1
    assert once.n_votes_ == twice.n_votes_ == 60
    np.testing.assert_allclose(twice.strengths_, once.strengths_, atol=1e-9)
    np.testing.assert_allclose(twice.covariance_, once.covariance_, atol=1e-9)
    ours, theirs = once.ranking(), twice.ranking()
    np.testing.assert_array_equal(theirs.votes, ours.votes)
    assert "60 votes" in twice.report()
    assert "weigh differently" not in twice.report()
    # Rows are those of the table that was given; 40 of them stand before the others.
    few, other = once.fragility(), twice.fragility()
    np.testing.assert_array_equal(other.rows, few.rows + 40)
    assert other.share == few.share


@pytest.mark.filterwarnings("ignore:.* every time")
def test_copies_are_counted_once_for_categories_too(tmp_path):
    paths = [saved_by_a_page(tmp_path / f"{n}.json", n) for n in (40, 60)]
    answers = [a | {"kind": "xy"[a["left"] < "C"]} for a in read_answers(paths)]
    with pytest.warns(UserWarning, match="votes repeat 40 votes") as caught:
        board = Leaderboard().fit(answers, by="kind")
    assert sum("repeat" in str(each.message) for each in caught) == 1
    assert sum(part.n_votes_ for part in board.boards_.values()) == 60


def test_a_cluster_with_many_of_the_votes_is_named():
    votes = drawn(np.zeros(6), n_votes=3000)
    votes["voter"] = [f"voter {k}" for k in np.arange(3000) % 200]
    Leaderboard().fit(votes, cluster="voter")
    rng = np.random.default_rng(0)
    fan = {
        "left": np.full(400, "F"),
        "right": rng.choice(LETTERS[:5], size=400),
        "label": np.ones(400, dtype=int),
        "z": np.zeros(400),
        "voter": np.full(400, "fan of F"),
    }
    both = {name: [*votes[name], *fan[name]] for name in votes}
    with pytest.warns(UserWarning, match=r"The cluster 'fan of F' has 12% of the vot"):
        board = Leaderboard().fit(both, cluster="voter")
    assert board.ranking().item_id[0] == "F"
    warned = str(board.report()).split("## Warnings")[1]
    assert "a weight of min(1, 20 / size of the cluster)" in warned
    # The remedy: the fan, with 20 votes' worth of 3,020, leads no longer.
    size = np.array([both["voter"].count(name) for name in both["voter"]])
    fair = Leaderboard().fit(
        both | {"weight": np.minimum(1, 20 / size)}, cluster="voter"
    )
    assert fair.strengths_[5] < board.strengths_[5] / 2
    assert "fan of F" not in fair.report()
