"""Rankings of the labels of each sample, from relevance (n_samples, n_labels).

Scores of labels are higher for better ones. ``predict`` returns them, as
``decision_function`` does; ``predict_ranks`` returns ranks, of which 1 is the best.
"""

from skrank_abstain.multilabel.rankers._label_items import (
    LabelItems,
    ScoreColumn,
    to_items,
)
from skrank_abstain.multilabel.rankers._linear import LinearMultilabelRanker
from skrank_abstain.multilabel.rankers._online import OnlineMultilabelRanker
from skrank_abstain.multilabel.rankers._selective_labels import (
    SelectiveMultilabelRanker,
)
from skrank_abstain.multilabel.rankers._threshold import (
    ThresholdDecompositionRanker,
)

__all__ = [
    "LinearMultilabelRanker",
    "ThresholdDecompositionRanker",
    "OnlineMultilabelRanker",
    "SelectiveMultilabelRanker",
    "to_items",
    "LabelItems",
    "ScoreColumn",
]
