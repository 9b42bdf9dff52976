"""The page about a board: data, promise, results."""

from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from skrank_abstain._validation import listed
from skrank_abstain.concentration import doubts_of_chance
from skrank_abstain.leaderboard._evidence import Evidence, VoteEvidence
from skrank_abstain.leaderboard._fit import LAPSES
from skrank_abstain.leaderboard._standings import LeaderboardDisplay, Standings, named
from skrank_abstain.report import Picture, Report, Section, Table, write_page

#: Rows of the table of items.
_MOST = 100
#: A cluster of more than this share of the votes, and so many times the median, warns.
_LARGE, _UNUSUAL = 0.1, 10
_OF_SCORES = [
    "Queries are independent of each other and of the board. Several wordings of one "
    "topic make the board too sure.",
    "The figures are about queries like these.",
]
_OF_VOTES = [
    "Votes are drawn without regard to what the board says; with "
    'looks="any" it may have asked for them.',
    "Votes of different clusters are independent. Votes of one person that are counted "
    "one by one make the board too sure.",
    "The log odds of a win are the difference of two strengths: one strength per item, "
    "and no votes at random, unless lapses=True. A circle of wins is noise to the "
    "model.",
    "The figures are about voters like these.",
]


def write_report(board: Any, evidence: Evidence) -> Report:
    """Return the page about a fitted `Leaderboard`."""
    ranking = board.ranking()
    if isinstance(evidence, VoteEvidence):
        data, model = _of_votes(board, evidence)
        parts = {name: _places(own.ranking()) for name, own in board.boards_.items()}
        unit, assumptions = "votes", _OF_VOTES
    else:
        unit, assumptions, parts = "queries", _OF_SCORES, {}
        data = [f"{evidence.theta.size} systems on {board.n_votes_} queries"]
        model = [
            "the mean of the metric, the higher the better (of a loss, or of ranks, "
            "pass the negative); systems are compared on the same queries"
        ]
    accepted = evidence.comparisons.accepted
    short = [
        f"{int(accepted.sum())} of {accepted.size} orders of two items are sure",
        *_places(ranking),
    ]
    short += [f"{name!r} alone: {', '.join(text)}" for name, text in parts.items()]
    head = ("item", "place", "best", "worst", "strength", "from", "to", unit)
    rows = [
        [name, str(item.place), str(item.best), str(item.worst)]
        + [f"{number:.3f}" for number in (item.score, item.low, item.high)]
        + [str(item.votes)]
        for name, item in islice(zip(named(ranking), ranking, strict=True), _MOST)
    ]
    promise = [
        f"{ranking.promise[0].upper()}{ranking.promise[1:]} at the board.",
        "The interval of a strength is about that item by itself.",
    ]
    rest = [f"{len(ranking) - _MOST} more items."] if len(ranking) > _MOST else []
    picture = Picture(
        alt=f"{len(ranking)} items by strength and place, with the places left open",
        caption="Left: strengths, each with its interval. Right: places, and bars from "
        "the best to the worst that is left open.",
        size=(7, LeaderboardDisplay(standings=ranking)._height()),
        draw=partial(_draw, ranking=ranking),
    )
    sections = [
        Section("In short", [short]),
        Section("Data", [data]),
        Section("Model", [model]),
        Section("What is promised", [promise]),
        Section("Items", [Table(head, rows), *rest, picture]),
        Section("Assumptions", [assumptions]),
    ]
    return write_page("Leaderboard", board, sections, warnings=notes_on(evidence))


def _places(ranking: Standings) -> list[str]:
    """Return how many places are open, and who may be first."""
    leaders = ", ".join(map(str, ranking.item_id[ranking.best == 1]))
    n_open = int(ranking.open.sum())
    return [f"{n_open} of {len(ranking)} places are open", f"first may be: {leaders}"]


def notes_on(evidence: Evidence) -> list[str]:
    """Return warnings about what the votes, or queries, leave unknown."""
    notes = doubts_of_chance(evidence.confidence, "confidence")
    # Only the signs that were seen, and their opposites, are as extreme: no p-value is
    # below 2 ** (1 - number).
    least = 1 + int(np.ceil(-np.log2(1 - evidence.confidence)))
    if evidence.looks == "any" and isinstance(evidence, VoteEvidence):
        # A ratio to its error is at most sqrt(number), and the mixture at most this.
        n_pairs = evidence.pairs[0].size if evidence.control == "familywise" else 1
        limit, least = 2 * np.log(n_pairs / (1 - evidence.confidence)), 1
        while least - 1 - np.log(least) < limit:
            least += 1
    number = float(np.max(evidence.degrees)) + 1
    if number < least and getattr(evidence, "judged", None) is None:
        unit = "clusters" if isinstance(evidence, VoteEvidence) else "queries"
        notes.append(
            f"{number:g} {unit} decide no order, whatever they say: confidence="
            f"{evidence.confidence:g} needs at least {least} of them."
        )
    if isinstance(evidence, VoteEvidence):
        notes += _notes_on_votes(evidence)
    return notes


def _notes_on_votes(evidence: VoteEvidence) -> list[str]:
    votes, counts, notes = evidence.votes, evidence.counts, []
    component = votes.component
    sizes = np.bincount(component)
    if sizes.size > 1:
        apart = votes.items[component == sizes.argmin()]
        notes.append(
            f"The items fall apart into {sizes.size} groups that never met, not even "
            f"over others; one of them is {listed(apart.tolist())}. No order between "
            "groups is decided; places span them."
        )
    if votes.cluster_names is not None:
        sizes = np.bincount(votes.clusters, votes.weight) / votes.weight.sum()
        if sizes.max() > max(_LARGE, _UNUSUAL * np.median(sizes)):
            notes.append(
                f"The cluster {votes.cluster_names.tolist()[sizes.argmax()]!r} has "
                f"{sizes.max():.0%} of the votes, and what it likes may lead: give "
                "votes of large clusters a weight of min(1, 20 / size of the cluster)."
            )
    if evidence.lapse == LAPSES[-1] and evidence.other_lapses[0] > 0:
        notes.append(
            f"{evidence.lapse:.0%} of the votes or more seem to be random. If it is "
            "more, sure orders may be false: find out who cast them."
        )
    right, tie, left = (counts.weight * (counts.left != counts.right)[:, None]).T
    texts = []
    for what, of_left, of_right in ("won", right, left), ("lost", left, right):
        others = np.bincount(counts.left, of_left + tie, counts.n_items)
        others += np.bincount(counts.right, of_right + tie, counts.n_items)
        if not others.all():
            names = listed(votes.items[others == 0].tolist())
            texts.append(f"{names} {what} every time")
    if texts:
        notes.append(f"{' and '.join(texts)}: the prior alone keeps strengths finite.")
    return notes


def _of_votes(board: Any, evidence: VoteEvidence) -> tuple[list[str], list[str]]:
    """Return lines about the votes and about the model."""
    votes = evidence.votes
    share = np.average(votes.label == 0, weights=votes.weight)
    data = [
        f"{len(board.items_)} items, {board.n_votes_} votes, {share:.1%} of them ties",
        "no clusters: each vote is taken to stand by itself"
        if votes.cluster is None
        else f"{votes.cluster.max() + 1} clusters of votes",
    ]
    names = {"rao_kupper": "Rao and Kupper", "davidson": "Davidson"}
    model = [f"ties by {names[evidence.ties]}; prior {evidence.prior:g}"]
    if evidence.other_lapses.size:
        low, high = board.lapse_interval_
        model.append(
            f"{evidence.lapse:.1%} of the votes are taken to be random; sure orders "
            f"hold for {low:.1%} to {high:.1%}"
            f"{', of which the votes favour none' * bool(np.isnan(board.lapse_))}"
        )
    if np.ptp(votes.weight[votes.weight > 0]):
        model.append("votes weigh differently, by their weight or age")
    model += [
        f"effect of {name}: {effect:.3f}, from {low:.3f} to {high:.3f}"
        for name, effect, (low, high) in zip(
            board.covariates_, board.coef_, board.coef_interval_, strict=True
        )
    ]
    if evidence.judged is not None:
        model.append(
            f"automatic judges beside people: reliance {board.reliance_:.2f}; a vote "
            f"of a person is worth {board.vote_worth_:.2f} of people alone"
        )
    return data, model


def _draw(figure: Any, *, ranking: Standings) -> None:
    LeaderboardDisplay(standings=ranking).plot(figure.add_subplot())
