"""The losses of label rankings as functions of relevance and scores."""

from functools import partial

from skrank_abstain.multilabel import multilabel_loss


def named(loss):
    """Return a loss with the name that messages and test ids show."""
    function = partial(multilabel_loss, loss=loss)
    function.__name__ = f"{loss}_loss"
    return function


sum_loss = named("sum")
precision_loss = named("precision")
dcg_loss = named("dcg")
pairwise_loss = named("pairwise")
auc_loss = named("auc")
average_precision_loss = named("average_precision")
reciprocal_rank_loss = named("reciprocal_rank")


def auc_score(y_true, y_score):
    """Return one minus the loss, which is in no family."""
    return 1 - auc_loss(y_true, y_score)
