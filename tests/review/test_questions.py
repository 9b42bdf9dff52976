"""Questions as files, and the answers that come back."""

import csv
import json
import pickle
import re
import sys
from io import BytesIO
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.review import _answers, _questions, read_answers

DATA = make_ranking(n_queries=40, random_state=0)
RANKER = BALToR(
    FirstColumn().fit(None, None), tie_model="graded_relevance", random_state=0
).fit(DATA.utility[:, None], DATA.target, qid=DATA.qid)
X = np.random.default_rng(0).normal(size=(24, 1))
DAY = np.repeat(["mon", "tue"], 12)
ID = [f'<b>{k % 12}</b>, "{k}"\n' for k in range(24)]
ASKED = RANKER.review(X, qid=DAY, item_id=ID).ask(8)
WORDS = ["left", "same", "right"]


def tasks_of(path, kind):
    if kind == "csv":
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    if kind == "jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    return [task["data"] for task in json.loads(path.read_text())]


def fill_in(path, kind, tasks, labels):
    """Write what a person, or a tool, makes of the tasks."""
    filled = [
        {**task, "label": label, "reviewer": "Ann"}
        for task, label in zip(tasks, labels, strict=True)
    ]
    if kind == "csv":
        pd.DataFrame(filled).to_csv(path, index=False)
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, filled)))
    else:
        path.write_text(json.dumps([annotated(**task) for task in filled]))


def annotated(label, reviewer, **data):
    said = {"from_name": "label", "type": "choices", "value": {"choices": [label]}}
    annotation = {
        "completed_by": {"id": 3, "email": reviewer},
        "was_cancelled": not label,
        "updated_at": "2026-11-01T10:00:00Z",
        "result": [said] if label else [],
    }
    return {"id": 7, "data": data, "annotations": [annotation]}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "label_studio"])
def test_what_is_asked_comes_back(kind, tmp_path):
    path = tmp_path / "tasks"
    ASKED.to_tasks(path, format=kind)
    tasks = tasks_of(path, kind)
    asked = {
        (pair.qid, frozenset((pair.left_id, pair.right_id))): k
        for k, pair in enumerate(ASKED)
    }
    found = [asked[t["qid"], frozenset((t["left_id"], t["right_id"]))] for t in tasks]
    assert found == list(range(8))
    assert len({task["pair_id"] for task in tasks}) == 8
    labels = [*WORDS, "", *WORDS, "left"]
    fill_in(path, kind, tasks, labels)
    answers = read_answers(path)
    expected = [
        {"qid": t["qid"], "left": t["left_id"], "right": t["right_id"], "label": label}
        for t, label in zip(tasks, labels, strict=True)
        if label
    ]
    assert [{k: a[k] for k in expected[0]} for a in answers] == expected
    assert {answer["reviewer"] for answer in answers} == {"Ann"}
    review = RANKER.review(X, qid=DAY, item_id=ID, answers=answers)
    assert len(review.answers) == 7


def test_row_positions_come_back(tmp_path):
    asked = RANKER.review(X, qid=DAY).ask(3)
    asked.to_tasks(tmp_path / "tasks.csv")
    tasks = tasks_of(tmp_path / "tasks.csv", "csv")
    fill_in(tmp_path / "tasks.csv", "csv", tasks, WORDS)
    answers = read_answers(tmp_path / "tasks.csv")
    assert len(RANKER.review(X, qid=DAY, answers=answers).answers) == 3


def test_sides_are_drawn_and_nothing_is_said_of_what_is_expected(tmp_path):
    every = RANKER.review(X, qid=DAY, item_id=ID).ask(60)
    every.to_tasks(tmp_path / "tasks", format="jsonl")
    tasks = tasks_of(tmp_path / "tasks", "jsonl")
    assert set(tasks[0]) == {"pair_id", "qid", "left_id", "right_id"}
    swapped = [
        task["left_id"] != pair.left_id for task, pair in zip(tasks, every, strict=True)
    ]
    assert len(every) > 20
    assert len(every) / 4 < sum(swapped) < 3 * len(every) / 4
    # The same pair has the same sides, whatever was asked with it.
    ASKED.to_tasks(tmp_path / "some", format="jsonl")
    first = {task["pair_id"]: task for task in tasks}
    some = tasks_of(tmp_path / "some", "jsonl")
    assert all(first.get(task["pair_id"], task) == task for task in some)


def test_chosen_columns_are_shown(tmp_path):
    frame = pd.DataFrame({"age": np.arange(24), "note": ["a", None] * 12})
    ASKED.to_tasks(tmp_path / "tasks", format="label_studio", shown=frame)
    for task in tasks_of(tmp_path / "tasks", "label_studio"):
        row = ID.index(task["left_id"])
        assert task["left_age"] == row
        assert task["left_note"] == ("a" if row % 2 == 0 else "")
        assert ID[task["right_age"]] == task["right_id"]


def test_what_is_shown_has_the_rows_of_the_items(tmp_path):
    ward = pd.DataFrame({"age": np.arange(90)}, index=[f"MRN {k}" for k in range(90)])
    rows = ward.index[30:54]
    frame = pd.DataFrame(X, index=rows)
    asked = RANKER.review(frame, qid=DAY, item_id=rows).ask(8).take(slice(2, 6))
    today = ward.loc[rows]
    others = [today[::-1], ward, ward[:24], today.reset_index(), {"a": ward["age"]}]
    for shown in others:
        with pytest.raises(ValueError, match=r"of X.*frame.loc\[X.index"):
            asked.to_tasks(tmp_path / "tasks", shown=shown)
    for shown in (today, {"age": today["age"]}, today.to_dict("list"), ward[30:54]):
        asked.to_tasks(tmp_path / "tasks", shown=shown)
        for task in tasks_of(tmp_path / "tasks", "csv"):
            assert f"MRN {task['left_age']}" == task["left_id"]
    short = {"age": np.arange(23)}
    for questions, shown in ((asked, short), (ASKED, short), (ASKED, ward)):
        for write in (questions.to_tasks, questions.to_page):
            with pytest.raises(ValueError, match="X has 24 rows, shown has"):
                write(tmp_path / "file.html", shown=shown)
    ASKED.to_tasks(tmp_path / "tasks", shown=today)  # X has no index


def written_tasks(path, shown, questions=ASKED):
    questions.to_tasks(path, format="jsonl", shown=shown)
    return tasks_of(path, "jsonl")


def text_of(item, number):
    return f"text {number} of {item}"


def tables_of_questions(tmp_path):
    """Yield the tables that a person may have of the questions, by what they are."""

    def texts(items):
        return [text_of(item, k) for k, item in enumerate(items)]

    left, right = texts(ASKED.left_id), texts(ASKED.right_id)
    frame = ASKED.to_frame().assign(left_text=left, right_text=right)
    yield "frame", frame
    turned = {"left_id": "right_id", "right_id": "left_id"}
    turned |= {"left_text": "right_text", "right_text": "left_text"}
    yield "turned", frame.drop(columns=["left", "right"]).rename(columns=turned)
    sides = zip(ASKED.left_id, ASKED.right_id, left, right, strict=True)
    names = ("left_id", "right_id", "left", "right")
    rows = [dict(zip(names, row, strict=True)) for row in sides]
    yield "rows", [{"pair_id": k} | row for k, row in enumerate(rows)]
    ASKED.to_tasks(tmp_path / "file.csv")
    tasks = pd.read_csv(tmp_path / "file.csv")
    left, right = texts(tasks["left_id"]), texts(tasks["right_id"])
    yield "tasks", tasks.assign(left_text=left, right_text=right)
    yield "ids", {"pair_id": tasks["pair_id"], "left": left, "right": right}


@pytest.mark.parametrize("kind", ["frame", "turned", "rows", "tasks", "ids"])
def test_texts_of_questions_stay_with_their_items(kind, tmp_path):
    table = dict(tables_of_questions(tmp_path))[kind]
    tasks = written_tasks(tmp_path / "tasks", table)
    pairs = [{pair.left_id, pair.right_id} for pair in ASKED]
    assert [{task["left_id"], task["right_id"]} for task in tasks] == pairs
    for number, task in enumerate(tasks):
        assert task == {
            "pair_id": number if kind == "rows" else "",
            "qid": ASKED.qid[number],
            "left_id": task["left_id"],
            "right_id": task["right_id"],
            "left_text": text_of(task["left_id"], number),
            "right_text": text_of(task["right_id"], number),
        }


@pytest.mark.parametrize("own", [{}, {"pair_id": range(8)}, {"left_id": ID[:8]}])
def test_texts_that_are_matched_by_position_are_refused(own, tmp_path):
    table = {"left": ["a"] * 8, "right": ["b"] * 8} | own
    for write in (ASKED.to_tasks, ASKED.to_page):
        with pytest.raises(ValueError, match=r"start from questions.to_frame\(\)|side"):
            write(tmp_path / "page.html", shown=table)
    assert not list(tmp_path.iterdir())


NAMED = {"left_id": ASKED.left_id, "right_id": ASKED.right_id}


def test_more_may_be_shown_of_a_question(tmp_path):
    numbers = np.arange(8)
    table = NAMED | {"left": numbers, "right": -numbers, "prompt": numbers * 10}
    table |= {"left_note": numbers, "right_note": -numbers, "label": numbers}
    table |= {"value": numbers, " Reviewer": numbers, "left_over": [None] * 8}
    with pytest.raises(
        ValueError, match=r"for both sides, .* one side \['left_over'\]"
    ):
        ASKED.to_tasks(tmp_path / "tasks", shown=table)
    del table["left_over"]
    for number, task in enumerate(written_tasks(tmp_path / "tasks", table)):
        sign = 1 if task["left_id"] == ASKED.left_id[number] else -1
        assert {name: task[name] for name in [*task][4:]} == {
            "left_text": sign * number,
            "right_text": -sign * number,
            "prompt": number * 10,
            "left_note": sign * number,
            "right_note": -sign * number,
        }


@pytest.mark.parametrize("kind", ["turned", "tasks", "ids"])
def test_texts_of_other_questions_are_refused(kind, tmp_path):
    table = pd.DataFrame(dict(tables_of_questions(tmp_path))[kind])
    with pytest.raises(ValueError, match="rows in the order of the questions, got one"):
        ASKED.to_tasks(tmp_path / "tasks", shown=table[::-1])
    with pytest.raises(ValueError, match="got 7 rows for 8 questions"):
        ASKED.to_tasks(tmp_path / "tasks", shown=table[:7])


def test_sides_are_drawn_for_each_text(tmp_path):
    often = ASKED.take(np.zeros(200, dtype=np.int64))
    table = {"left_id": often.left_id, "right_id": often.right_id}
    table |= {"left": [f"a {k // 2}" for k in range(200)], "right": ["b"] * 200}
    tasks = written_tasks(tmp_path / "tasks", table, often)
    first = [task["left_id"] == ASKED.left_id[0] for task in tasks]
    assert first[::2] == first[1::2]  # of equal texts
    assert 25 < sum(first[::2]) < 75
    assert first == [task["left_text"] != "b" for task in tasks]


@pytest.mark.parametrize("of", [["left_", "right_"], ["right_", "left_"]])
def test_columns_of_the_left_item_stand_on_the_left(of, tmp_path):
    names = [f"{side}{what}" for what in ("text", "image") for side in of]
    for k in range(8):  # whichever way the first question is turned
        some = ASKED.take([k])
        table = {"left_id": some.left_id, "prompt": ["?"], "right_id": some.right_id}
        table |= {name: [name] for name in names}
        (task,) = written_tasks(tmp_path / "tasks", table, some)
        shown = ["prompt", "left_text", "right_text", "left_image", "right_image"]
        assert list(task)[4:9] == shown


def test_answers_to_texts_come_back(tmp_path):
    path = tmp_path / "tasks.csv"
    table = dict(tables_of_questions(tmp_path))["rows"]
    ASKED.to_tasks(path, shown=table)
    tasks, labels = tasks_of(path, "csv"), (WORDS * 3)[:8]
    fill_in(path, "csv", tasks, labels)
    answers = read_answers(path)
    assert answers == [
        {"qid": t["qid"], "left": t["left_id"], "right": t["right_id"]}
        | {"label": label, "reviewer": "Ann", "pair_id": t["pair_id"]}
        for t, label in zip(tasks, labels, strict=True)
    ]
    assert len(RANKER.review(X, qid=DAY, item_id=ID, answers=answers).answers) == 8


@pytest.mark.parametrize("index", [slice(1, 5), np.arange(1, 5), np.arange(8) % 7 > 0])
def test_questions_are_divided_between_people(index, tmp_path):
    some = ASKED.take(index)
    shown = {"row": np.arange(24)}
    for number, (questions, where) in enumerate([(ASKED, slice(None)), (some, index)]):
        path = tmp_path / f"tasks {number}"
        questions.to_tasks(path, shown=shown)
        np.testing.assert_array_equal(questions.value, ASKED.value[where])
        tasks = tasks_of(path, "csv")
        if not number:
            every = tasks
    assert tasks == np.array(every)[index].tolist()


def test_no_questions(tmp_path):
    for kind in ("csv", "jsonl", "label_studio"):
        ASKED.take(np.arange(0)).to_tasks(tmp_path / kind, format=kind)
        assert tasks_of(tmp_path / kind, kind) == []


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"format": "excel"}, ValueError, "format must be one of"),
        ({"shown": 1}, TypeError, "shown must be a frame"),
        ({"shown": {"id": ID}}, ValueError, "must not have a column id"),
        ({"shown": {"ID": ID}}, ValueError, "must not have a column ID"),
    ],
)
def test_tasks_that_cannot_be_written(options, error, match, tmp_path):
    with pytest.raises(error, match=match):
        ASKED.to_tasks(tmp_path / "tasks", **options)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_tables_of_spreadsheets_are_read(delimiter, encoding, tmp_path):
    path = tmp_path / "answers.csv"
    frame = pd.DataFrame(
        {
            " QID": ["mon", "mon"],
            "Left_ID ": ["Jürgen; the elder", 'a "b", c\td'],
            "right_id": ["two\nlines", "1,5"],
            "left_label, years": ["x", ""],
            "LABEL": ["left", "same"],
            "Reviewer": [" Ann", "Ann "],
        }
    )
    frame.to_csv(path, sep=delimiter, index=False, encoding=encoding)
    assert read_answers(path) == [
        {"qid": "mon", "left": left, "right": right, "label": label, "reviewer": "Ann"}
        for left, right, label in zip(
            *(frame[name] for name in ("Left_ID ", "right_id", "LABEL")), strict=True
        )
    ]
    path.write_text(path.read_text(encoding).replace("\n", "\r\n"), encoding)
    assert [answer["label"] for answer in read_answers(path)] == ["left", "same"]


def test_an_answer_in_another_column_is_not_lost(tmp_path):
    path = tmp_path / "answers.csv"
    head = "qid,left_id,right_id,left_side,label,answer\n"
    path.write_text(f"{head}mon,a,b,left,left,\nmon,b,c,left,,right\n")
    with pytest.raises(ValueError, match="got 'right' in 'answer' of row 3:"):
        read_answers(path)
    path.write_text(f"{head}mon,a,b,left,left,\nmon,left,c,left,,\n")
    assert len(read_answers(path)) == 1


def test_answers_of_two_people_are_added(tmp_path):
    answers = []
    for name, half in zip(("Ann", "Bo"), (slice(4), slice(4, 8)), strict=True):
        path = tmp_path / name
        ASKED.take(half).to_tasks(path, format="jsonl")
        tasks = tasks_of(path, "jsonl")
        fill_in(path, "jsonl", tasks, ["left", "left", "same", "right"])
        answers = answers + read_answers(path)
    assert len(RANKER.review(X, qid=DAY, item_id=ID, answers=answers).answers) == 8


def test_a_file_without_times_leaves_those_of_another(tmp_path):
    head = "qid,left_id,right_id,label,reviewer"
    rows = "mon,a,b,left,Ann,1\nmon,a,b,right,Ann,2\n"
    (tmp_path / "A.csv").write_text(f"{head},time\n{rows}")
    (tmp_path / "B.csv").write_text(f"{head}\nmon,b,c,left,Bo\n")
    answers = read_answers(tmp_path / "A.csv", tmp_path / "B.csv")
    assert [answer.get("time") for answer in answers] == ["1", "2", None]
    names = np.array([*"abc", *map(str, range(9))])
    taken = RANKER.review(X[:12], qid="mon", item_id=names, answers=answers).answers
    assert taken.row.tolist() == [1, 2]  # she corrected row 0


def test_the_files_of_two_people_are_read_in_one_call(tmp_path):
    said = "qid,left_id,right_id,label,reviewer,time\nmon,a,b,left,Ann,1\n"
    (tmp_path / "round 1.csv").write_text(said)
    (tmp_path / "round 2.csv").write_text(said.replace("left,", "right,"))
    files = sorted(tmp_path.glob("*.csv"))
    both = read_answers(files[0]) + read_answers(files[1])
    assert (
        read_answers(*files) == read_answers(files) == read_answers(iter(files)) == both
    )
    # A nurse who gave no name is called as the file; others keep their times.
    blank = tmp_path / "Bo.csv"
    blank.write_text("qid,left_id,right_id,label,reviewer\nmon,a,b,same,\n")
    ann = {"qid": "mon", "left": "a", "right": "b", "label": "left", "reviewer": "Ann"}
    found = read_answers(files[0], blank)
    bo = ann | {"label": "same", "reviewer": "Bo"}
    assert found == [ann | {"time": "1"}, bo]
    assert read_answers(blank) == [bo]
    other = tmp_path / "tuesday"
    other.mkdir()
    (other / "Bo.csv").write_text(blank.read_text())
    with pytest.raises(ValueError, match=r"tell reviewers apart, got .*tuesday"):
        read_answers(blank, other / "Bo.csv")
    # A second download is a version of the first, not another nurse's.
    again = tmp_path / "Bo (1).csv"
    again.write_text(blank.read_text())
    assert read_answers(again) == [bo]
    with pytest.raises(
        ValueError, match=r"got .*Bo\.csv' and .*Bo \(1\)\.csv' .* later ve"
    ):
        read_answers(blank, again)
    # The same file twice, with or without a name in it.
    again.write_text(blank.read_text().replace("same,", "same,Bo"))
    kept = tmp_path / "kept.csv"
    kept.write_text(again.read_text())
    for one, other in [(blank, blank), (again, again), (again, kept)]:
        with pytest.raises(ValueError, match="without names, or with the same answers"):
            read_answers(one, other)
    with pytest.raises(ValueError, match="name at least one file"):
        read_answers(tmp_path.glob("*.xlsx"))


def test_a_workbook_comes_back(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "tasks.xlsx"
    BY_NUMBER.to_tasks(path, shown={"age": range(24), "note": ["=1+1"] * 24})
    BY_NUMBER.to_tasks(tmp_path / "tasks.csv", shown={"age": range(24)})
    book = openpyxl.load_workbook(path)
    sheet = book.active
    names, *rows = sheet.iter_rows()
    names = [cell.value for cell in names]
    written = [
        {n: cell.value for n, cell in zip(names, row, strict=True)} for row in rows
    ]
    for row, task in zip(written, tasks_of(tmp_path / "tasks.csv", "csv"), strict=True):
        assert {n: str(row[n]) for n in ("qid", "left_id", "left_age")} == {
            n: task[n] for n in ("qid", "left_id", "left_age")
        }
        assert row["left_note"] == "'=1+1"
    # The cells offer the words that are understood.
    (choice,) = sheet.data_validations.dataValidation
    cells = [row[names.index("label")].coordinate for row in rows]
    assert str(choice.sqref) == f"{cells[0]}:{cells[-1]}"
    assert choice.formula1 == '"left,same,right"'
    assert choice.showDropDown is not True  # which would hide the arrow
    for k, row in enumerate(rows):
        row[names.index("label")].value = [*WORDS, None, *WORDS][k]
    book.create_sheet("notes").append(["label"])
    book.active = 1
    book.save(path)
    answers = read_answers(path)
    labels = [label for label in [*WORDS, None, *WORDS][:6] if label]
    assert [answer["label"] for answer in answers] == labels
    book["notes"].append(["left"])
    book.save(path)
    with pytest.raises(ValueError, match=r"answers on one sheet, got .*notes"):
        read_answers(path)
    review = RANKER.review(X, qid=DAY, item_id=NAMES, answers=answers)
    assert len(review.answers) == 5


def test_a_workbook_of_dates_and_numbers_is_read_as_text(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    day = pd.Timestamp("2026-11-25")
    book.active.append(["qid", "left", "right", "label"])
    book.active.append([day.to_pydatetime(), 1, 2.0, "left"])
    book.save(tmp_path / "answers.xlsx")
    answers = read_answers(tmp_path / "answers.xlsx")
    days = np.array(["2026-11-25", "2026-11-26"], dtype="datetime64[ns]").repeat(12)
    assert len(RANKER.review(X, qid=days, answers=answers).answers) == 1
    whole = (tmp_path / "answers.xlsx").read_bytes()
    other = BytesIO()
    with ZipFile(other, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis")
    for data in (whole[:-100], b"PK\x03\x04", other.getvalue()):
        (tmp_path / "answers.xlsx").write_bytes(data)
        with pytest.raises(ValueError, match="got another encoding or kind"):
            read_answers(tmp_path / "answers.xlsx")


def test_without_openpyxl_a_workbook_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    path = tmp_path / "tasks.xlsx"
    with pytest.raises(ImportError, match=r"tasks.xlsx' requires openpyxl; install op"):
        ASKED.to_tasks(path)
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(ImportError, match=r"or use a \.csv, which needs no"):
        read_answers(path)


def test_a_workbook_keeps_days_and_names_as_they_are_written(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book, path = openpyxl.Workbook(), tmp_path / "ann.xlsx"
    day = "2026-11-25"
    rows = [["qid", "left", "right", "label"], [day, "007", "1950-01-10", "left"]]
    for row in rows:
        book.active.append(row)
    book.save(path)
    (answer,) = read_answers(path)
    assert [answer[name] for name in rows[0]] == rows[1]


def test_a_file_without_answers_is_told(tmp_path):
    path = tmp_path / "tasks.csv"
    ASKED.to_tasks(path)
    with pytest.warns(UserWarning, match=r"tasks\.csv' holds no answers"):
        assert read_answers(path) == []


def test_tasks_say_the_day(tmp_path):
    days = pd.Series(["2026-11-25", "2026-11-26"]).repeat(12).astype("datetime64[ns]")
    asked = RANKER.review(X, qid=days.to_numpy()).ask(4)
    found = written_tasks(tmp_path / "tasks", None, asked)
    assert {task["qid"] for task in found} <= {"2026-11-25", "2026-11-26"}
    answers = [task | {"label": "left"} for task in found]
    back = RANKER.review(X, qid=days.to_numpy(), answers=answers).answers
    assert len(back) == 4
    one = written_tasks(tmp_path / "tasks", None, RANKER.review(X[:12]).ask(2))
    assert [task["qid"] for task in one] == ["", ""]
    answers = [task | {"label": "left"} for task in one]
    with pytest.warns(UserWarning, match=r"name no query: .* as those of beds do"):
        assert len(RANKER.review(X[:12], answers=answers).answers) == 2


def test_what_is_shown_of_named_items_stands_in_their_order(tmp_path):
    pd = pytest.importorskip("pandas")
    names = [f"p{k}" for k in range(12)]
    asked = RANKER.review(X[:12], item_id=names).ask(3)
    shown = pd.DataFrame({"row": range(12)}, index=names)
    for right in (shown, shown.reset_index(drop=True)):
        for task in written_tasks(tmp_path / "tasks", right, asked):
            assert task["left_id"] == f"p{task['left_row']}"
    with pytest.raises(ValueError, match=r"another index .* pass frame\.loc"):
        written_tasks(tmp_path / "tasks", shown[::-1], asked)


@pytest.mark.parametrize(
    ("encoding", "bad"),
    [
        ("latin-1", "ü".encode("latin-1")),
        ("utf-8-sig", b"\xfc"),
        ("utf-16", b"\x00\xdc\n\x00"),  # half a character
        ("utf-16-le", b""),  # without its mark
        ("utf-8", b"PK\x03\x04\x14\x00"),  # a workbook
    ],
)
def test_other_encodings_are_refused_without_a_word_of_the_file(
    encoding, bad, tmp_path
):
    path = tmp_path / "answers.csv"
    text = "qid,left_id,right_id,label\nmon,secret,b,left\n"
    path.write_bytes(text.encode(encoding) + bad)
    with pytest.raises(ValueError, match=r"in UTF-8, .* as CSV UTF-8") as caught:
        read_answers(path)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "must hold answers, got an empty file"),
        (" \n\n", "must hold answers, got an empty file"),
        ("qid,left,right,label,Label \n1,a,b,left,left\n", "two columns are called"),
        (
            "day;patient;other, or none;better\nmon;a;b;a\n",
            r"columns left_id, right_id, label, and qid if there are several queries, "
            r"got \['day', 'patient', 'other, or none', 'better'\]",
        ),
        ("patient,other,label\na,b,left\n", r"name left .* with \['patient', 'other',"),
        ("qid,left_id,right_id,label\nmon,a\n", "damaged or something else"),
        ('qid,left_id,right_id,label\nmon,"a', "damaged or something else"),
        ('{"qid": 1, ', "damaged or something else"),
        ('[{"data": {}}]', "damaged or something else"),
        ("[1]", "damaged or something else"),
        ("[", "damaged or something else"),
        ("qid,left_id,right_id,label\nmon,,b,left\n", "must name left .* in row 2 "),
        ('{"qid": 1, "left_id": 2, "label": "left"}', "must name right .* in entry 0"),
    ],
)
def test_a_damaged_file_is_refused(text, match, tmp_path):
    path = tmp_path / "answers"
    path.write_text(text)
    with pytest.raises(ValueError, match=match):
        read_answers(path)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (None, ["sheet", "sheet", "sheet"]),
        (["", " ", ""], ["sheet", "sheet", "sheet"]),
        (["", "Ann", ""], ["Ann", "Ann", "Ann"]),  # who wrote the name once
        (["Bo", "Ann", ""], ["Bo", "Ann", "sheet"]),
    ],
)
def test_who_is_not_named_is_called_as_the_file(column, expected, tmp_path):
    path = tmp_path / "sheet.csv"
    frame = pd.DataFrame({"qid": "mon", "left": list("abc"), "right": list("bcd")})
    frame["label"] = ["left", " Same ", "RIGHT"]
    if column:
        frame["reviewer"] = column
    frame.to_csv(path, index=False)
    other = tmp_path / "Cy.csv"
    other.write_text("qid,left,right,label\nmon,a,c,left\nmon,a,d, \n")
    for files, more in (([path], []), ([path, other], ["Cy"])):
        answers = read_answers(files)
        assert [answer["reviewer"] for answer in answers] == expected + more
        names = np.array([*"abcd", *map(str, range(8))])
        review = RANKER.review(X[:12], qid="mon", item_id=names, answers=answers)
        assert sorted(review.reviewer_error_) == sorted({*expected, *more})
        assert len(review.answers) == len(answers)


def test_two_choices_are_damage(tmp_path):
    task = annotated("left", "Ann", qid="mon", left_id="a", right_id="b")
    task["annotations"][0]["result"][0]["value"]["choices"] = ["left", "right"]
    (tmp_path / "export").write_text(json.dumps([task]))
    with pytest.raises(ValueError, match="damaged"):
        read_answers(tmp_path / "export")


def test_what_json_cannot_hold_is_shown_as_text(tmp_path):
    values = np.resize(np.array([np.inf, pd.NA, -np.inf], dtype=object), len(X))
    path = tmp_path / "tasks.jsonl"
    ASKED.to_tasks(path, format="jsonl", shown={"dose": values})
    text = path.read_text()
    assert "Infinity" not in text
    assert {json.loads(line)["left_dose"] for line in text.splitlines()} <= {
        "inf",
        "-inf",
        "",
    }


def test_other_ends_of_lines_may_stand_in_a_text(tmp_path):
    path = tmp_path / "answers.jsonl"
    task = {"qid": "q", "left": "A\u2028n", "right": "B\x85o", "label": "left"}
    path.write_text(json.dumps(task, ensure_ascii=False) + "\r\n", encoding="utf-8")
    assert read_answers(path) == [task | {"reviewer": path.stem}]


@pytest.mark.parametrize("sign", ["[", '{"a":'])
def test_json_that_is_nested_too_deep_is_refused(sign, tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(sign * 100_000)
    with pytest.raises(ValueError, match="damaged or something else"):
        read_answers(path)


def test_a_comment_beside_an_answer_is_no_answer(tmp_path):
    path = tmp_path / "export.json"
    result = [{"value": {"text": ["sure"]}}, {"value": {"choices": ["left"]}}]
    task = {"qid": "q", "left_id": "A", "right_id": "B"}
    export = [{"data": task, "annotations": [{"result": result}]}]
    path.write_text(json.dumps(export))
    assert [answer["label"] for answer in read_answers(path)] == ["left"]


@pytest.mark.parametrize("qid", ["qid,", ""])
def test_a_table_of_one_query_needs_no_qid(qid, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(f"{qid}left,right,label\n{',' if qid else ''}0,1,left\n")
    answers = read_answers(path)
    said = {"left": "0", "right": "1", "label": "left", "reviewer": "answers"}
    assert answers == [said]
    assert len(RANKER.review(X[:12], answers=answers).answers) == 1


# ---- what a spreadsheet does to a table

NAMES = [f"{k % 12:03d}" for k in range(24)]
BY_NUMBER = RANKER.review(X, qid=DAY, item_id=NAMES).ask(6)


@pytest.fixture
def table(tmp_path):
    """Tasks about items called 000 to 011, with labels, and the review that counts."""
    BY_NUMBER.to_tasks(tmp_path / "tasks.csv")
    rows = tasks_of(tmp_path / "tasks.csv", "csv")
    return [row | {"label": WORDS[k % 3]} for k, row in enumerate(rows)]


def answered(tmp_path, rows):
    """Return what a review takes from a table of tasks."""
    path = tmp_path / "answers.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return RANKER.review(X, qid=DAY, item_id=NAMES, answers=read_answers(path)).answers


def same(one, other):
    names = ("query", "left", "right", "label")
    return all(np.array_equal(getattr(one, n), getattr(other, n)) for n in names)


def changed(rows, **how):
    return [row | {name: f(row[name]) for name, f in how.items()} for row in rows]


def drop_zeros(text):
    return text.lstrip("0") or "0"


@pytest.mark.parametrize(
    "how",
    [
        {"left_id": drop_zeros, "right_id": drop_zeros},
        {"left_id": drop_zeros},
        {"qid": str.upper, "right_id": drop_zeros},
        {"left_id": lambda _: "1,E+03", "right_id": lambda _: "2,E+03"},
    ],
)
def test_the_pair_id_finds_items_whose_names_were_changed(how, table, tmp_path):
    assert any(row["left_id"] != drop_zeros(row["left_id"]) for row in table)
    assert same(answered(tmp_path, changed(table, **how)), answered(tmp_path, table))


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"left_id": drop_zeros},
        {"right_id": drop_zeros},
        {"left_id": drop_zeros, "right_id": drop_zeros},
        {"left_id": lambda text: f"{int(text)}.0", "right_id": drop_zeros},
    ],
)
def test_a_label_is_of_the_sides_as_they_stand_in_its_row(how, table, tmp_path):
    other = {"left": "right", "same": "same", "right": "left"}
    turned = [
        row | {"left_id": row["right_id"], "right_id": row["left_id"]} for row in table
    ]
    turned = changed(turned, label=other.get, **how)
    # A name of zeros alone is changed on either side; the other one is known.
    turned = [row for row in turned if row["left_id"] != row["right_id"]]
    assert same(answered(tmp_path, turned), answered(tmp_path, table))


def test_a_copy_under_another_name_is_asked_about(table, tmp_path, monkeypatch):
    monkeypatch.setattr(_questions, "_FEWEST_COPIED", len(table))
    for name in ("ann", "ann - Copy", "bo"):
        label = "right" if name == "bo" else "left"
        rows = [row | {"label": label} for row in table]
        pd.DataFrame(rows).to_csv(tmp_path / f"{name}.csv", index=False)
    ann, copy, bo = (tmp_path / f"{name}.csv" for name in ("ann", "ann - Copy", "bo"))
    assert len(read_answers(ann, bo)) == 2 * len(table)
    with pytest.warns(UserWarning, match=r"hold the same \d+ answers and count as two"):
        assert len(read_answers(ann, copy)) == 2 * len(table)


def test_names_may_be_covered_for_who_must_not_see_them(table, tmp_path):
    blind = changed(table, left_id=lambda _: "left", right_id=lambda _: "right")
    assert same(answered(tmp_path, blind), answered(tmp_path, table))


def test_an_id_is_not_that_of_items_of_another_query(table, tmp_path):
    names = {row["qid"]: (row["left_id"], row["right_id"]) for row in table}
    (first, _), (other, (left, right)) = [*names.items()][:2]
    row = next(row for row in table if row["qid"] == first)
    assert other != first
    with pytest.raises(ValueError, match=r"pair_id .* or drop the column"):
        answered(tmp_path, [row | {"left_id": left, "right_id": right}])


def test_a_column_that_was_sorted_by_itself_is_refused(table, tmp_path):
    ids = sorted(row["pair_id"] for row in table)
    assert ids != [row["pair_id"] for row in table]
    mixed = [row | {"pair_id": each} for row, each in zip(table, ids, strict=True)]
    with pytest.raises(ValueError, match=r"pair_id .* or drop the column"):
        answered(tmp_path, mixed)


def test_a_day_that_was_named_later_does_not_contradict_the_id_of_a_pair(tmp_path):
    one = {"X": X[:12], "item_id": NAMES[:12]}

    def said(asked_on, day):
        RANKER.review(**one, qid=asked_on).ask(3).to_tasks(tmp_path / "tasks.csv")
        rows = tasks_of(tmp_path / "tasks.csv", "csv")
        rows = changed(rows, qid=lambda _: day, label=lambda _: "left")
        pd.DataFrame(rows).to_csv(tmp_path / "answers.csv", index=False)
        return read_answers(tmp_path / "answers.csv")

    answers = said(None, "monday")
    assert all(answer["pair_id"] for answer in answers)
    assert len(RANKER.review(**one, qid="monday", answers=answers).answers) == 3
    # An id that was moved is still found out, and that of another day is another one.
    moved = [a | {"pair_id": answers[k - 1]["pair_id"]} for k, a in enumerate(answers)]
    renamed = said("monday", "tuesday")
    for wrong, qid in ((moved, "monday"), (renamed, "tuesday")):
        with pytest.raises(ValueError, match=r"row 0 and 3 such rows .* or drop the"):
            RANKER.review(**one, qid=qid, answers=wrong)
    kept = [{k: v for k, v in a.items() if k != "pair_id"} for a in renamed]
    assert len(RANKER.review(**one, qid="tuesday", answers=kept).answers) == 3


@pytest.mark.parametrize("ending", ["csv", "xlsx", "jsonl"])
def test_a_word_that_nobody_knows_is_found_in_its_file(ending, table, tmp_path):
    rows = [row | {"label": "left"} for row in table]
    rows[3]["label"] = "links"
    frame = pd.DataFrame(rows)
    path = tmp_path / f"ann.{ending}"
    if ending == "csv":
        text = frame.to_csv(index=False, lineterminator="\n")
        path.write_text(text.replace("\n", "\n\n", 2))  # a blank line is a row, too
    elif ending == "xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    (tmp_path / "bo.csv").write_text("qid,left,right,label\nmon,000,001,left\n")
    answers = read_answers(tmp_path / "bo.csv", path)
    where = {"csv": "row 7", "xlsx": "row 5", "jsonl": "entry 3"}[ending]
    message = f"got 'links' in {where} of {str(path)!r}, which names neither item: "
    message = f"{re.escape(message)}write the winner, left, tie, right or skip"
    for said in (answers, pickle.loads(pickle.dumps(answers))):
        with pytest.raises(ValueError, match=message):
            RANKER.review(X, qid=DAY, item_id=NAMES, answers=said)
    # Words of another language that are named are no mistake.
    RANKER.review(X, qid=DAY, item_id=NAMES, answers=answers, labels={"Links": "left"})


def test_an_empty_cell_of_a_later_file_takes_back_nothing(table, tmp_path):
    before, after = tmp_path / "1.csv", tmp_path / "2.csv"
    table = [row | {"reviewer": "Ann"} for row in table]
    pd.DataFrame(table).to_csv(before, index=False)
    pd.DataFrame([table[0] | {"label": ""}, *table[1:]]).to_csv(after, index=False)

    def count(*paths):
        answers = read_answers(*paths)
        return len(RANKER.review(X, qid=DAY, item_id=NAMES, answers=answers).answers)

    assert count(before, after) == count(before) == 6
    assert count(after) == 5


def test_numbers_of_ones_own_are_no_ids_of_pairs(table, tmp_path):
    own = [row | {"pair_id": k} for k, row in enumerate(table)]
    assert same(answered(tmp_path, own), answered(tmp_path, table))
    unknown = changed(own, left_id=lambda _: "1000")
    with pytest.warns(UserWarning, match="'1000'.*No answer is left"):
        answered(tmp_path, unknown)


def test_ids_of_ones_own_come_back_with_the_answers(tmp_path):
    own = [f"prompt {k}" for k in range(8)]
    texts = {"left_text": own, "right_text": own, "pair_id": own}
    tasks = written_tasks(tmp_path / "tasks", ASKED.to_frame().assign(**texts))
    lines = [json.dumps(task | {"label": "left"}) for task in tasks]
    (tmp_path / "said.jsonl").write_text("\n".join(lines))
    answers = read_answers(tmp_path / "said.jsonl")
    assert [answer["pair_id"] for answer in answers] == own


def test_too_many_pairs_are_not_looked_through(table, tmp_path, monkeypatch):
    monkeypatch.setattr(_answers, "_MOST_PAIRS", 65)  # a day has 66
    with pytest.warns(UserWarning, match="'1000'.*No answer is left"):
        answered(tmp_path, changed(table, left_id=lambda _: "1000"))


def test_no_text_is_a_formula_and_all_come_back(tmp_path):
    signs = ["=1+1", "+49 170", "-x", "@SUM(A1)", "\tx", "'quoted", "'=x", "-5", "1e3"]
    signs += ["+inf", "-nan", "-1_0"]
    names = [f"{signs[k % 12]}{'' if k < 12 else k}" for k in range(24)]
    asked = RANKER.review(X, qid=DAY, item_id=names).ask(40)
    asked.to_tasks(tmp_path / "tasks.csv", shown={"note": names})
    rows = tasks_of(tmp_path / "tasks.csv", "csv")
    cells = [value for row in rows for value in row.values()]
    assert {cell for cell in cells if cell.startswith(tuple("=+@\t"))} == set()
    assert {cell for cell in cells if cell.startswith("-")} <= {"-5", "-519"}
    answers = answered_by(tmp_path, [row | {"label": "left"} for row in rows])
    sides = {(a["left"], a["right"]) for a in answers}
    expected = asked.to_dicts()
    assert {frozenset(pair) for pair in sides} == {
        frozenset((row["left_id"], row["right_id"])) for row in expected
    }


def answered_by(tmp_path, rows):
    pd.DataFrame(rows).to_csv(tmp_path / "filled.csv", index=False)
    return read_answers(tmp_path / "filled.csv")


@pytest.mark.parametrize(
    ("name", "kind", "match"),
    [
        ("tasks.xlsx", "csv", "xlsx, and format='csv'. Write a .csv or"),
        (
            "tasks.ods",
            None,
            "another workbook, and format='csv'. Write a .csv .* .xlsx",
        ),
        ("tasks.json", "csv", "label_studio, and format='csv'"),
        ("tasks.csv", "label_studio", "csv, and format='label_studio'"),
        ("tasks.JSONL", "csv", "jsonl, and format='csv'"),
    ],
)
def test_the_name_of_a_file_says_what_is_in_it(name, kind, match, tmp_path):
    with pytest.raises(ValueError, match=match):
        ASKED.to_tasks(tmp_path / name, format=kind)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "kind"), [("t.JSONL", "jsonl"), ("t.json", "label_studio"), ("t", "csv")]
)
def test_the_ending_says_the_format(name, kind, tmp_path):
    ASKED.to_tasks(tmp_path / name)
    ASKED.to_tasks(tmp_path / "same", format=kind)
    assert (tmp_path / name).read_bytes() == (tmp_path / "same").read_bytes()


def test_text_that_no_encoding_has_empties_no_file(tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text("precious")
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        ASKED.to_tasks(path, shown={"note": ["\ud800"] * 24})
    assert path.read_text() == "precious"


@pytest.mark.parametrize("name", ["tasks.csv", "tasks.jsonl", "tasks.xlsx", "t.json"])
def test_a_file_with_answers_is_not_written_over(name, tmp_path):
    if name.endswith("xlsx"):
        openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / name
    for _ in range(2):  # without answers it is
        ASKED.to_tasks(path)
    if name.endswith("xlsx"):
        book = openpyxl.load_workbook(path)
        column = 1 + [cell.value for cell in book.active[1]].index("label")
        book.active.cell(row=3, column=column).value = "same"
        book.save(path)
    else:
        kind = {"t.json": "label_studio"}.get(name, name.rpartition(".")[2])
        fill_in(path, kind, tasks_of(path, kind), ["left", *[""] * 7])
    filled = path.read_bytes()
    with pytest.raises(ValueError, match=r"file with answers, got .* which holds 1: "):
        ASKED.to_tasks(path)
    assert path.read_bytes() == filled


def test_a_table_that_was_cut_in_its_last_row_is_refused(tmp_path):
    path = tmp_path / "tasks.csv"
    ASKED.to_tasks(path)
    fill_in(path, "csv", tasks_of(path, "csv"), [*WORDS, *WORDS, *WORDS[:2]])
    whole = path.read_text()
    answers = read_answers(path)
    row = whole.rstrip().rpartition("\n")[2]
    for n in range(1, len(row)):  # within the row; at n = 0 but its end is missing
        path.write_text(whole.rstrip()[:-n])
        with pytest.raises(
            ValueError, match=r"is damaged or something else|must be named"
        ):
            read_answers(path)
    path.write_text(whole.rstrip())  # as some programs write it
    assert read_answers(path) == answers


@pytest.mark.parametrize("name", ["tasks.csv", "tasks.json", "page.html"])
def test_a_full_disk_leaves_the_old_file(name, tmp_path, monkeypatch):
    path = tmp_path / name
    write = ASKED.to_page if name.endswith("html") else ASKED.to_tasks
    path.write_text("old")

    def full(self, data):
        with self.open("wb") as file:
            file.write(data[:10])
        raise OSError("No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write(path)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert path.read_text() == "old"


def test_a_frame_saved_by_columns_says_how_to_save_it(table, tmp_path):
    path = tmp_path / "ann.json"
    pd.DataFrame(table).assign(label="left").to_json(path)
    with pytest.raises(ValueError, match=r"to_json\(path, orient='records'\)"):
        read_answers(path)
