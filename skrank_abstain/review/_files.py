"""Questions as files for people and tools, and the answers that come back."""

from __future__ import annotations

import csv
import json
import os
import re
from base64 import b64encode
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib.resources import files
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skrank_abstain._validation import check_choice

if TYPE_CHECKING:
    from skrank_abstain.review._questions import Questions

FORMATS = ("csv", "jsonl", "label_studio")
#: What a task says; the items by their names, or by the rows of X.
_TASK = ("pair_id", "qid", "left_id", "right_id")
#: What is read of a table.
_READ = (*_TASK, "left", "right", "label", "reviewer", "time")
_NO_ANSWER = ("", "skip", None)


def write_tasks(
    questions: Questions, path: str | os.PathLike[str], kind: str, shown: Any
) -> None:
    """Write questions to a file; parameters as in ``Questions.to_tasks``."""
    check_choice(kind, "format", FORMATS)
    tasks = list(_tasks(questions, shown))
    if kind == "csv":
        text = StringIO(newline="")
        columns = [*(tasks[0] if tasks else _TASK), "label", "reviewer"]
        writer = csv.DictWriter(text, columns, restval="")
        writer.writeheader()
        writer.writerows(tasks)
        content = text.getvalue()
    elif kind == "jsonl":
        content = "".join(json.dumps(task) + "\n" for task in tasks)
    else:
        content = json.dumps([{"data": task} for task in tasks], indent=1) + "\n"
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        file.write(content)


def write_page(
    questions: Questions, path: str | os.PathLike[str], shown: Any, question: str
) -> None:
    """Write questions as a page; parameters as in ``Questions.to_page``."""
    # Texts: a browser would round large integers, and JSON has no infinity.
    tasks = [
        {name: str(value) for name, value in task.items()}
        for task in _tasks(questions, shown)
    ]
    # What a browser keeps belongs to these questions alone.
    key = sha256(json.dumps(tasks).encode()).hexdigest()[:16]
    key = f"skrank_abstain {key}"
    data = json.dumps({"key": key, "question": str(question), "tasks": tasks})
    # Nothing in it ends the element that it stands in.
    data = data.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"})
    page = files("skrank_abstain.review").joinpath("_page.html").read_text("utf-8")
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
    page = page.replace("POLICY", policy).replace("DATA", data)
    Path(path).write_text(page, encoding="utf-8", newline="\n")


def _tasks(questions: Questions, shown: Any) -> Iterator[dict[str, Any]]:
    """Yield the tasks in the order of the questions; no task says what is expected."""
    columns = _shown_columns(shown, questions)
    for pair in questions.to_dicts():
        sides = [
            (str(pair.get(f"{side}_id", pair[side])), pair[side])
            for side in ("left", "right")
        ]
        # Not by what the model expects, nor by the order of the rows: people
        # who answer many questions favour a side.
        named = json.dumps([str(pair["qid"]), *sorted(name for name, _ in sides)])
        digest = sha256(named.encode()).hexdigest()
        sides.sort()
        if int(digest[-1], 16) % 2:
            sides.reverse()
        (left, at), (right, other) = sides
        qid = str(pair["qid"])
        task = dict(zip(_TASK, (digest[:16], qid, left, right), strict=True))
        for name, column in columns.items():
            task[f"left_{name}"], task[f"right_{name}"] = column[at], column[other]
        yield task


def _shown_columns(shown: Any, questions: Questions) -> dict[str, list[Any]]:
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
        _check_rows_shown(column, len(values), questions)
        columns[str(name)] = [_plain(value) for value in values]
    return columns


def _check_rows_shown(column: Any, n_rows: int, questions: Questions) -> None:
    """Refuse what is shown of other rows than those of X, or in another order."""
    index, place = questions.index, questions.place
    # Stricter than for what a model sees: nobody may be shown another one's data.
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
    """Return what every format has for a value; nothing for a missing one."""
    if value is None or value != value:
        return ""
    return value if isinstance(value, int | float | str) else str(value)


def read_answers(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    r"""Read the answers to tasks from a file.

    What the file is, its content says: tasks as ``Questions.to_tasks`` writes them with
    their ``label`` filled in, as CSV or as one JSON object per line, what the page of
    ``Questions.to_page`` saves, or an export (JSON) of Label Studio. Tables may have
    commas, semicolons or tabs between their columns, as spreadsheets write them.

    Parameters
    ----------
    path : str or path-like
        In UTF-8, or in UTF-16 with a byte-order mark.

    Returns
    -------
    answers : list of dict
        ``qid``, ``left``, ``right``, ``label``, and ``reviewer`` and ``time`` where all
        rows have them: a table for ``ranker.review(answers=...)``. Tasks without a
        label, or skipped, are no answers.

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
    except (ValueError, csv.Error, TypeError, KeyError, AttributeError) as e:
        raise ValueError(
            f"{os.fspath(path)!r} must be a CSV or JSON lines file of tasks, what a "
            "page saved, or a JSON export of Label Studio; it is damaged or something "
            f"else: {e!r}."
        ) from e
    answers = []
    for number, row in enumerate(rows):
        if row.get("label") in _NO_ANSWER:
            continue
        answer = {"qid": row.get("qid")}
        for side in ("left", "right"):
            answer[side] = row.get(f"{side}_id", row.get(side))
        answer["label"] = row["label"]
        lacking = [name for name, value in answer.items() if value in (None, "")]
        if lacking:
            raise ValueError(
                f"{os.fspath(path)!r} must say {lacking[0]} in every answer, got none "
                f"in entry {number}."
            )
        answers.append(answer | _extras(row))
    return _with_common_extras(answers)


def _text_of(path: str | os.PathLike[str]) -> str:
    data = Path(path).read_bytes()
    utf16 = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    encoding = "utf-16" if utf16 else "utf-8-sig"
    try:
        text = data.decode(encoding)
        good = text.partition("\0")[0]  # which UTF-16 without its mark is full of
    except UnicodeDecodeError as e:
        text, good = "\0", e.object[: e.start].decode(encoding, "ignore")
    # Not while that error is handled: it holds the file, which belongs in no log.
    if "\0" in text:
        line = good.count("\n") + 1
        raise ValueError(
            f"{os.fspath(path)!r} must be in UTF-8, got something else in line {line}: "
            "save it as UTF-8, in a spreadsheet as CSV UTF-8."
        )
    if not text.strip():
        raise ValueError(f"{os.fspath(path)!r} must hold answers, got an empty file.")
    return text


def _extras(row: Mapping[str, Any]) -> dict[str, Any]:
    extras = {name: row.get(name) for name in ("reviewer", "time")}
    return {
        name: value.strip() if isinstance(value, str) else value
        for name, value in extras.items()
        if value is not None and str(value).strip()
    }


def _with_common_extras(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop a time that some lack; a reviewer that some lack is refused."""
    named = [answer for answer in answers if "reviewer" in answer]
    if named and len(named) < len(answers):
        number = next(k for k, answer in enumerate(answers) if "reviewer" not in answer)
        raise ValueError(
            "reviewer must be named in all answers or in none, got none in answer "
            f"{number} and {len(answers) - len(named)} such answers in all."
        )
    if not all("time" in answer for answer in answers):
        answers = [
            {name: value for name, value in answer.items() if name != "time"}
            for answer in answers
        ]
    return answers


def _rows_of(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield what was said about each task."""
    start = text.lstrip()[:1]
    if start == "[":
        for task in json.loads(text):
            # Label Studio's short export has labels, too, and another word for who.
            if "label" in task and "annotator" not in task:
                yield task
            else:
                yield from _annotations(task)
    elif start == "{":
        for line in text.splitlines():
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
            yield dict(zip(names, row, strict=True))


def _annotations(task: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the answers of all annotators to one task of Label Studio."""
    for annotation in task["annotations"]:
        if annotation.get("was_cancelled"):
            continue
        for result in annotation["result"]:
            (choice,) = result["value"]["choices"]
            who = annotation.get("completed_by")
            who = who.get("email", who.get("id")) if isinstance(who, Mapping) else who
            yield {
                **task["data"],
                "label": choice,
                "reviewer": None if who is None else str(who),
                "time": annotation.get("updated_at", annotation.get("created_at")),
            }
