"""Questions to ask people: written to files and pages, and their answers read back."""

from __future__ import annotations

import csv
import json
import os
import re
from base64 import b64encode
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from io import StringIO
from itertools import islice
from math import isinf
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_choice,
    is_missing,
    listed,
)
from skrank_abstain.pairs import PairDecisions
from skrank_abstain.review._answers import is_pair_id, pair_id

FORMATS = ("csv", "jsonl", "label_studio")
#: Columns of a task; items have their names, or their rows of X.
_TASK = ("pair_id", "qid", "left_id", "right_id")
#: Columns that are read from a table.
_READ = (*_TASK, "left", "right", "label", "reviewer", "time")
_NO_ANSWER = ("", "skip", None)
_ENDING = {"csv": ".csv", "jsonl": ".jsonl", "label_studio": ".json"}
_FORMAT_OF = {ending: kind for kind, ending in _ENDING.items()}
_WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
#: What a spreadsheet takes for the start of a formula, and the sign that prevents it.
_FORMULA, _AS_TEXT = "=+-@\t\r", "'"
#: What starts so and is a number all the same; +inf and -1_0 are none.
_SIGNED = re.compile(r"[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


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


def tasks_of(questions: PairDecisions, index: Any, shown: Any) -> list[dict[str, Any]]:
    """Return one task per question, which does not reveal what the model expects.

    Parameters
    ----------
    questions : PairDecisions
    index : pandas.Index or None
        Index of X.
    shown : frame or mapping of columns, or None
        As in ``Questions.to_tasks``.
    """
    columns = _shown_columns(shown, questions.place, index)
    tasks = []
    for pair in questions.to_dicts():
        qid = str(pair["qid"])
        sides = [
            (str(pair.get(f"{side}_id", pair[side])), pair[side])
            for side in ("left", "right")
        ]
        rows = dict(sides)
        name, left, right = pair_id(qid, *rows)
        task = dict(zip(_TASK, (name, qid, left, right), strict=True))
        for name, column in columns.items():
            task[f"left_{name}"] = column[rows[left]]
            task[f"right_{name}"] = column[rows[right]]
        _check_text(task)
        tasks.append(task)
    return tasks


def write_tasks(
    tasks: list[dict[str, Any]], path: str | os.PathLike[str], kind: str
) -> None:
    """Write tasks to a file in one of the `FORMATS`."""
    check_choice(kind, "format", FORMATS)
    suffix = Path(path).suffix.lower()
    if suffix in _WORKBOOKS:
        raise ValueError(
            f"path must not end in {suffix}, got {os.fspath(path)!r}: no workbook is "
            "written. Write a .csv, which a spreadsheet opens."
        )
    if kind != _FORMAT_OF.get(suffix, kind):
        raise ValueError(
            f"path and format must fit, got {os.fspath(path)!r} and format={kind!r}: "
            f"pass format={_FORMAT_OF[suffix]!r}, or a path that ends in "
            f"{_ENDING[kind]}."
        )
    if kind == "csv":
        text = StringIO(newline="")
        columns = [*(tasks[0] if tasks else _TASK), "label", "reviewer"]
        writer = csv.DictWriter(text, columns, restval="")
        writer.writeheader()
        for task in tasks:
            writer.writerow({name: _as_cell(value) for name, value in task.items()})
        content = text.getvalue()
    elif kind == "jsonl":
        content = "".join(json.dumps(task) + "\n" for task in tasks)
    else:
        content = json.dumps([{"data": task} for task in tasks], indent=1) + "\n"
    Path(path).write_text(content, encoding="utf-8", newline="")


def write_page(
    tasks: list[dict[str, Any]],
    path: str | os.PathLike[str],
    question: str,
    language: Any,
) -> None:
    """Write tasks as a page for a browser, under a question."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ValueError(
            f"path must end in .html or .htm, got {os.fspath(path)!r}: the page is "
            "HTML. A table of the questions is to_tasks(path)."
        )
    words = _page_texts(language)
    _check_text(words | {"question": question})
    # Texts: a browser would round large integers, and JSON has no infinity.
    texts = [{name: str(value) for name, value in task.items()} for task in tasks]
    # The browser stores answers under this key, for these questions alone.
    digest = sha256(json.dumps(texts).encode()).hexdigest()[:16]
    key = f"skrank_abstain {digest}"
    data = json.dumps(
        {"key": key, "question": str(question), "tasks": texts, "texts": words}
    )
    # Escaped, so that no text ends the script element around it.
    data = data.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"})
    page = _own_file("_page.html")
    style, script = (
        b64encode(sha256(text.encode()).digest()).decode()
        for text in re.findall(
            r"<(?:style|script)>(.*?)</(?:style|script)>", page, re.DOTALL
        )
    )
    policy = (
        f"default-src 'none'; style-src 'sha256-{style}'; "
        f"script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
    )
    page = page.replace("POLICY", policy).replace("NOSCRIPT", escape(words["noscript"]))
    page = page.replace("LANGUAGE", escape(words["language"])).replace("DATA", data)
    Path(path).write_text(page, encoding="utf-8", newline="\n")


def _own_file(name: str) -> str:
    return files("skrank_abstain.review").joinpath(name).read_text("utf-8")


def _page_texts(language: Any) -> dict[str, str]:
    """Return the texts of the page, and the code of their language."""
    known: dict[str, dict[str, str]] = json.loads(_own_file("_page_texts.json"))
    if isinstance(language, str):
        check_choice(language, "language", tuple(known))
        return known[language] | {"language": language}
    if not isinstance(language, Mapping):
        raise TypeError(
            f"language must be one of {listed(known)}, or a mapping of texts, got "
            f"{type(language).__name__}."
        )
    needed = known["en"] | {"language": "en"}
    words = {str(name): text for name, text in language.items()}
    unknown = words.keys() - needed.keys()
    lacking = {name: text for name, text in needed.items() if name not in words}
    if lacking or unknown:
        raise ValueError(
            "language must have all texts of the page and no others, got "
            f"{listed(sorted(unknown))} too many, and lacks these, here in English: "
            f"{lacking}."
        )
    for name, text in needed.items():
        word = words[name]
        if not isinstance(word, str) or _marks(word) != _marks(text):
            raise ValueError(
                "language must have texts with the same {marks} as the English ones, "
                f"got {word!r} for {name!r}, in English {text!r}."
            )
    return words


def _marks(text: str) -> set[str]:
    return {*re.findall(r"{\w+}", text)}


def _check_text(task: Mapping[str, Any]) -> None:
    """Refuse halves of characters, before a file is written: no encoding has them."""
    for name, value in task.items():
        try:
            f"{name}{value}".encode()
        except UnicodeEncodeError as error:
            safe = name.encode(errors="backslashreplace").decode()
            raise ValueError(
                f"{safe} must be text, got {value!r}, and it or its name holds half of "
                "a character (a lone surrogate): mend it where it was read."
            ) from error


def _as_cell(value: Any) -> Any:
    """Return a value that a spreadsheet does not take for a formula."""
    if not isinstance(value, str) or not value.startswith((*_FORMULA, _AS_TEXT)):
        return value
    return value if _SIGNED.fullmatch(value) else _AS_TEXT + value


def _of_cell(value: str) -> str:
    """Return what ``_as_cell`` was given."""
    marked = value.startswith(tuple(_AS_TEXT + sign for sign in (*_FORMULA, _AS_TEXT)))
    return value[1:] if marked else value


def _shown_columns(
    shown: Any, place: IntArray | None, index: Any
) -> dict[str, list[Any]]:
    if shown is None:
        return {}
    names = shown if isinstance(shown, Mapping) else getattr(shown, "columns", None)
    if names is None:
        raise TypeError(
            "shown must be a frame or a mapping of columns, one value per row of X, "
            f"got {type(shown).__name__}."
        )
    columns = {}
    for name in names:
        if str(name).strip().lower() == "id":
            raise ValueError(f"shown must not have a column {name}: tasks have one.")
        column = shown[name]
        values = column.tolist() if hasattr(column, "tolist") else list(column)
        _check_rows_shown(column, len(values), place, index)
        columns[str(name)] = [_plain(value) for value in values]
    return columns


def _check_rows_shown(
    column: Any, n_rows: int, place: IntArray | None, index: Any
) -> None:
    """Refuse a column with other rows than X, or in another order."""
    # Stricter than for the model's input: nobody may see another person's data.
    if index is not None and hasattr(column, "iloc") and not column.index.equals(index):
        raise ValueError(
            "shown must have its rows in the order of X, got another index than X's: "
            f"{n_rows} rows for the {len(index)} of X. Pass "
            "shown=frame.loc[X.index], or shown=frame.set_axis(X.index) where the "
            "positions are right."
        )
    if place is not None and n_rows != place.size:
        raise ValueError(
            f"shown must have one value per row of X: X has {place.size} rows, shown "
            f"has {n_rows}. Pass the rows of X, in its order."
        )


def _plain(value: Any) -> Any:
    """Return a value that every format can hold; an empty text if it is missing."""
    if is_missing(value):
        return ""
    if isinstance(value, float) and isinf(value):
        return str(value)  # JSON has no infinity
    return value if isinstance(value, int | float | str) else str(value)


def read_answers(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    r"""Read the answers to tasks from a file.

    The content decides how the file is read: as tasks of ``Questions.to_tasks`` with
    their ``label`` filled in (CSV or one JSON object per line), as saved by the page of
    ``Questions.to_page``, or as a JSON export of Label Studio. Tables may have commas,
    semicolons or tabs between their columns.

    Parameters
    ----------
    path : str or path-like
        A file in UTF-8, or in UTF-16 with a byte-order mark.

    Returns
    -------
    answers : list of dict
        A table for ``ranker.review(answers=...)``: ``qid``, ``left``, ``right``,
        ``label``, and ``reviewer``, ``time`` and the ``pair_id`` of a task if all rows
        have them; no ``qid`` if no row has one. Tasks that were skipped or have no
        label are left out.

    Raises
    ------
    ValueError
        If the file is empty, in another encoding or damaged, or a task lacks what an
        answer needs.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skrank_abstain.review import read_answers
    >>> table = "qid,left_id,right_id,label\nmonday,Ann,Bo,left\nmonday,Bo,Cy,\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.csv")
    ...     _ = path.write_text(table)
    ...     read_answers(path)
    [{'qid': 'monday', 'left': 'Ann', 'right': 'Bo', 'label': 'left'}]
    """
    text = _text_of(path)
    try:
        rows = [{**row} for row in _rows_of(text)]
    except (
        ValueError,
        csv.Error,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
    ) as e:
        raise ValueError(
            f"{os.fspath(path)!r} must be a CSV or JSON lines file of tasks, a file "
            "saved by a page of questions, or a JSON export of Label Studio; it is "
            f"damaged or something else: {e!r}."
        ) from e
    answers = []
    # The table of one query may leave it out.
    named = any(row.get("qid") not in (None, "") for row in rows)
    for number, row in enumerate(rows):
        if row.get("label") in _NO_ANSWER:
            continue
        sides = {s: row.get(f"{s}_id", row.get(s)) for s in ("left", "right")}
        qid = {"qid": row.get("qid")} if named else {}
        answer = {**qid, **sides, "label": row["label"]}
        lacking = [name for name, value in answer.items() if value in (None, "")]
        if lacking:
            raise ValueError(
                f"{os.fspath(path)!r} must name {lacking[0]} in every answer, got none "
                f"in entry {number}."
            )
        answers.append(answer | _beside_the_label(row))
    unnamed = [k for k, answer in enumerate(answers) if "reviewer" not in answer]
    if 0 < len(unnamed) < len(answers):
        raise ValueError(
            "reviewer must be named in all answers or in none, got none in answer "
            f"{unnamed[0]} and {len(unnamed)} such answers in all."
        )
    for name in ("time", "pair_id"):
        if not all(name in answer for answer in answers):
            for answer in answers:
                answer.pop(name, None)
    return answers


def _beside_the_label(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an answer may have, or not."""
    beside = {}
    for name in ("reviewer", "time", "pair_id"):
        value = row.get(name)
        value = value.strip() if isinstance(value, str) else value
        if value not in (None, "") and (name != "pair_id" or is_pair_id(value)):
            beside[name] = value
    return beside


def _text_of(path: str | os.PathLike[str]) -> str:
    data = Path(path).read_bytes()
    if data.startswith(b"PK\x03\x04"):
        raise ValueError(
            f"{os.fspath(path)!r} must be a text file, got a workbook or another "
            "archive: save the table as CSV UTF-8 and read that."
        )
    utf16 = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    encoding = "utf-16" if utf16 else "utf-8-sig"
    try:
        text = data.decode(encoding)
        good = text.partition("\0")[0]  # UTF-16 without its mark is full of zeros
    except UnicodeDecodeError as e:
        text, good = "\0", e.object[: e.start].decode(encoding, "ignore")
    # Raised outside the handler, since the error holds the file: no data in logs.
    if "\0" in text:
        line = good.count("\n") + 1
        raise ValueError(
            f"{os.fspath(path)!r} must be in UTF-8, got something else in line {line}: "
            "save it as UTF-8, in a spreadsheet as CSV UTF-8."
        )
    if not text.strip():
        raise ValueError(f"{os.fspath(path)!r} must hold answers, got an empty file.")
    return text


def _rows_of(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the tasks with their answers."""
    start = text.lstrip()[:1]
    if start == "[":
        for task in json.loads(text):
            # Label Studio's short export also has labels, but names an annotator.
            if "label" in task and "annotator" not in task:
                yield task
            else:
                yield from _annotations(task)
    elif start == "{":
        # Other ends of lines, as U+2028, may stand inside a text.
        for line in text.split("\n"):
            if line.strip():
                yield json.loads(line)
    else:
        yield from _rows_of_table(text)


def _rows_of_table(text: str) -> Iterator[Mapping[str, Any]]:
    for delimiter in ",;\t":
        header = next(csv.reader(StringIO(text, newline=""), delimiter=delimiter))
        names = [name.strip().lower() for name in header]
        if "label" in names:
            break
    else:
        raise csv.Error("no column is called label")
    twice = [name for name in _READ if names.count(name) > 1]
    if twice:
        raise csv.Error(f"two columns are called {twice[0]}")
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    for row in islice(reader, 1, None):
        if len(row) not in (0, len(names)):
            raise csv.Error(f"line {reader.line_num} has another length")
        if row:
            cells = map(_of_cell, row) if "pair_id" in names else row
            yield dict(zip(names, cells, strict=True))


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
