"""Losses and scores of label rankings, on arrays of shape (n_samples, n_labels)."""

from skrank_abstain.multilabel.losses._binary import (
    multilabel_auc_loss,
    multilabel_auc_score,
    multilabel_average_precision_loss,
    multilabel_average_precision_score,
    multilabel_reciprocal_rank_loss,
    multilabel_reciprocal_rank_score,
)
from skrank_abstain.multilabel.losses._graded import (
    multilabel_dcg_loss,
    multilabel_dcg_score,
    multilabel_pairwise_loss,
    multilabel_precision_loss,
    multilabel_precision_score,
    multilabel_sum_loss,
)
from skrank_abstain.multilabel.losses._label_arrays import label_ranks
from skrank_abstain.multilabel.losses._samples import multilabel_sample_losses

__all__ = [
    "label_ranks",
    "multilabel_sample_losses",
    "multilabel_sum_loss",
    "multilabel_precision_loss",
    "multilabel_precision_score",
    "multilabel_pairwise_loss",
    "multilabel_dcg_loss",
    "multilabel_dcg_score",
    "multilabel_average_precision_loss",
    "multilabel_average_precision_score",
    "multilabel_auc_loss",
    "multilabel_auc_score",
    "multilabel_reciprocal_rank_loss",
    "multilabel_reciprocal_rank_score",
]
