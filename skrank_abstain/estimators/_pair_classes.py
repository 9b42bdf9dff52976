"""Labels of comparisons: their meaning and their spelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from skrank_abstain._saving import Value
from skrank_abstain._validation import IntArray, refuse_lazy
from skrank_abstain.pairs import read_pair_labels

#: What to do about labels of one kind, and of more than three.
_REMEDIES = (
    "Swap the halves and the label of some pairs.",
    "Leave out the rows of the others, or replace their labels by one of three.",
)


@dataclass(frozen=True, eq=False)
class PairClasses(Value):
    """The labels that a classifier of pairs was fitted on, and their meaning.

    Attributes
    ----------
    kinds : ndarray of shape (n_classes,)
        Two or three different labels, sorted as scikit-learn's scorers expect.
    meaning : ndarray of shape (n_classes,), int64
        The pair label of each: -1, 0 or +1.
    labels : list or None
        The meaning of labels, where the user gave one.
    """

    kinds: NDArray[Any]
    meaning: IntArray
    labels: list[Any] | None

    @property
    def has_ties(self) -> bool:
        """Whether one of the kinds is a tie."""
        return self.kinds.size == 3

    @property
    def sign(self) -> int:
        """-1 if right is the second of two classes, which scikit-learn calls positive.

        1 otherwise.
        """
        return 1 if self.has_ties else int(self.meaning[1])

    def strict(self, label: IntArray) -> IntArray:
        """Return labels without ties, if no kind is a tie: equal scores mean left."""
        return label if self.has_ties else np.where(label < 0, -1, 1)

    def named(self, label: IntArray) -> NDArray[Any]:
        """Return pair labels as the user writes them."""
        named: NDArray[Any] = self.kinds[np.argsort(self.meaning)][
            label + 1 if self.has_ties else (label + 1) // 2
        ]
        return named

    def read(self, y: Any) -> IntArray:
        """Return the meaning of other labels to a classifier fitted on these.

        They may hold ties or spellings that ``fit`` did not see.
        """
        refuse_lazy(y, "y")
        truth = column_or_1d(y)
        known = dict(zip(self.kinds.tolist(), self.meaning.tolist(), strict=True))
        listed = truth.tolist()
        new = [kind for kind in dict.fromkeys(listed) if kind not in known]
        if new:
            every = [*known, *new]
            codes = read_pair_labels(np.array(every, dtype=object), self.labels)
            read = dict(zip(every, codes.tolist(), strict=True))
            if any(read[kind] != meaning for kind, meaning in known.items()):
                raise ValueError(
                    f"y must hold labels as in fit, {list(known)}, got {new[:10]} too, "
                    "with which those would mean something else. Pass labels=(right, "
                    "tie, left)."
                )
            known = read
        return np.array([known[kind] for kind in listed], dtype=np.int64)


def read_labels(
    estimator: Any, X: Any, y: Any, labels: Any
) -> tuple[PairClasses, IntArray]:
    """Return the kinds of labels, and the labels as -1, 0, +1."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is "
            "None"
        )
    refuse_lazy(y, "y")
    truth = column_or_1d(y, warn=True)
    check_consistent_length(X, truth)
    assert_all_finite(truth, input_name="y")
    if truth.dtype.kind != "f":
        check_classification_targets(truth)
    kinds, code = np.unique(truth, return_inverse=True)
    if kinds.size not in (2, 3):
        check_classification_targets(truth)
        raise ValueError(
            "y must have two or three kinds of labels, for right preferred, tie and "
            f"left preferred, got {kinds.size} class{'es' * (kinds.size > 1)}: "
            f"{kinds[:10].tolist()}. " + _REMEDIES[kinds.size > 1]
        )
    meaning = read_pair_labels(kinds, labels)
    if np.unique(meaning).size < kinds.size:
        raise ValueError(
            "y must have one word for each answer, which predict returns, got "
            f"{kinds.tolist()}, two of which mean the same. Use one of them."
        )
    if not {-1, 1} <= set(meaning.tolist()):
        strict = "left" if 1 in meaning else "right"
        raise ValueError(
            f"y must have pairs with right and with left preferred, got {strict} only "
            f"and ties, {kinds.tolist()}. " + _REMEDIES[0]
        )
    given = None if labels is None else np.asarray(labels, dtype=object).tolist()
    return PairClasses(kinds, meaning, given), meaning[code]
