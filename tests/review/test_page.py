"""Questions as a page: what it holds, and what a person does with it in a browser."""

import json
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn
from review.browser import CHROMIUM, Browser, Tab

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.review import _questions, read_answers

DATA = make_ranking(n_queries=40, random_state=0)
RANKER = BALToR(
    FirstColumn().fit(None, None), tie_model="graded_relevance", random_state=0
).fit(DATA.utility[:, None], DATA.target, qid=DATA.qid)
X = np.random.default_rng(0).normal(size=(24, 1))
# Each would set the title of a page that took it for markup.
RUN = "document.title='hurt'"
SCRIPT = f"</script><script>{RUN}</script>"
IMAGE = f'<img src=x onerror="{RUN}">'
DAY = np.repeat([f"mon & {SCRIPT}", "tue"], 12)
ID = [f"<!--{IMAGE} {k}" for k in range(24)]
LARGE = 2**53 + 1
SHOWN = {
    f"age {SCRIPT}": [LARGE + k for k in range(24)],
    "note": [f"{SCRIPT} &amp; \u2028 é {k}" for k in range(24)],
    "dose": [np.inf if k % 2 else 0.5 for k in range(24)],
    "none": [None] * 24,
}
REVIEW = RANKER.review(X, qid=DAY, item_id=ID)
ASKED = REVIEW.ask(5)
QUESTION = f"Who is <b>first</b>? {SCRIPT}"
WORDS = ["left", "same", "right"]


def written(path, questions=ASKED, shown=SHOWN):
    questions.to_page(path, shown=shown, question=QUESTION)
    return path.read_text(encoding="utf-8")


def embedded(page):
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</', page)
    return json.loads(data)


def tasks_of(tmp_path, questions=ASKED):
    """Return what is written for tools: the same tasks."""
    questions.to_tasks(tmp_path / "tasks", format="jsonl", shown=SHOWN)
    return [json.loads(line) for line in (tmp_path / "tasks").read_text().splitlines()]


def test_the_page_holds_the_tasks_as_texts(tmp_path):
    tasks = embedded(written(tmp_path / "page.html"))["tasks"]
    expected = tasks_of(tmp_path)
    assert len(tasks) == 5
    assert embedded((tmp_path / "page.html").read_text())["question"] == QUESTION
    assert tasks == [{k: str(v) for k, v in task.items()} for task in expected]
    assert {len(task) for task in tasks} == {4 + 2 * len(SHOWN)}


def test_nothing_in_the_data_is_markup(tmp_path):
    page = written(tmp_path / "page.html")
    plain = written(tmp_path / "plain.html", REVIEW.ask(0))
    for sign in "<>&\u2028":
        assert page.count(sign) == plain.count(sign)
    assert RUN in page


def test_the_page_loads_nothing_and_runs_its_own_script_alone(tmp_path):
    page = written(tmp_path / "page.html", REVIEW.ask(0))
    (policy,) = re.findall('content="(default-src .*?)"', page)
    digest = "'sha256-[A-Za-z0-9+/]{43}='"
    assert re.fullmatch(
        f"default-src 'none'; style-src {digest}; script-src {digest}; "
        "base-uri 'none'; form-action 'none'",
        policy,
    )
    for word in ("http://", "https://", "src=", "@import", "url("):
        assert word not in page


def test_pages_of_other_questions_keep_their_answers_apart(tmp_path):
    def key(*args):
        return embedded(written(tmp_path / "page.html", *args))["key"]

    assert key() == key()
    assert len({key(), key(REVIEW.ask(4)), key(ASKED, {"age": range(24)})}) == 3


def test_a_saved_file_is_read(tmp_path):
    tasks = embedded(written(tmp_path / "page.html"))["tasks"]
    labels = [*WORDS, "skip", "left"]
    time = "2026-11-01T10:00:00.000Z"
    names = ("pair_id", "qid", "left_id", "right_id")
    saved = [
        {**{name: task[name] for name in names}, "label": label, "reviewer": "Ann"}
        | {"time": time}
        for task, label in zip(tasks, labels, strict=True)
    ]
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(saved))
    answers = read_answers(path)
    assert answers == [
        {"qid": s["qid"], "left": s["left_id"], "right": s["right_id"]}
        | {"label": s["label"], "reviewer": "Ann", "time": time}
        | {"pair_id": s["pair_id"]}
        for s in saved
    ]
    review = RANKER.review(X, qid=DAY, item_id=ID, answers=answers)
    assert len(review.answers) == 4
    assert list(review.reviewer_error_) == ["Ann"]


@pytest.mark.parametrize("reviewer", [{"reviewer": "Ann"}, {}])
def test_an_answer_that_was_changed_on_the_page_replaces_the_first(reviewer, tmp_path):
    """One pair stands twice on the page, as for voters about two prompts."""
    sides = {"pair_id": "", "qid": "", "left_id": "a", "right_id": "b"}

    def save(name, *said):
        rows = [
            sides
            | reviewer
            | {"label": label, "time": f"2026-11-01T10:0{minute}.5Z"}
            | {"answer_id": f"page {who} {number}"}
            for number, label, minute, who in said
        ]
        (tmp_path / name).write_text(json.dumps(rows))

    save("answers.json", (0, "left", 1, "x"), (1, "same", 2, "x"))
    save("answers (1).json", (0, "left", 1, "x"), (1, "right", 3, "x"))
    save("other.json", (1, "left", 4, "y"))
    files = [tmp_path / name for name in ("answers.json", "answers (1).json")]
    newest = read_answers(files[1])
    for both in (files, files[::-1]):
        found = read_answers(*both, tmp_path / "other.json")
        assert len(found) == 3
        said = {(each["label"], each["time"]) for each in found}
        assert said >= {(each["label"], each["time"]) for each in newest}
        # Who gave no name is called as the first file, in all of them.
        nobody = {both[0].stem: 2, "other": 1}
        names = Counter(each["reviewer"] for each in found)
        assert names == ({"Ann": 3} if reviewer else nobody)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ('[{"label": "left"}]', "must name left in every answer, .* entry 0"),
        ('[{"qid": 1, "left_id": "a", "right_id": "b"}]', "damaged or something else"),
        ('[{"qid": 1, "label": "left"', "damaged or something else"),
        ('["label"]', "damaged or something else"),
        ('{"label": "left"}\n3', "damaged or something else"),
        # Label Studio's short export.
        (
            '[{"qid": 1, "left": 2, "right": 3, "label": "left", "annotator": 4}]',
            "damaged or something else",
        ),
    ],
)
def test_a_damaged_file_is_refused(text, match, tmp_path):
    (tmp_path / "answers.json").write_text(text)
    with pytest.raises(ValueError, match=match):
        read_answers(tmp_path / "answers.json")


def test_what_cannot_be_shown_is_refused(tmp_path):
    with pytest.raises(TypeError, match="shown must be a frame"):
        ASKED.to_page(tmp_path / "page.html", shown=1)
    assert not (tmp_path / "page.html").exists()


BATTLES = {
    "left_id": ASKED.left_id,
    "right_id": ASKED.right_id,
    "left": [f"<b>a</b> {k}" for k in range(5)],
    "right": [f"b {k}" for k in range(5)],
    "prompt": [f"Say {k}\n{SCRIPT}" for k in range(5)],
}


def test_a_blind_page_is_marked_so_and_keeps_the_names_for_the_file(tmp_path):
    for blind in (False, True):
        ASKED.to_page(tmp_path / "page.html", shown=BATTLES, blind=blind)
        data = embedded((tmp_path / "page.html").read_text(encoding="utf-8"))
        assert data["blind"] is blind
        for k, (task, pair) in enumerate(zip(data["tasks"], ASKED, strict=True)):
            texts = {pair.left_id: f"<b>a</b> {k}", pair.right_id: f"b {k}"}
            assert task["left_text"] == texts[task["left_id"]]
            assert task["right_text"] == texts[task["right_id"]]
            assert task["prompt"] == BATTLES["prompt"][k]


@pytest.mark.parametrize(
    "shown",
    [
        None,
        {"model": ID, "age": range(24)},
        BATTLES | {"left_model": ASKED.left_id, "right_model": ASKED.right_id},
        BATTLES | {"better": ASKED.left_id},
        BATTLES | {"judge_says": ["", "", "", "", ASKED.left_id[0]]},
        BATTLES | {"model_a": [f" {name.upper()}" for name in ASKED.left_id]},
        {"model": [*ID[:20], "", "", "", ""]},
    ],
)
def test_a_blind_page_that_names_the_items_is_refused(shown, tmp_path):
    page = tmp_path / "page.html"
    with pytest.raises(ValueError, match="shown must hold on a blind page"):
        ASKED.to_page(page, shown=shown, blind=True)
    assert not page.exists()
    ASKED.to_page(page, shown=shown)
    REVIEW.ask(0).to_page(page, blind=True)


def test_a_name_in_a_text_of_a_blind_page_is_told(tmp_path):
    page, name = tmp_path / "page.html", ASKED.left_id[2]
    told = [*BATTLES["left"][:2], f"I am {name}.", *BATTLES["left"][3:]]
    own = BATTLES | {"left": told}
    with pytest.warns(
        UserWarning,
        match=rf"must not name items, got .* {name.split()[-1]} in left_text",
    ):
        ASKED.to_page(page, shown=own, blind=True)
    # 25 is no name of 2, nor is 2 one in a text of numbers.
    numbers = RANKER.review(X[:12], item_id=np.arange(12) + 100).ask(3)
    table = {"left_id": numbers.left_id, "right_id": numbers.right_id}
    table |= {"left_text": ["101 of 1101"] * 3, "right_text": ["b"] * 3}
    numbers.to_page(page, shown=table, blind=True)


# In a browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture
def tab(browser, tmp_path):
    """A page that was not opened before: what it shows is the test's own."""
    shown = SHOWN | {"folder": [str(tmp_path)] * 24}
    written(tmp_path / "page.html", shown=shown)
    return Tab(browser, tmp_path / "page.html")


def start(tab, name=""):
    tab.press(*name, "Enter")


def saved(tab):
    """Save the answers and return the file."""
    tab.click("#save")
    return tab.browser.downloaded()


def answers_of(tab):
    return json.loads(saved(tab).read_text(encoding="utf-8"))


def review_of(answers):
    return RANKER.review(X, qid=DAY, item_id=ID, answers=answers)


def counted(answers):
    """Return the labels that a review takes, as they are written."""
    taken = review_of(answers).answers
    return [taken.said["label"][row] for row in sorted(taken.row)]


def labels_of(tab):
    return [answer["label"] for answer in answers_of(tab)]


def test_a_question_shows_two_items_and_nothing_of_the_model(tab, tmp_path):
    (task, *_) = tasks_of(tmp_path)
    assert "5 questions" in tab.seen()
    assert f"Query {task['qid']}" in tab.seen()
    start(tab)
    cells = tab.value("[...document.querySelectorAll('td,th')].map(e => e.innerText)")
    expected = [task["left_id"], "", task["right_id"]]
    for name in SHOWN:
        expected += [str(task[f"left_{name}"]), name, str(task[f"right_{name}"])]
    assert cells == [*expected, str(tmp_path), "folder", str(tmp_path)]
    tab.value("document.querySelector('table').remove()")
    assert f"Query {task['qid']}" in tab.seen()
    assert re.findall(r"\d+", tab.seen()) == ["1", "5"]  # 1 of 5


def test_markup_in_the_data_is_text(tab):
    assert QUESTION in tab.seen()
    start(tab)
    assert QUESTION in tab.seen()
    for _ in range(5):
        assert tab.value("document.title") == QUESTION
        assert tab.value("document.querySelectorAll('img').length") == 0
        assert tab.value("document.scripts.length") == 2
        tab.press("s")
    assert tab.complaints() == []


def test_the_policy_stops_what_is_not_the_pages_own(tab):
    """If markup got in nevertheless, it would not run."""
    tab.value(f"document.body.insertAdjacentHTML('beforeend', `{IMAGE}`)")
    tab.value("document.body.lastChild.dispatchEvent(new Event('error'))")
    tab.wait_until(lambda: "Content Security Policy" in str(tab.complaints()))
    assert tab.value("document.title") == QUESTION


def test_keys_answer_and_the_file_comes_back(tab, tmp_path):
    start(tab, "Ann")
    tab.press("ArrowLeft", "ArrowDown", "s", "ArrowRight")
    assert "5 of 5" in tab.seen()
    tab.press("ArrowUp")
    assert "That was the last question: save the answers" in tab.seen()
    assert "4 answers, 1 skipped" in tab.seen()
    path = saved(tab)
    assert path.name == "answers Ann.json"
    assert "4 answers saved" in tab.seen()
    answers = read_answers(path)
    tasks = tasks_of(tmp_path)
    labels = ["left", "same", None, "right", "same"]
    beside = ("time", "answer_id")
    assert [{k: v for k, v in a.items() if k not in beside} for a in answers] == [
        {"qid": t["qid"], "left": t["left_id"], "right": t["right_id"]}
        | {"label": label, "reviewer": "Ann", "pair_id": t["pair_id"]}
        for t, label in zip(tasks, labels, strict=True)
        if label
    ]
    times = [np.datetime64(answer["time"].removesuffix("Z")) for answer in answers]
    assert times == sorted(times)
    assert len(RANKER.review(X, qid=DAY, item_id=ID, answers=answers).answers) == 4


def test_buttons_answer(tab):
    start(tab)
    assert tab.value("document.getElementById('save').disabled")
    for word in ("right", "same", "left"):
        tab.click(f"[data-label={word}]")
    tab.click("#skip")
    assert "5 of 5" in tab.seen()
    answers = answers_of(tab)  # before the end
    assert [answer["label"] for answer in answers] == ["right", "same", "left"]
    assert "reviewer" not in answers[0]


@pytest.mark.parametrize("name", ["Ann", ""])
def test_a_changed_answer_replaces_the_one_that_was_saved(tab, name, tmp_path):
    start(tab, name)
    tab.press("ArrowLeft", "ArrowDown")
    files = [tmp_path / "first.json", tmp_path / "second.json"]
    files[0].write_text(saved(tab).read_text(encoding="utf-8"))
    tab.press("u", "ArrowRight", "ArrowRight")
    files[1].write_text(saved(tab).read_text(encoding="utf-8"))
    for order in (files, files[::-1]):
        labels = [answer["label"] for answer in read_answers(order)]
        assert sorted(labels) == ["left", "right", "right"]
    # Another browser without a name is another person.
    tab.value("localStorage.clear()")
    tab.open(tmp_path / "page.html")
    start(tab, name)
    tab.press("ArrowLeft")
    files += [tmp_path / "third.json"]
    files[2].write_text(saved(tab).read_text(encoding="utf-8"))
    assert len(read_answers(files)) == (3 if name else 4)


def test_a_clicked_button_does_not_take_the_space_bar(tab):
    start(tab)
    tab.click("[data-label=left]")
    tab.press(" ", "ArrowDown")
    assert labels_of(tab) == ["left", "same"]


def test_a_button_is_pressed_from_the_keyboard(tab):
    start(tab)
    tab.press("Tab", "Tab", " ", "Tab", "Enter")
    assert labels_of(tab) == ["same", "left"]


def test_a_key_that_is_held_answers_once(tab):
    start(tab)
    held = {"type": "keyDown", "key": "ArrowLeft", "autoRepeat": True}
    tab.order("Input.dispatchKeyEvent", **held)
    assert "1 of 5" in tab.seen()
    tab.order("Input.dispatchKeyEvent", **held | {"autoRepeat": False})
    assert "2 of 5" in tab.seen()


def test_answers_are_taken_back(tab):
    start(tab)
    tab.press("ArrowLeft", "ArrowLeft", "Backspace")
    assert "2 of 5" in tab.seen()
    tab.press("ArrowRight", "s", "u")
    assert "3 of 5" in tab.seen()
    tab.click("#undo")
    assert "2 of 5" in tab.seen()
    tab.press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "u")
    assert "5 of 5" in tab.seen()
    tab.press("ArrowRight")
    assert labels_of(tab) == ["left", "same", "same", "same", "right"]


def test_an_answer_of_a_saved_file_is_taken_back(tab, tmp_path):
    """Also where a skipped question stands in its place, or the page was left."""
    start(tab, "Ann")
    tab.press("ArrowLeft", "ArrowRight", "ArrowDown")
    first = saved(tab).rename(tmp_path / "first.json")
    assert [answer["label"] for answer in read_answers(first)] == [
        "left",
        "right",
        "same",
    ]
    tab.press("u", "s", "u", "u", "u")
    assert "1 of 5" in tab.seen()
    tab.press("ArrowLeft")
    assert labels_of(tab) == ["left", "skip", "skip"]
    assert "1 answer saved" in tab.seen()
    second = saved(tab)
    for files in ([first, second], [second, first]):
        answers = read_answers(*files)
        assert sorted(answer["label"] for answer in answers) == ["left", "skip", "skip"]
        assert counted(answers) == counted(read_answers(second)) == ["left"]
        apart = pd.concat([pd.DataFrame(read_answers(file)) for file in files])
        assert counted(apart) == ["left"]
    tab.press("u")
    assert counted(read_answers(first, saved(tab))) == []


@pytest.mark.parametrize("turned", [False, True])
def test_files_that_are_read_apart_count_as_read_together(tab, tmp_path, turned):
    """A nameless nurse saves twice, under the names that a browser gives."""
    start(tab)
    tab.press("ArrowLeft", "ArrowRight", "ArrowDown")
    files = [saved(tab).rename(tmp_path / "answers.json")]
    tab.press("u", "ArrowLeft", "ArrowRight")
    files += [saved(tab).rename(tmp_path / "answers (1).json")]
    order = files[::-1] if turned else files
    apart = [pd.DataFrame(read_answers(file)) for file in order]
    assert [frame["reviewer"][0] for frame in apart] == [file.stem for file in order]
    together = review_of(read_answers(*files)).answers
    joined = review_of(pd.concat(apart)).answers
    assert counted(read_answers(files[1])) == counted(pd.concat(apart))
    assert len(joined) == 4
    assert len(joined.changed) == 0
    assert joined.reviewers == (apart[0]["reviewer"][0],)
    assert together.reviewers == ("answers",)
    for name in ("query", "left", "right", "label"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(together, name))


def test_skipped_questions_are_asked_again(tab, tmp_path):
    start(tab)
    tab.press("s", "ArrowLeft", "s", "ArrowLeft", "ArrowLeft")
    tab.click("#again")
    assert "1 of 5" in tab.seen()
    tab.press("ArrowRight")
    assert "3 of 5" in tab.seen()
    tab.press("ArrowRight")
    ids = [task["pair_id"] for task in tasks_of(tmp_path)]
    said = {a["pair_id"]: a["label"] for a in answers_of(tab)}
    assert [said[name] for name in ids] == ["right", "left", "right", "left", "left"]


def test_a_page_that_is_opened_again_goes_on(tab, tmp_path):
    start(tab, "Ann")
    tab.press("ArrowLeft", "s")

    def goes_on():
        # On a busy machine a new process may start before what was kept reaches it.
        tab.open(tmp_path / "page.html")
        return "3 of 5" in tab.seen()

    tab.wait_until(goes_on)
    assert "Ann" in tab.seen()
    again = Tab(tab.browser, tmp_path / "page.html")
    again.press("ArrowRight")
    assert labels_of(again) == ["left", "right"]
    # The first tab follows, so that neither loses what the other says.
    tab.wait_until(lambda: "4 of 5" in tab.seen())
    other = tmp_path / "other.html"
    written(other, REVIEW.ask(4))
    assert "4 questions" in Tab(tab.browser, other).seen()


def test_each_name_has_its_own_answers(tab):
    start(tab, "Ann")
    tab.press("ArrowLeft", "ArrowLeft")
    tab.click("#who")
    tab.value("document.getElementById('name').select()")
    start(tab, "__proto__")
    assert "1 of 5" in tab.seen()
    tab.press("ArrowRight")
    (answer,) = answers_of(tab)
    assert answer["reviewer"] == "__proto__"
    tab.click("#who")
    assert "1 of 5 are done under this name" in tab.seen()
    tab.value("document.getElementById('name').select()")
    start(tab, "Ann")
    assert "3 of 5" in tab.seen()


def test_a_browser_that_keeps_nothing(browser, tmp_path):
    written(tmp_path / "page.html")
    refuse = "get() { throw new DOMException('no', 'SecurityError'); }"
    before = f"Object.defineProperty(window, 'localStorage', {{ {refuse} }})"
    tab = Tab(browser, tmp_path / "page.html", before)
    start(tab, "Ann")
    assert "keeps no answers: save them" in tab.seen()
    tab.press("ArrowLeft", "s", "ArrowRight", "u", "ArrowDown")
    leave = "dispatchEvent(new Event('beforeunload', { cancelable: true }))"
    assert tab.value(leave) is False
    assert labels_of(tab) == ["left", "same"]
    assert tab.value(leave) is True


def test_a_narrow_screen_needs_no_sideways_scrolling(tab):
    start(tab)
    screen = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    tab.order("Emulation.setDeviceMetricsOverride", **screen)
    assert tab.value("document.documentElement.scrollWidth") == 360
    box = "document.querySelector('[data-label=right]').getBoundingClientRect()"
    assert 0 < tab.value(f"{box}.top") < tab.value(f"{box}.bottom") < 740


def test_no_questions(browser, tmp_path):
    written(tmp_path / "page.html", REVIEW.ask(0))
    tab = Tab(browser, tmp_path / "page.html")
    assert tab.seen() == "There is nothing to answer."
    tab.press("ArrowLeft", "u")
    assert tab.seen() == "There is nothing to answer."


def test_items_without_queries_show_no_query(browser, tmp_path):
    written(tmp_path / "page.html", RANKER.review(X[:12]).ask(2), shown=None)
    tab = Tab(browser, tmp_path / "page.html")
    start(tab)
    assert "1 of 2" in tab.seen()
    assert "Query" not in tab.seen()


@pytest.mark.parametrize("blind", [False, True])
def test_a_blind_page_shows_texts_and_saves_names(browser, tmp_path, blind):
    ASKED.to_page(tmp_path / "page.html", shown=BATTLES, blind=blind)
    tab = Tab(browser, tmp_path / "page.html")
    start(tab, "Ann")
    tasks = embedded((tmp_path / "page.html").read_text(encoding="utf-8"))["tasks"]
    for task in tasks:
        table = tab.value(
            "[...document.querySelectorAll('td,th')].map(e => e.innerText)"
        )
        names = ["Left", "Right"] if blind else [task["left_id"], task["right_id"]]
        texts = [task["left_text"], "text", task["right_text"]]
        assert table == [names[0], "", names[1], *texts]
        prompt = tab.value(
            "[...document.querySelectorAll('dt,dd')].map(e => e.innerText)"
        )
        assert prompt == ["prompt", task["prompt"]]
        elements = tab.value(
            "(body => { body.querySelectorAll('script').forEach(e => e.remove()); "
            "return body.outerHTML; })(document.body.cloneNode(true))"
        )
        assert ("&lt;!--" in elements) is not blind  # as all names start
        tab.press("ArrowLeft")
    answers = read_answers(saved(tab))
    beside = ("time", "answer_id")
    assert [{k: v for k, v in a.items() if k not in beside} for a in answers] == [
        {"qid": t["qid"], "left": t["left_id"], "right": t["right_id"]}
        | {"label": "left", "reviewer": "Ann"}
        for t in tasks
    ]
    assert tab.complaints() == []


# ---- the language

TEXTS = json.loads(_questions._own_file("_page_texts.json"))


def test_the_page_speaks_german(browser, tmp_path):
    ASKED.to_page(tmp_path / "page.html", language="de", question="Wer zuerst?")
    tab = Tab(browser, tmp_path / "page.html")
    seen = [tab.seen()]
    start(tab, "Ann")
    seen.append(tab.seen())
    tab.press("ArrowLeft", "ArrowDown", "s", "ArrowRight", "ArrowUp")
    seen.append(tab.seen())
    assert "5 Fragen" in seen[0]
    assert "Tasten: ← links" in seen[0]
    assert "1 von 5" in seen[1]
    assert "Überspringen" in seen[1]
    assert "4 Antworten, 1 übersprungen" in seen[2]
    answers = read_answers(saved(tab))
    assert "Datei gespeichert" in tab.seen()
    assert {answer["label"] for answer in answers} == {"left", "same", "right"}
    assert tab.value("document.documentElement.lang") == "de"
    for text in TEXTS["en"].values():
        if len(text) > 9 and "{" not in text:
            assert text not in " ".join(seen)


def test_texts_in_any_language_are_no_markup(browser, tmp_path):
    english = TEXTS["en"] | {"language": "en"}
    texts = {name: f"{name} {SCRIPT} {text}" for name, text in english.items()}
    ASKED.to_page(tmp_path / "page.html", language=texts, shown={"n": range(24)})
    tab = Tab(browser, tmp_path / "page.html")
    assert f"start {SCRIPT}" in tab.seen()
    assert tab.value("document.title") == "Which comes first?"


@pytest.mark.parametrize(
    ("language", "error", "match"),
    [
        ("fr", ValueError, "language must be one of .*'en'.*'de'"),
        (7, ValueError, "language must be one of .*, got 7"),
        ({"begin": "Los"}, ValueError, "'start': 'Start', .*'begin': None"),
        (TEXTS["de"], ValueError, "for these: {'language': 'en'}"),
        (
            TEXTS["de"] | {"language": "de", "progress": "{k} / {m}", "start": None},
            ValueError,
            r"with the {marks} .*{'start': 'Start', 'progress': '{k} of {n}'}",
        ),
    ],
)
def test_a_language_without_texts_is_refused(language, error, match, tmp_path):
    with pytest.raises(error, match=match):
        ASKED.to_page(tmp_path / "page.html", language=language)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["page.pdf", "page.xlsx", "page"])
def test_a_page_is_called_a_page(name, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in .html or .htm, got"):
        ASKED.to_page(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_all_languages_have_the_same_texts_and_blanks():
    blanks = {
        code: {name: set(re.findall(r"{\w}", text)) for name, text in texts.items()}
        for code, texts in TEXTS.items()
    }
    assert blanks["de"] == blanks["en"]
    page = _questions._own_file("_page.html")
    named = set(re.findall(r'data-text="(\w+)"|say\("(\w+)"', page))
    named = {one or other for one, other in named} | {"noscript"}
    plural = {"one_question", "questions", "one_answer", "answers"}
    assert named | plural == TEXTS["en"].keys()
