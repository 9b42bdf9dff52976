"""Questions to ask people: written to files and pages, and their answers read back."""

import csv
import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from io import BytesIO, StringIO
from itertools import chain, compress, product
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._saving import write_file
from skrank_abstain._validation import check_choice, is_blank, is_missing, listed
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import PairDecisions, read_columns
from skrank_abstain.review import _answers

_SIDES = ("left", "right")
#: What the cells of a workbook offer, and say to who chooses one or writes another.
_CHOICES = '"left,same,right"'
_HINT = {
    "showInputMessage": True,
    "prompt": "Which comes first: left, same or right? Empty: I do not know.",
    "showErrorMessage": True,
    "errorStyle": "warning",
    "error": "Choose left, same or right, or leave the cell empty.",
}
#: Fewer equal answers are no sign of a copy.
_FEWEST_COPIED = 10
#: Columns by which a table of questions may name the pairs.
_NAMED = ("pair_id", "left_id", "right_id")
_SAID = ("left", "right", "same", "tie")
_FORMATS = {".csv": "csv", ".xlsx": "xlsx", ".jsonl": "jsonl", ".json": "label_studio"}
_WORKBOOKS = (".xlsm", ".xls", ".ods", ".numbers")
#: What parsers raise where a file is damaged, or something else.
_DAMAGE = ValueError, TypeError, KeyError, AttributeError, RecursionError, csv.Error


@dataclass(frozen=True, eq=False, repr=False)
class Questions(PairDecisions):
    """Pairs to ask a person about, most useful first.

    Attributes
    ----------
    value : ndarray of shape (n_pairs,), float64
        Expected worth of the answer, falling from pair to pair: by how much it lowers
        the expected loss, summed over pairs, or raises the expected DCG. Exact unless
        answered pairs form a loop; off by up to .06 on four items in loops.
    index : pandas.Index, ndarray or None
        Index of X, if it is a pandas frame, or the names of a board's items: ``shown``
        must have the same.
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
    >>> questions = ranker.review(new.data, qid=new.qid).ask(3)
    >>> len(questions), bool((questions.value > 0).all())
    (3, True)
    """

    value: FloatArray = None  # type: ignore[assignment]
    index: Any = None

    def __repr__(self) -> str:
        best = f", best={self.value[0]:.3g}" if len(self) else ""
        n_queries = len(set(self.qid.tolist()))
        return f"Questions(n_pairs={len(self)}, n_queries={n_queries}{best})"

    def to_tasks(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 (what other libraries call it)
        shown: Any = None,
    ) -> None:
        """Write the questions to a file, most useful first.

        Parameters
        ----------
        path : str or path-like
        format : {"csv", "xlsx", "jsonl", "label_studio"} or None, default=None
            A table with an empty column ``label`` to fill in with left, same or right,
            as text or as an Excel workbook, whose cells offer these; one JSON object
            per line; or a list of tasks for Label Studio. None: what the ending of
            ``path`` says, or "csv".
        shown : frame or mapping of columns, default=None
            What people see of the items, one value per row of X: columns ``left_...``
            and ``right_...`` of each task. Or a table with one row per question, as
            for ``to_page``.

        Raises
        ------
        ImportError
            If a workbook is to be written without openpyxl.
        ValueError
            If ``path`` is a file with answers;
            If ``shown`` has another number of rows than X, or, both being pandas
            objects, another index; if a table of the questions has other rows than
            these, does not name their items, or has a column for one side alone; if
            ``format`` is unknown or ``path`` ends as another one, or as another kind of
            workbook; or if a text has half of a character.

        Notes
        -----
        A task has ``pair_id``, ``qid`` (such as the day, empty where there is none),
        ``left_id`` and ``right_id``, as texts. A hash
        of the names decides which item stands on the left, and tasks do not reveal what
        the model expects. ``read_answers`` reads the completed file. In a table a text
        that a spreadsheet would take for a formula has a ``'`` in front, which
        ``read_answers`` removes.
        """
        ending = Path(path).suffix.lower()
        format = format or _FORMATS.get(ending, "csv")  # noqa: A001
        check_choice(format, "format", tuple(_FORMATS.values()))
        formats = _FORMATS | dict.fromkeys(_WORKBOOKS, "another workbook")
        expected = formats.get(ending, format)
        if expected != format:
            raise ValueError(
                f"path and format must fit, got {os.fspath(path)!r}, {expected}, and "
                f"format={format!r}. Write a .csv or .xlsx, which spreadsheets open, a "
                ".jsonl, or a .json for 'label_studio'."
            )
        answered: list[Any] = []
        with suppress(OSError, ValueError, ImportError):  # no file of answers
            answered = _answers_of(path)
        if answered:
            raise ValueError(
                f"path must not be a file with answers, got {os.fspath(path)!r}, which "
                f"holds {len(answered)}: write the questions to another file."
            )
        tasks = self._tasks(shown)
        columns = [*(tasks[0] if tasks else _answers.TASK), "label", "reviewer"]
        values = ([task.get(name, "") for name in columns] for task in tasks)
        rows = [[*map(_answers.as_cell, row)] for row in values]
        if format == "xlsx":
            library, file = _answers.openpyxl_for(path), BytesIO()
            book, choice = library.Workbook(), library.worksheet.datavalidation
            for row in (columns, *rows):
                book.active.append(row)
            choice = choice.DataValidation("list", formula1=_CHOICES, **_HINT)
            letter = book.active.cell(1, columns.index("label") + 1).column_letter
            choice.add(f"{letter}2:{letter}{len(rows) + 1}")
            book.active.add_data_validation(choice)
            book.save(file)
            content: str | bytes = file.getvalue()
        elif format == "csv":
            text = StringIO(newline="")
            csv.writer(text).writerows([columns, *rows])
            content = text.getvalue()
        elif format == "jsonl":
            content = "".join(json.dumps(task) + "\n" for task in tasks)
        else:
            content = json.dumps([{"data": task} for task in tasks], indent=1) + "\n"
        write_file(path, content)

    def to_page(
        self,
        path: str | os.PathLike[str],
        *,
        shown: Any = None,
        question: str = "Which comes first?",
        blind: bool = False,
        language: str | Mapping[str, str] = "en",
    ) -> None:
        """Write one page on which a person answers the questions in a browser.

        Parameters
        ----------
        path : str or path-like
            File to write, such as ``"review.html"``; an existing one is replaced.
        shown : frame or mapping of columns, default=None
            What people see of the items, one value per row of X. Or what they see in
            each question: ``questions.to_frame()`` with new columns ``left_text`` and
            ``right_text``, the texts of ``left_id`` and ``right_id``. More columns of
            this kind are ``left_image`` and ``right_image``, and so on; any other new
            one, such as ``prompt``, stands above both sides. Or what each item says to
            each prompt: a row per prompt, a column for each item that is called as it,
            and columns whose names begin with "prompt", which stand above both. See
            Notes.
        question : str, default="Which comes first?"
            The question about the two items, such as "Who needs a doctor sooner?".
        blind : bool, default=False
            Whether the page leaves out the names of the items, as for voters who must
            not see which model wrote a text. Names stand in the saved answers, and in
            the source of the page.
        language : {"en", "de"} or mapping of str to str, default="en"
            Language of the page. A mapping has the texts of another one; what an
            incomplete one lacks is in the message, in English.

        Raises
        ------
        ValueError
            If ``shown`` has other rows than X or the questions or does not name their
            items, as in ``to_tasks``; if it is None or a column names items on a blind
            page; if texts of the language are
            missing; or if ``path`` does not end in .html or .htm.

        Notes
        -----
        The page needs no server and no network. The two items stand side by side;
        buttons and keys say left, same or right, skip and undo. The browser keeps the
        answers until they are saved as a file, which ``read_answers`` reads. Sides are
        chosen as in ``to_tasks``: a pair always has the same ones. In a table with a
        row per question they are drawn for each row, by a hash of its texts too, so
        that a pair that is asked about often does not show one item on one side.

        Such a table may also be a file of ``to_tasks`` with new columns: ``left_id``
        and ``right_id``, or the ``pair_id`` of a task, tell the sides, and a row
        without them or about another pair is refused. The columns that it had are not
        shown. A ``pair_id`` of your own comes back in the saved file.

        Prompts are used alike, and a pair of items meets on each prompt before it meets
        on one again.
        """
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise ValueError(
                f"path must end in .html or .htm, got {os.fspath(path)!r}: the page is "
                "HTML. A table of the questions is to_tasks(path)."
            )
        words = _page_texts(language)
        # Texts: a browser would round large integers, and JSON has no infinity.
        tasks = self._tasks(shown)
        texts = [{name: str(value) for name, value in task.items()} for task in tasks]
        if blind and texts:
            _check_blind(texts)
        # The browser stores answers under this key, for these questions alone.
        content = json.dumps([bool(blind), texts]).encode()
        key = f"skrank_abstain {sha256(content).hexdigest()[:16]}"
        held = {"key": key, "question": str(question), "blind": bool(blind)}
        held |= {"tasks": texts, "texts": words}
        # Escaped, so that no text ends the script element around it.
        signs = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}
        data = json.dumps(held).translate(signs)
        page = _own_file("_page.html")
        style, script = (
            b64encode(sha256(text.encode()).digest()).decode()
            for _, text in re.findall(r"<(style|script)>(.*?)</\1>", page, re.DOTALL)
        )
        policy = (
            f"default-src 'none'; style-src 'sha256-{style}'; "
            f"script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
        )
        noscript, code = escape(words["noscript"]), escape(words["language"])
        page = page.replace("POLICY", policy).replace("NOSCRIPT", noscript)
        page = page.replace("LANGUAGE", code).replace("DATA", data)
        write_file(path, page)

    def _tasks(self, shown: Any) -> list[dict[str, Any]]:
        """Return one task per question; none reveals what the model expects."""
        shown = self._of_prompts(shown) if len(self) else None
        by_question = _shown_questions(shown, len(self), {*self._columns()})
        of_items = shown if by_question is None else None
        columns = _shown_columns(of_items, self.place, self.index)
        tasks = []
        for number, pair in enumerate(self.to_dicts()):
            qid = str(pair["qid"])
            sides = [(pair.get(f"{s}_id", pair[s]), pair[s]) for s in ("left", "right")]
            rows = {str(name): row for name, row in sides}
            name, left, right = _answers.pair_id(qid, *rows)
            task = dict(zip(_answers.TASK, (name, qid, left, right), strict=True))
            task["qid"] = "" if pair["qid"] is None else qid
            if by_question:
                task |= _drawn(task, [*rows], by_question[number])
            for name, column in columns.items():
                task[f"left_{name}"] = column[rows[left]]
                task[f"right_{name}"] = column[rows[right]]
            tasks.append(task)
        return tasks

    def _of_prompts(self, shown: Any) -> Any:
        """Return a row per question of a row per prompt, or another table as it is."""
        index = getattr(shown, "index", None)
        if str(getattr(index, "name", "")).startswith("prompt"):
            shown = shown.reset_index()
        columns = {} if shown is None else read_columns(shown, "shown")
        ids: Any = () if self.left_id is None else (self.left_id, self.right_id)
        pairs = [*zip(*(map(str, side) for side in ids), strict=True)]
        items = {name for pair in pairs for name in pair}
        missing = sorted(items - columns.keys())
        if len(missing) == len(items):
            return shown
        # Texts of the other items of a board would stand above both sides.
        known = items | (set() if self.index is None else {*map(str, self.index)})
        above = [name for name in columns if name not in known]
        # An index of texts holds the prompts, whatever it is called.
        texts = shown.index.tolist() if hasattr(shown, "iloc") else [None]
        if all(isinstance(text, str) for text in texts) and not {*above} - {"pair_id"}:
            columns["prompt"], above = texts, [*above, "prompt"]
        odd = [n for n in above if n != "pair_id" and not n.startswith("prompt")]
        if missing or odd:
            raise ValueError(
                "shown must have a column for each item that is asked about (missing: "
                f"{missing}), and else pair_id and columns whose names begin with "
                f"prompt, which stand above both sides, got {listed(odd)}: rename them."
            )
        used = np.zeros(len(columns[pairs[0][0]]))
        # Prompts to which an item of a pair says nothing are not for it.
        silent = {name: np.array([*map(is_blank, columns[name])]) for name in items}
        seen = {(i, j): np.where(silent[i] | silent[j], np.inf, 0) for i, j in pairs}
        rows: list[int] = []
        for pair in pairs:
            rows.append(int((seen[pair] * len(pairs) + used).argmin()))
            if np.isinf(seen[pair][rows[-1]]):
                raise ValueError(
                    f"shown must have a prompt to which both of {pair} say a text."
                )
            seen[pair][rows[-1]] += 1
            used[rows[-1]] += 1
        if n_again := len(rows) - len({*zip(pairs, rows, strict=True)}):
            warn_user(
                f"{n_again} of {len(pairs)} questions ask again about the same texts: "
                f"shown has {used.size} prompts; pass more, or ask fewer of each pair."
            )
        table = {name: [columns[name][row] for row in rows] for name in above}
        for side, names in zip(_SIDES, zip(*pairs, strict=True), strict=True):
            sides = zip(names, rows, strict=True)
            table[f"{side}_text"] = [columns[name][row] for name, row in sides]
            table[f"{side}_id"] = list(names)
        return table

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {**super()._columns(), "value": self.value}


def _own_file(name: str) -> str:
    return files("skrank_abstain.review").joinpath(name).read_text("utf-8")


def _page_texts(language: Any) -> dict[str, str]:
    """Return the texts of the page, and the code of their language."""
    known: dict[str, dict[str, str]] = json.loads(_own_file("_page_texts.json"))
    if not isinstance(language, Mapping):
        language = check_choice(language, "language", tuple(known))
        return known[language] | {"language": language}
    english = known["en"] | {"language": "en"}
    wrong = {
        name: english.get(name)
        for name in english | dict(language)
        if _marks(language.get(name)) != _marks(english.get(name))
    }
    if wrong:
        raise ValueError(
            "language must have all texts of the page and no others, with the {marks} "
            f"of the English ones, got wrong or no texts for these: {wrong}."
        )
    return dict(language)


def _marks(text: Any) -> set[str] | None:
    return {*re.findall(r"{\w+}", text)} if isinstance(text, str) else None


def _check_blind(tasks: list[dict[str, str]]) -> None:
    """Refuse tasks that show nothing but names, or a column of names.

    On a side most texts are the name of one of the two items; above both, any is one.
    """
    own = [{task[s].strip().casefold() for s in _NAMED[1:]} for task in tasks]
    for name in tasks[0].keys() - {*_answers.TASK} or {"left_id"}:
        texts = [task[name].strip().casefold() for task in tasks]
        named = sum(text in ids for text, ids in zip(texts, own, strict=True))
        above = not name.startswith(("left_", "right_"))
        if 2 * named > len(tasks) - texts.count("") or (
            above and not set().union(*own).isdisjoint(texts)
        ):
            raise ValueError(
                "shown must hold on a blind page what people see instead of the names "
                f"of items, got names in {name}: pass other columns as shown=, such as "
                "left_text and right_text beside those of questions.to_frame()."
            )
    told = {
        f"{task[side]} in {name}"
        for task, side in product(tasks, _NAMED[1:])
        # A number, or a short word, may stand in any text.
        if len(task[side]) > 2 and not task[side].isdecimal()
        for name in task.keys() - {*_answers.TASK}
        if re.search(rf"(?i)(?<!\w){re.escape(task[side])}(?!\w)", task[name])
    }
    if told:
        warn_user(f"A blind page must not name items, got {listed(sorted(told))}.")


def _shown_questions(
    shown: Any, n_questions: int, own: set[str]
) -> list[dict[str, Any]] | None:
    """Return the rows of a table of questions; None for a table of items."""
    columns = {} if shown is None else read_columns(shown, "shown")
    # Beside texts, left and right are the items, as in to_frame.
    columns = {f"{s}_text": columns[s] for s in _SIDES if s in columns} | columns
    if not {"left_text", "right_text"} <= columns.keys():
        return None
    columns = {
        name: [_plain(value) for value in column]
        for name, column in columns.items()
        if name in _NAMED or name.strip().lower() not in {*_answers.READ, *own}
    }
    lone = [name for name in columns if _other_side(name) not in columns]
    n_rows = len(columns["left_text"])
    if lone or n_rows != n_questions:
        raise ValueError(
            "shown must have one row per question and each column for both sides, got "
            f"{n_rows} rows for {n_questions} questions, and for one side {lone}."
        )
    # The left side stands on the left, however it is turned.
    at = {name: k for k, name in enumerate(columns)}
    names = sorted(at, key=lambda name: (min(at[name], at[_other_side(name)]), name))
    return [{name: columns[name][row] for name in names} for row in range(n_rows)]


def _other_side(name: str) -> str:
    """Return the name of the column for the other side; of both, the same."""
    other = {"left_": "right_", "right_": "left_"}
    return re.sub("^(left|right)_", lambda side: other[side[0]], name)


def _drawn(
    task: Mapping[str, str], names: list[str], row: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a task shows of a question, on sides that are drawn for it."""
    number = row.get("pair_id", "")
    ours = _answers.is_pair_id(number)
    if not ours and not {"left_id", "right_id"} <= row.keys():
        raise ValueError(
            f"shown must have left_id and right_id, got {listed(row)}: start from "
            "questions.to_frame(), and add left_text and right_text."
        )
    # Sides are those of a task if the row has its id, else those of the question.
    first, second = (task["left_id"], task["right_id"]) if ours else names
    found = str(row.get("left_id", first)), str(row.get("right_id", second))
    if {*found} != {*names} or (ours and number != task["pair_id"]):
        raise ValueError(
            "shown must have its rows in the order of the questions, got one about "
            f"{found} with pair_id {number!r} where {tuple(names)} are asked about."
        )
    texts = {name: value for name, value in row.items() if name not in _NAMED}
    _, left, right = _answers.pair_id(json.dumps([task["qid"], texts]), *names)
    if left != found[0]:
        texts = {name: texts[_other_side(name)] for name in texts}
    # The id of the pair would tell other sides.
    return texts | dict(zip(_NAMED, ("" if ours else number, left, right), strict=True))


def _shown_columns(
    shown: Any, place: IntArray | None, index: Any
) -> dict[str, list[Any]]:
    columns = {} if shown is None else read_columns(shown, "shown")
    if named := [name for name in columns if name.strip().lower() == "id"]:
        raise ValueError(f"shown must not have a column {named[0]}: tasks have one.")
    for column in columns.values():
        if place is not None and len(column) != place.size:
            raise ValueError(
                f"shown must have one value per row of X: X has {place.size} rows, "
                f"shown has {len(column)}. Pass those, as shown=frame.loc[X.index], or "
                "rows of questions (left_text, right_text), or prompts (column per item"
                ": frame.pivot(index='prompt', columns='model', values='text'))."
            )
    parts = shown.values() if isinstance(shown, Mapping) else [shown]
    # Stricter than for the model's input: nobody may see another person's data.
    for part in parts if index is not None else ():
        wrong = hasattr(part, "iloc") and list(part.index) != list(index)
        # The rows of an array have names at most: other labels tell no order.
        if wrong and not (isinstance(index, tuple) and {*index}.isdisjoint(part.index)):
            raise ValueError(
                "shown must have its rows in the order of X, or of board.items_, got "
                f"another index than that of X's {len(index)} rows: pass "
                "frame.loc[X.index or item_id], or .set_axis(X.index) if it is right."
            )
    return {name: [_plain(value) for value in columns[name]] for name in columns}


def _plain(value: Any) -> Any:
    """Return a value that every format can hold; an empty text if it is missing."""
    if is_missing(value):
        return ""
    # JSON has no infinity.
    kept = isfinite(value) if isinstance(value, float) else isinstance(value, int | str)
    return value if kept else str(value)


def read_answers(
    *path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
) -> list[dict[str, Any]]:
    r"""Read the answers to tasks from one file, or from those of several people.

    The content decides how a file is read: as tasks of ``Questions.to_tasks`` with
    their ``label`` filled in (CSV, an Excel workbook or one JSON object per line), as
    saved by the page of ``Questions.to_page``, or as a JSON export of Label Studio.
    Tables may have commas, semicolons or tabs between their columns.

    Parameters
    ----------
    *path : str, path-like or iterable of these
        Files in UTF-8, or in UTF-16 with a byte-order mark, or .xlsx, of which the
        first sheet is read: ``read_answers("ann.xlsx", "bo.json")`` or
        ``read_answers(folder.glob("*.json"))``.

    Returns
    -------
    answers : list of dict
        A table for ``ranker.review(answers=...)``: ``qid``, ``left``, ``right``,
        ``label``, ``reviewer``, and ``time``, the ``pair_id`` of a task and the
        ``answer_id`` of a page in the rows that have them; no ``qid`` if no row has
        one. Tasks without a label are left out. A row without a
        reviewer is by the one that its file names; where it names none or several, by
        one who is called as the file, without its ending and a browser's " (1)". Of the
        answers to one question of an opened page the last counts, by one reviewer, in
        however many files it is saved. One that was skipped or taken back has the label
        "skip", which does not count, and takes back others with its ``answer_id``, also
        in a table of two calls that were joined. An empty cell takes back nothing: of a
        sheet that was changed and sent again, pass the last version alone; two files
        without reviewers and with the same ten answers or more warn. A review or board
        that does not know the word of a label names its file and row (row 1 is the
        header).

    Raises
    ------
    ImportError
        If a workbook is to be read without openpyxl.
    ValueError
        If a file is empty, in another encoding or damaged, a task lacks what an answer
        needs, no file is named, one is named twice, or two files without reviewers have
        the same name, or with reviewers the same answers, which no page saved.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skrank_abstain.review import read_answers
    >>> table = "qid,left_id,right_id,label\nmon,Di,Bo,left\nmon,Bo,Cy,\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "ann.csv")
    ...     _ = path.write_text(table)
    ...     read_answers(path)
    [{'reviewer': 'ann', 'qid': 'mon', 'left': 'Di', 'right': 'Bo', 'label': 'left'}]
    """
    given = ([each] if isinstance(each, str | os.PathLike) else each for each in path)
    files = [*chain(*given)]
    if not files:
        raise ValueError("path must name at least one file, got none.")
    answers: list[dict[str, Any]] = []
    seen: dict[Any, Any] = {}
    for file in files:
        new, name = _answers_of(file), Path(file).stem
        if not new:
            warn_user(f"{os.fspath(file)!r} holds no answers: all labels are empty.")
        paged = any("answer_id" in answer for answer in new)  # which pages settle by
        # A browser calls a second download of ann.csv "ann (1).csv".
        name = name if paged else re.sub(r" \(\d+\)$", "", name)
        named = {answer["reviewer"] for answer in new if "reviewer" in answer}
        whose = (file if paged else str(new)) if named else name
        if new and whose in seen:
            raise ValueError(
                f"path must tell reviewers apart, got {os.fspath(seen[whose])!r} and "
                f"{os.fspath(file)!r} without names, or with the same answers: pass "
                "the later version alone, or rename the file of another person."
            )
        seen[whose] = file
        copied = seen.setdefault(str(new), file)
        if copied != file and not named and len(new) >= _FEWEST_COPIED:
            warn_user(
                f"{os.fspath(copied)!r} and {os.fspath(file)!r} hold the same "
                f"{len(new)} answers and count as two people: pass one if it is a copy."
            )
        # Who wrote a name once filled in the whole file.
        who = {"reviewer": named.pop() if len(named) == 1 else name}
        answers += [who | answer for answer in new]
    table = {"label": [], "reviewer": []} | read_columns(answers, "answers")
    last = _answers.settle_pages(table)
    for answer, who in zip(answers, table["reviewer"], strict=True):
        answer["reviewer"] = who
    return [*compress(answers, last)]


def _answers_of(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the answers in one file, with what stands beside each label."""
    text = _answers.text_of(path)
    try:
        rows = [{**row} for row in _rows_of(text)]
    except _DAMAGE as e:
        raise ValueError(
            f"{os.fspath(path)!r} must be a workbook, CSV or JSON lines file of tasks, "
            "a file saved by a page of questions, or a JSON export of Label Studio; it "
            f"is damaged or something else: {type(e).__name__}: {e}."
        ) from e
    labels = {name for row in rows for name in row if str(name).startswith("label")}
    if len(labels) > 1:
        raise ValueError(
            f"{os.fspath(path)!r} must have one column label, got {listed(labels)}: "
            "save the answers of each person to a file."
        )
    answers = []
    # The table of one query may leave it out.
    named = any(row.get("qid") not in (None, "") for row in rows)
    kind, first = ("entry", 0) if text.lstrip()[0] in "[{" else ("row", 2)
    for number, row in enumerate(rows, first):
        if is_blank(row.get("label")):
            # Columns of a task are about an item, whose feature may say "left".
            beside = {n: v for n, v in row.items() if not str(n).startswith(_SIDES)}
            if moved := [name for name, said in beside.items() if said in _SAID]:
                raise ValueError(
                    f"{os.fspath(path)!r} must have answers in column label, got "
                    f"{row[moved[0]]!r} in {moved[0]!r} of {kind} {number}: rename it."
                )
            continue
        sides = {s: row.get(f"{s}_id", row.get(s)) for s in ("left", "right")}
        qid = {"qid": row.get("qid")} if named else {}
        label = _answers.Said(row["label"])
        label.where = f"{kind} {number} of {os.fspath(path)!r}"
        answer = {**qid, **sides, "label": label}
        if lacking := [name for name, value in answer.items() if value in (None, "")]:
            raise ValueError(
                f"{os.fspath(path)!r} must name {lacking[0]} in every answer, got none "
                f"in {kind} {number} with {listed(row)}."
            )
        for name in _answers.BESIDE:
            if not is_blank(cell := row.get(name)):
                answer[name] = cell.strip() if isinstance(cell, str) else cell
        answers.append(answer)
    return answers


def _rows_of(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the tasks with their answers."""
    start = text.lstrip()[:1]
    if start == "[":
        for task in json.loads(text):
            # Label Studio's short export also has labels, but names an annotator.
            alone = "label" in task and "annotator" not in task
            yield from [task] if alone else _annotations(task)
    elif start == "{":
        # Other ends of lines, as U+2028, may stand inside a text.
        for row in map(json.loads, filter(str.strip, text.split("\n"))):
            if isinstance(row.get("label"), dict):
                raise ValueError("a frame is saved by to_json(path, orient='records')")
            yield row
    else:
        yield from _answers.rows_of_table(text)


def _annotations(task: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the answers of all annotators to one task of Label Studio."""
    for annotation in task["annotations"]:
        if annotation.get("was_cancelled"):
            continue
        for result in annotation["result"]:
            if "choices" not in result["value"]:
                continue  # a comment
            (choice,) = result["value"]["choices"]
            who = annotation.get("completed_by")
            who = who.get("email", who.get("id")) if isinstance(who, Mapping) else who
            yield {
                **task["data"],
                "label": choice,
                "reviewer": None if who is None else str(who),
                "time": annotation.get("updated_at", annotation.get("created_at")),
            }
