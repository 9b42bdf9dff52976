"""The losses of S000 by setting, with and without abstention."""

from functools import partial

from skrank_abstain.distance import misranking_loss, surrogate_loss

pairwise_misranking_loss = partial(misranking_loss, setting="pairwise")
bipartite_misranking_loss = partial(misranking_loss, setting="bipartite")
pairwise_surrogate_loss = partial(surrogate_loss, setting="pairwise")
bipartite_surrogate_loss = partial(surrogate_loss, setting="bipartite")


def pairwise_abstention_loss(y, scores, X, qid=None, **options):
    """Return the pairwise loss with abstention from near items."""
    return pairwise_misranking_loss(y, scores, qid=qid, X=X, **options)


def bipartite_abstention_loss(y, scores, X, qid=None, **options):
    """Return the bipartite loss with abstention from near items."""
    return bipartite_misranking_loss(y, scores, qid=qid, X=X, **options)
