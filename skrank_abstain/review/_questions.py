"""Questions: pairs to ask a person about."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from skrank_abstain._validation import FloatArray
from skrank_abstain.pairs import PairDecisions
from skrank_abstain.review._files import tasks_of, write_page, write_tasks


@dataclass(frozen=True, eq=False, repr=False)
class Questions(PairDecisions):
    """Pairs to ask a person about, most useful first.

    Attributes
    ----------
    value : ndarray of shape (n_pairs,), float64
        Expected worth of the answer, falling from pair to pair: by how much it lowers
        the expected loss, summed over pairs, or raises the expected DCG. Exact unless
        answered pairs form a loop; off by up to .06 on four items in loops.
    index : pandas.Index or None
        Index of X, if it is a pandas frame: ``shown`` must have the same.
    left, right, qid, label, accepted, risk, proba, left_id, right_id, place
        As in `PairDecisions`, after the answers so far.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> new = make_ranking(n_queries=2, random_state=1)
    >>> questions = ranker.review(new.data, new.qid).ask(3)
    >>> len(questions), bool((questions.value > 0).all())
    (3, True)
    """

    value: FloatArray = None  # type: ignore[assignment]
    index: Any = None
    _OF_ROWS = ("place", "index")

    def __repr__(self) -> str:
        best = f", best={self.value[0]:.3g}" if len(self) else ""
        n_queries = len(set(self.qid.tolist()))
        return f"Questions(n_pairs={len(self)}, n_queries={n_queries}{best})"

    def to_tasks(
        self,
        path: str | os.PathLike[str],
        *,
        format: str = "csv",  # noqa: A002 (what other libraries call it)
        shown: Any = None,
    ) -> None:
        """Write the questions to a file, most useful first.

        Parameters
        ----------
        path : str or path-like
        format : {"csv", "jsonl", "label_studio"}, default="csv"
            A table with an empty column ``label`` to fill in with left, same or right,
            one JSON object per line, or a list of tasks for Label Studio.
        shown : frame or mapping of columns, default=None
            What people see of the items, one value per row of X: columns ``left_...``
            and ``right_...`` of each task.

        Raises
        ------
        ValueError
            If ``shown`` has another number of rows than X, or, both being pandas
            objects, another index; if ``format`` is unknown or ``path`` ends as
            another one, or as a workbook; or if a text has half of a character.

        Notes
        -----
        A task has ``pair_id``, ``qid``, ``left_id`` and ``right_id``, as texts. A hash
        of the names decides which item stands on the left, and tasks do not reveal what
        the model expects. ``read_answers`` reads the completed file. In a table a text
        that a spreadsheet would take for a formula has a ``'`` in front, which
        ``read_answers`` removes.
        """
        write_tasks(tasks_of(self, self.index, shown), path, format)

    def to_page(
        self,
        path: str | os.PathLike[str],
        *,
        shown: Any = None,
        question: str = "Which comes first?",
        language: str | Mapping[str, str] = "en",
    ) -> None:
        """Write one page on which a person answers the questions in a browser.

        Parameters
        ----------
        path : str or path-like
            File to write, such as ``"review.html"``; an existing one is replaced.
        shown : frame or mapping of columns, default=None
            What people see of the items, one value per row of X.
        question : str, default="Which comes first?"
            The question about the two items, such as "Who needs a doctor sooner?".
        language : {"en", "de"} or mapping of str to str, default="en"
            Language of the page. A mapping has the texts of another one; what an
            incomplete one lacks is in the message, in English.

        Raises
        ------
        ValueError
            If ``shown`` has other rows than X, as in ``to_tasks``, if texts of the
            language are missing, or if ``path`` does not end in .html or .htm.

        Notes
        -----
        The page needs no server and no network. The two items stand side by side;
        buttons and keys say left, same or right, skip and undo. The browser keeps the
        answers until they are saved as a file, which ``read_answers`` reads. Sides are
        chosen as in ``to_tasks``.
        """
        write_page(tasks_of(self, self.index, shown), path, question, language)

    def _measures(self) -> dict[str, FloatArray | None]:
        return {**super()._measures(), "value": self.value}

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {**super()._columns(), "value": self.value}
