"""Grades of the items of one query after answers: sum-product.

Conventions, in addition to those of the package: ``n`` items have grades 0 to K - 1,
independent given each of H nodes of a shift that they share. ``left`` and ``right``
(m,) int64 are the answered pairs, each once, ``left < right``; ``likelihood`` (m, 3)
is positive, what the answers are worth if the right item is better, both are tied, the
left one is. ``tied`` (K,) is the share of the pairs of one grade that are truly tied;
the rest of them goes either way. Message 2e goes to the left item of pair e, 2e + 1 to
the right one. Everything that is multiplied is kept as a logarithm, so that hundreds of
contradictory answers stay finite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.linking import Answered

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Sweeps over a graph with loops, at most, and the change that ends them.
_SWEEPS = 200
_STILL = 1e-6
#: Weight of the old message, and the sweep from which on it has any: most loops settle
#: sooner without.
_DAMPING = 0.5
_DAMPED_FROM = 12


class Beliefs(NamedTuple):
    """What is believed about the grades of the items of a query.

    Attributes
    ----------
    tied : ndarray of shape (K,), float64
    weight : ndarray of shape (H,), float64
        Probability of each node.
    belief : ndarray of shape (n, H, K), float64
        P(grade | node).
    mass : ndarray of shape (n, H, K), float64
        The same times the weight.
    under, tie : ndarray of shape (H, K, n), float64
        P(item is worse), P(tied), given the grade of an item of another tree.
    down, up : ndarray of shape (n, H, K, K), float64
        P(grade | grade of the parent), and the reverse; the given grade first.
    off_tree : ndarray of shape (2m, H, K, K), float64
        For pairs on no tree: 2e given the left item's grade, 2e + 1 given the right's.
    """

    tied: FloatArray
    weight: FloatArray
    belief: FloatArray
    mass: FloatArray
    under: FloatArray
    tie: FloatArray
    down: FloatArray
    up: FloatArray
    off_tree: FloatArray


@jit
def _cavity(log_belief: FloatArray, message: FloatArray, out: FloatArray) -> float:
    """Write a belief (K,) without one message; return the logarithm of its scale."""
    highest = -np.inf
    for a in range(out.shape[0]):
        out[a] = log_belief[a] - message[a]
        highest = max(highest, out[a])
    for a in range(out.shape[0]):
        out[a] = np.exp(out[a] - highest)
    return highest


@jit
def _same(tied: float, worse: float, tie: float, better: float) -> float:
    """Return what answers are worth if both items have one grade."""
    return tied * tie + (1 - tied) * (worse + better) / 2


@jit
def _carry(
    cavity: FloatArray,
    tied: FloatArray,
    worse: float,
    tie: float,
    better: float,
    out: FloatArray,
) -> None:
    """Write the sum over the sender's grades (K,), by the receiver's grade (K,).

    ``better`` is what the answers are worth if the sender is the better one.
    """
    above = 0.0
    for b in range(cavity.shape[0] - 1, -1, -1):
        out[b] = better * above + cavity[b] * _same(tied[b], worse, tie, better)
        above += cavity[b]
    below = 0.0
    for b in range(cavity.shape[0]):
        out[b] += worse * below
        below += cavity[b]


@jit
def _send(
    e: int,
    i: int,
    keep: float,
    tied: FloatArray,
    answered: Answered,
    log_belief: FloatArray,
    messages: FloatArray,
) -> float:
    """Send the messages of item ``i`` along pair ``e``; return the largest change."""
    n_grades = tied.shape[0]
    cavity, sent = np.empty(n_grades), np.empty(n_grades)
    worse, better = answered.likelihood[e, 0], answered.likelihood[e, 2]
    tie = answered.likelihood[e, 1]
    back, to = 2 * e, 2 * e + 1
    if answered.left[e] != i:
        worse, better, back, to = better, worse, to, back
    j = answered.left[e] + answered.right[e] - i
    change = 0.0
    for u in range(log_belief.shape[1]):
        _cavity(log_belief[i, u], messages[back, u], cavity)
        _carry(cavity, tied, worse, tie, better, sent)
        total = sent.sum()
        for b in range(n_grades):
            old = messages[to, u, b]
            new = keep * old + (1 - keep) * np.log(sent[b] / total)
            change = max(change, abs(new - old))
            messages[to, u, b] = new
            log_belief[j, u, b] += new - old
    return change


@jit
def _pass_messages(
    tied: FloatArray,
    answered: Answered,
    loops: bool,
    log_belief: FloatArray,
    messages: FloatArray,
) -> None:
    """Sweep from the leaves to the roots and back until messages stand still.

    ``log_belief`` (n, H, K) starts as the logarithm of what was believed before the
    answers, ``messages`` (2m, H, K) as 0. Without loops one sweep is exact.
    """
    order = answered.order
    place = np.empty(answered.tree.shape[0], dtype=np.int64)
    place[order] = np.arange(order.shape[0])
    for sweep in range(_SWEEPS if loops else 1):
        keep = _DAMPING if sweep >= _DAMPED_FROM else 0.0
        change = 0.0
        for way in range(2):
            for step in range(order.shape[0]):
                i = order[step] if way else order[order.shape[0] - 1 - step]
                for p in range(answered.start[i], answered.start[i + 1]):
                    e = answered.pairs[p]
                    j = answered.left[e] + answered.right[e] - i
                    if not answered.cut[e] and (place[j] > place[i]) == (way == 1):
                        moved = _send(e, i, keep, tied, answered, log_belief, messages)
                        change = max(change, moved)
        if change < _STILL:
            break


@jit
def _evidence(
    tied: FloatArray,
    answered: Answered,
    log_belief: FloatArray,
    messages: FloatArray,
) -> FloatArray:
    """Return the logarithm of what the answers are worth at each node (H,).

    By the formula of Bethe, sum_e log Z_e + sum_i (1 - degree_i) log Z_i.
    """
    n_grades = tied.shape[0]
    here, there, sent = np.empty(n_grades), np.empty(n_grades), np.empty(n_grades)
    evidence = np.zeros(log_belief.shape[1])
    for u in range(evidence.shape[0]):
        for i in answered.order:
            highest = log_belief[i, u].max()
            scale = np.log(np.exp(log_belief[i, u] - highest).sum()) + highest
            degree = 0
            for p in range(answered.start[i], answered.start[i + 1]):
                degree += not answered.cut[answered.pairs[p]]
            evidence[u] += (1 - degree) * scale
        for e in range(answered.left.shape[0]):
            if answered.cut[e]:
                continue
            i, j = answered.left[e], answered.right[e]
            evidence[u] += _cavity(log_belief[i, u], messages[2 * e, u], here)
            evidence[u] += _cavity(log_belief[j, u], messages[2 * e + 1, u], there)
            value = answered.likelihood[e]
            _carry(here, tied, value[0], value[1], value[2], sent)
            evidence[u] += np.log((sent * there).sum())
    return evidence


@jit
def _given(
    e: int,
    from_left: bool,
    tied: FloatArray,
    answered: Answered,
    log_belief: FloatArray,
    messages: FloatArray,
    out: FloatArray,
) -> None:
    """Write P(grade of one item of pair e | grade of the other) (H, K, K)."""
    cavity = np.empty(tied.shape[0])
    worse, better = answered.likelihood[e, 0], answered.likelihood[e, 2]
    tie = answered.likelihood[e, 1]
    other, message = answered.right[e], 2 * e + 1
    if not from_left:
        worse, better = better, worse
        other, message = answered.left[e], 2 * e
    for u in range(out.shape[0]):
        _cavity(log_belief[other, u], messages[message, u], cavity)
        for a in range(tied.shape[0]):
            for b in range(tied.shape[0]):
                if a == b:
                    value = _same(tied[a], worse, tie, better)
                else:
                    value = better if a > b else worse
                out[u, a, b] = value * cavity[b]
            out[u, a] /= out[u, a].sum()


@jit
def _conditionals(
    loops: bool,
    tied: FloatArray,
    answered: Answered,
    log_belief: FloatArray,
    messages: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``down``, ``up`` and ``off_tree``: see Beliefs."""
    n, n_nodes, n_grades = log_belief.shape
    m = answered.left.shape[0]
    down = np.zeros((n, n_nodes, n_grades, n_grades))
    up = np.zeros((n, n_nodes, n_grades, n_grades))
    for i in range(n):
        e = answered.parent[i]
        if e >= 0:
            is_left = answered.left[e] == i
            _given(e, not is_left, tied, answered, log_belief, messages, down[i])
            _given(e, is_left, tied, answered, log_belief, messages, up[i])
    off_tree = np.zeros((2 * m if loops else 0, n_nodes, n_grades, n_grades))
    if loops:
        for e in range(m):
            if not answered.cut[e]:
                left, right = off_tree[2 * e], off_tree[2 * e + 1]
                _given(e, True, tied, answered, log_belief, messages, left)
                _given(e, False, tied, answered, log_belief, messages, right)
    return down, up, off_tree


@jit
def _believe(
    prior: FloatArray, log_weight: FloatArray, tied: FloatArray, answered: Answered
) -> tuple[FloatArray, ...]:
    n, n_nodes, n_grades = prior.shape
    m = answered.left.shape[0]
    log_belief = prior.copy()
    messages = np.zeros((2 * m, n_nodes, n_grades))
    loops = m - answered.cut.sum() > (answered.parent >= 0).sum()
    _pass_messages(tied, answered, loops, log_belief, messages)
    log_weight = log_weight + _evidence(tied, answered, log_belief, messages)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    belief = np.empty_like(prior)
    for i in range(n):
        for u in range(n_nodes):
            _cavity(log_belief[i, u], np.zeros(n_grades), belief[i, u])
            belief[i, u] /= belief[i, u].sum()
    mass = belief * weight.reshape(1, -1, 1)
    under, tie = np.empty((n_nodes, n_grades, n)), np.empty((n_nodes, n_grades, n))
    for k in range(n):
        for u in range(n_nodes):
            below = 0.0
            for a in range(n_grades):
                same = belief[k, u, a]
                under[u, a, k] = below + (1 - tied[a]) / 2 * same
                tie[u, a, k] = tied[a] * same
                below += same
    given = _conditionals(loops, tied, answered, log_belief, messages)
    return tied, weight, belief, mass, under, tie, *given


def believe(
    prior: FloatArray, log_weight: FloatArray, tied: FloatArray, answered: Answered
) -> Beliefs:
    """Return what is believed after the answers.

    Parameters
    ----------
    prior : ndarray of shape (n, H, K), float64
        Logarithms of P(grade | node).
    log_weight : ndarray of shape (H,), float64
    tied : ndarray of shape (K,), float64
    answered : Answered

    Returns
    -------
    beliefs : Beliefs

    Notes
    -----
    Sum-product, O((n + m) H K) a sweep: one sweep, exact, where the answered pairs have
    no loop, else until the messages stand still, 200 at most.
    """
    return Beliefs(*_believe(prior, log_weight, tied, answered))


@jit
def _extend(first: FloatArray, step: FloatArray, out: FloatArray) -> None:
    """Write the product of two conditionals (H, K, K)."""
    for u in range(out.shape[0]):
        for a in range(out.shape[1]):
            for b in range(out.shape[1]):
                total = 0.0
                for c in range(out.shape[1]):
                    total += first[u, a, c] * step[u, c, b]
                out[u, a, b] = total


@jit
def _chain(i: int, answered: Answered, beliefs: Beliefs, chain: FloatArray) -> None:
    """Write P(grade of k | grade of i) (n, H, K, K) for all k in the tree of i."""
    left, right, parent = answered.left, answered.right, answered.parent
    known = np.zeros(parent.shape[0], dtype=np.bool_)
    known[i] = True
    chain[i] = 0.0
    for a in range(chain.shape[2]):
        chain[i, :, a, a] = 1.0
    for p in range(answered.start[i], answered.start[i + 1]):
        e = answered.pairs[p]
        k = left[e] + right[e] - i
        if parent[k] != e and parent[i] != e and not answered.cut[e]:
            known[k] = True
            chain[k] = beliefs.off_tree[2 * e if left[e] == i else 2 * e + 1]
    here = i
    while parent[here] >= 0:
        over = left[parent[here]] + right[parent[here]] - here
        if not known[over]:
            known[over] = True
            _extend(chain[here], beliefs.up[here], chain[over])
        here = over
    for k in answered.order:
        if answered.tree[k] == answered.tree[i] and not known[k]:
            known[k] = True
            over = left[parent[k]] + right[parent[k]] - k
            _extend(chain[over], beliefs.down[k], chain[k])


@jit
def _row(
    i: int,
    answered: Answered,
    beliefs: Beliefs,
    chain: FloatArray,
    under: FloatArray,
    tie: FloatArray,
) -> None:
    """Write P(item k is worse), P(tied) (H, K, n), given the grade of item ``i``."""
    tied, n_grades = beliefs.tied, beliefs.tied.shape[0]
    under[:] = beliefs.under
    tie[:] = beliefs.tie
    _chain(i, answered, beliefs, chain)
    for k in answered.order:
        if answered.tree[k] == answered.tree[i]:
            for u in range(chain.shape[1]):
                for a in range(n_grades):
                    same = chain[k, u, a, a]
                    below = 0.0
                    for b in range(a):
                        below += chain[k, u, a, b]
                    under[u, a, k] = below + (1 - tied[a]) / 2 * same
                    tie[u, a, k] = tied[a] * same
    # Of two items of one grade, too, answers say which is better.
    for p in range(answered.start[i], answered.start[i + 1]):
        e = answered.pairs[p]
        k = answered.left[e] + answered.right[e] - i
        worse, better = answered.likelihood[e, 0], answered.likelihood[e, 2]
        even = answered.likelihood[e, 1]
        if answered.left[e] != i:
            worse, better = better, worse
        for a in range(n_grades):
            half = (1 - tied[a]) / 2
            total = _same(tied[a], worse, even, better)
            for u in range(chain.shape[1]):
                cut = answered.cut[e]
                same = beliefs.belief[k, u, a] if cut else chain[k, u, a, a]
                under[u, a, k] += half * (better / total - 1) * same
                tie[u, a, k] += tied[a] * (even / total - 1) * same


@jit
def pair_probabilities(answered: Answered, beliefs: Beliefs) -> FloatArray:
    """Return the probabilities of the labels -1, 0, +1 of all pairs (n_pairs, 3).

    In canonical order. Along a tree of answered pairs the grades of two items depend
    on each other, else by the node alone. O(n^2 H K + n_answered^2 H K^3).
    """
    n, n_nodes, n_grades = beliefs.mass.shape
    out = np.empty((n * (n - 1) // 2, 3))
    chain = np.empty((n, n_nodes, n_grades, n_grades))
    under, tie = np.empty_like(beliefs.under), np.empty_like(beliefs.tie)
    over, same = np.empty(n), np.empty(n)
    at = 0
    for i in range(n):
        _row(i, answered, beliefs, chain, under, tie)
        over[:] = 0.0
        same[:] = 0.0
        for u in range(n_nodes):
            for a in range(n_grades):
                mass = beliefs.mass[i, u, a]
                # Items run fastest: what is added up for many at once is vectorised.
                for k in range(i + 1, n):
                    over[k] += mass * under[u, a, k]
                    same[k] += mass * tie[u, a, k]
        for k in range(i + 1, n):
            out[at, 0] = max(1 - over[k] - same[k], 0.0)
            out[at, 1] = same[k]
            out[at, 2] = over[k]
            at += 1
    return out


@jit
def answered_signs(answered: Answered, beliefs: Beliefs) -> FloatArray:
    """Return the probabilities of the labels -1, 0, +1 of the answered pairs (m, 3)."""
    n_nodes, n_grades = beliefs.mass.shape[1], beliefs.mass.shape[2]
    out = np.zeros((answered.left.shape[0], 3))
    for e in range(out.shape[0]):
        i, k = answered.left[e], answered.right[e]
        if answered.parent[k] == e:
            given = beliefs.down[k]
        elif answered.parent[i] == e:
            given = beliefs.up[i]
        elif answered.cut[e]:
            given = beliefs.down[k]  # not looked at
        else:
            given = beliefs.off_tree[2 * e]
        worse, better = answered.likelihood[e, 0], answered.likelihood[e, 2]
        even = answered.likelihood[e, 1]
        for a in range(n_grades):
            tied = beliefs.tied[a]
            total = _same(tied, worse, even, better)
            for u in range(n_nodes):
                for b in range(n_grades):
                    cut = answered.cut[e]
                    after = beliefs.belief[k, u, b] if cut else given[u, a, b]
                    joint = beliefs.mass[i, u, a] * after
                    if a != b:
                        out[e, 2 if a > b else 0] += joint
                    else:
                        out[e, 0] += (1 - tied) / 2 * worse / total * joint
                        out[e, 1] += tied * even / total * joint
                        out[e, 2] += (1 - tied) / 2 * better / total * joint
    return out


@jit
def _joint(
    i: int, j: int, answered: Answered, beliefs: Beliefs, chain: FloatArray
) -> FloatArray:
    """Return P(node, grade of i, grade of j) (H, K, K); ``chain`` is that of i."""
    n_nodes, n_grades = beliefs.mass.shape[1], beliefs.mass.shape[2]
    linked = answered.tree[i] == answered.tree[j]
    joint = np.empty((n_nodes, n_grades, n_grades))
    for u in range(n_nodes):
        for a in range(n_grades):
            for b in range(n_grades):
                given = chain[j, u, a, b] if linked else beliefs.belief[j, u, b]
                joint[u, a, b] = beliefs.mass[i, u, a] * given
    return joint


@jit
def rows_of_items(
    asked: IntArray,
    first: IntArray,
    second: IntArray,
    answered: Answered,
    beliefs: Beliefs,
    gain: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return what the grades of some items (s,) say about all items, and of questions.

    P(item is worse), P(tied) and the expected gain, (s, H, K, n) each, given the grade
    of each of them, and P(node, both grades) (c, H, K, K) of the questions (c,).
    """
    n, n_nodes, n_grades = beliefs.mass.shape
    chain = np.empty((n, n_nodes, n_grades, n_grades))
    under = np.empty((asked.shape[0], n_nodes, n_grades, n))
    tie, gains = np.empty_like(under), np.empty_like(under)
    joint = np.empty((first.shape[0], n_nodes, n_grades, n_grades))
    for s in range(asked.shape[0]):
        i = asked[s]
        _row(i, answered, beliefs, chain, under[s], tie[s])
        for k in range(n):
            linked = k == i or answered.tree[k] == answered.tree[i]
            for u in range(n_nodes):
                for a in range(n_grades):
                    gains[s, u, a, k] = 0.0
                    for b in range(n_grades):
                        p = chain[k, u, a, b] if linked else beliefs.belief[k, u, b]
                        gains[s, u, a, k] += p * gain[b]
        for c in range(first.shape[0]):
            if first[c] == i:
                joint[c] = _joint(i, second[c], answered, beliefs, chain)
    return under, tie, gains, joint
