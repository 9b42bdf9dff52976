"""The page about a board: what was compared, what is promised, what was found."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from skrank_abstain._validation import FloatArray, listed
from skrank_abstain.leaderboard._evidence import Evidence, VoteEvidence
from skrank_abstain.leaderboard._standings import LeaderboardDisplay, Standings
from skrank_abstain.report import Picture, Report, Section, Table, write_page

#: Rows of the table of items.
_MOST = 100
_ASSUMPTIONS = [
    "Many votes, or queries, drawn without regard to what the board says. For votes "
    "that it asked for itself the promise is an approximation.",
    "Votes of different clusters are independent. Votes of one person that are counted "
    "one by one make the board too sure.",
    "One strength per item: a circle of wins is noise to the model.",
    "The figures are about voters, or queries, like these.",
]


def write_report(board: Any, evidence: Evidence) -> Report:
    """Return the page about a fitted `Leaderboard`."""
    ranking = board.ranking()
    if isinstance(evidence, VoteEvidence):
        data, model = _of_votes(board, evidence)
        notes = notes_on_votes(evidence)
    else:
        data = [f"{evidence.theta.size} systems on {board.n_votes_} queries"]
        model = ["the mean of the metric; systems are compared on the same queries"]
        notes = []
    accepted = evidence.comparisons.accepted
    leaders = listed(ranking.item_id[ranking.best == 1].tolist())
    short = [
        f"{int(accepted.sum())} of {accepted.size} orders of two items are sure",
        f"{int(ranking.open.sum())} of {len(ranking)} places are open",
        f"first may be: {leaders}",
    ]
    shown = ranking.to_dicts()[:_MOST]
    rows = [[str(row["item_id"]), *_cells(row)] for row in shown]
    head = ("item", "place", "best", "worst", "strength", "from", "to", "votes")
    more = len(ranking) - len(rows)
    rest = [f"{more} more items."] if more else []
    sections = [
        Section("In short", [short]),
        Section("Data", [data]),
        Section("Model", [model]),
        Section("What is promised", [_promise(evidence)]),
        Section("Items", [Table(head, rows), *rest, _picture(ranking)]),
        Section("Assumptions", [_ASSUMPTIONS]),
    ]
    return write_page("Leaderboard", board, sections, warnings=notes)


def notes_on_votes(evidence: VoteEvidence) -> list[str]:
    """Return warnings about what the votes leave unknown."""
    votes, counts, notes = evidence.votes, evidence.counts, []
    sizes = np.bincount(evidence.component)
    if sizes.size > 1:
        apart = votes.items[evidence.component == sizes.argmin()]
        notes.append(
            f"The items fall apart into {sizes.size} groups that never met, not even "
            f"over others; one of them is {listed(apart.tolist())}. No order between "
            "groups is decided; places span them."
        )
    right, tie, left = counts.weight[counts.left != counts.right].T
    ends = (counts.left, counts.right)
    first, second = (end[counts.left != counts.right] for end in ends)

    def summed(of_first: FloatArray, of_second: FloatArray) -> FloatArray:
        total = np.bincount(first, of_first, counts.n_items)
        return np.asarray(total + np.bincount(second, of_second, counts.n_items))

    always = {
        "won": summed(right + tie, left + tie) == 0,
        "lost": summed(left + tie, right + tie) == 0,
    }
    texts = [
        f"{listed(votes.items[alike].tolist())} {what} every time"
        for what, alike in always.items()
        if alike.any()
    ]
    if texts:
        notes.append(f"{' and '.join(texts)}: the prior alone keeps strengths finite.")
    return notes


def _of_votes(board: Any, evidence: VoteEvidence) -> tuple[list[str], list[str]]:
    """Return lines about the votes and about the model."""
    votes = evidence.votes
    share = np.average(votes.label == 0, weights=votes.weight)
    data = [
        f"{evidence.theta.size} items, {board.n_votes_} votes, {share:.1%} of them ties"
    ]
    if votes.cluster is None:
        data.append("no clusters: each vote is taken to stand by itself")
    else:
        data.append(f"{int(votes.cluster.max()) + 1} clusters of votes")
    names = {"rao_kupper": "Rao and Kupper", "davidson": "Davidson"}
    model = [f"ties by {names[evidence.ties]}; prior {evidence.prior:g}"]
    if votes.weight.min() < votes.weight.max():
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


def _promise(evidence: Evidence) -> list[str]:
    if evidence.control == "fdr":
        return [
            "Of the orders that are called sure, a share of "
            f"{1 - evidence.confidence:g} is expected to be false at most."
        ]
    return [
        f"With a probability of {evidence.confidence:g} none of all the orders that "
        "are called sure is false, and all best and worst places hold at once.",
        "The interval of a strength is about that item by itself.",
    ]


def _picture(ranking: Standings) -> Picture:
    n = len(ranking)
    return Picture(
        alt=f"{n} items by strength and place, with the places that are left open",
        caption="A bar reaches from the best to the worst place that is left open; a "
        "line across is the interval of the strength.",
        size=(6, float(np.clip(0.2 * n + 1.6, 2.6, 16))),
        draw=partial(_draw, ranking=ranking),
    )


def _draw(figure: Any, *, ranking: Standings) -> None:
    LeaderboardDisplay(standings=ranking).plot(figure.add_subplot())


def _cells(row: dict[str, Any]) -> list[str]:
    whole = [str(row[name]) for name in ("place", "best", "worst")]
    numbers = [f"{row[name]:.3f}" for name in ("score", "low", "high")]
    return [*whole, *numbers, str(row["votes"])]
