import bz2
import gzip
import lzma
import re

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_trec, make_ranking, save_trec
from skrank_abstain.pairs import Ranking

RUN = "q1 Q0 a 1 2.5 tag"
JUDGED = "q1 0 a 1"


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_both(folder, run=(RUN,), qrels=(JUDGED,)):
    return write(folder / "a.run", *run), write(folder / "a.qrels", *qrels)


def test_run_and_qrels(tmp_path):
    run, qrels = write_both(
        tmp_path,
        [
            "301 Q0 d3 1 -1e1 tag",
            "q-2 Q0 d3 7 0.5 tag",
            "301 Q0 d1 0 7 tag",
            "301 Q0 new 2 7 tag",
        ],
        ["q-2 0 d1 1", "301 x d1 2", "301 0 d3 0", "q-2 0 d3 3", "9 0 d1 1"],
    )
    found = load_trec(run, qrels)
    assert set(found) == {"data", "target", "qid", "item_id"}
    assert found.data.tolist() == [[-10], [0.5], [7], [7]]  # the score, not the rank
    assert found.target.tolist() == [0, 3, 2, 0]  # "new" has no judgement
    assert found.qid.tolist() == ["301", "q-2", "301", "301"]  # not contiguous
    assert found.item_id.tolist() == ["d3", "d3", "d1", "new"]
    assert found.data.dtype == np.float64
    assert found.target.dtype == np.int64
    assert found.qid.dtype.kind == found.item_id.dtype.kind == "U"


def test_judgements_of_other_documents_are_refused(tmp_path):
    lines = ["a Q0 d1 1 3 tag", "b Q0 d2 1 2 tag"]
    run, qrels = write_both(tmp_path, lines, ["a 0 doc1 1", "b 0 doc2 0"])
    with pytest.raises(ValueError, match=r"judged, got none in .*know 'd2' of query"):
        load_trec(run, qrels)
    # One is enough: a pool may have missed the others.
    run, qrels = write_both(tmp_path, lines, ["a 0 doc1 1", "b 0 d2 0"])
    assert load_trec(run, qrels).target.tolist() == [0, 0]


def test_a_run_alone_is_read_without_relevance(tmp_path):
    lines = ["a Q0 d 1 3 tag", "b Q0 d 1 2 tag", "a Q0 e 2 1 tag"]
    run, qrels = write_both(tmp_path, lines, ["a 0 d 1", "b 0 d 1"])
    judged, alone = load_trec(run, qrels), load_trec(run)
    assert alone.pop("target") is None
    assert judged.pop("target") is not None
    assert {name: found.tolist() for name, found in alone.items()} == {
        name: found.tolist() for name, found in judged.items()
    }
    with pytest.raises(
        ValueError, match="qrels must be given with drop_unjudged_queries=True"
    ):
        load_trec(run, drop_unjudged_queries=True)
    with pytest.raises(ValueError, match="run must hold at least one item, got none"):
        load_trec(write(tmp_path / "empty", ""))


def test_a_byte_order_mark_is_no_part_of_the_first_query(tmp_path):
    run, qrels = write_both(tmp_path, ["\ufeff" + RUN], ["\ufeff" + JUDGED])
    assert load_trec(run, qrels).qid.tolist() == ["q1"]


def test_queries_not_judged_are_left_out_when_asked(tmp_path):
    lines = ["a Q0 d 1 3 tag", "b Q0 d 1 2 tag", "a Q0 e 2 1 tag"]
    found = load_trec(
        *write_both(tmp_path, lines, ["a 0 d 1"]), drop_unjudged_queries=True
    )
    assert found.qid.tolist() == ["a", "a"]
    assert found.item_id.tolist() == ["d", "e"]
    assert found.data.tolist() == [[3], [1]]
    assert found.target.tolist() == [1, 0]
    with pytest.raises(ValueError, match="at least one item of a judged query"):
        load_trec(*write_both(tmp_path, lines, ["c 0 d 1"]), drop_unjudged_queries=True)


def test_documents_not_judged_are_not_relevant_as_in_trec_eval(tmp_path):
    # In trec_eval, less than 0 stands for "in the pool, not judged".
    paths = write_both(
        tmp_path,
        [f"q Q0 {item} 1 1 tag" for item in "abcd"],
        ["q 0 a 2", "q 0 b 0", "q 0 c -2"],
    )
    assert load_trec(*paths).target.tolist() == [2, 0, 0, 0]


def test_tabs_blank_lines_windows_line_ends_and_ids_beyond_ascii(tmp_path):
    run, qrels = tmp_path / "a.run", tmp_path / "a.qrels"
    run.write_bytes("\r\n1\tQ0\tà\u00a0b\t1\t1\ttag\r\n \t\r\n".encode())
    qrels.write_bytes(" 1  0 à\u00a0b   +1 ".encode())
    found = load_trec(str(run), str(qrels))
    assert found.item_id.tolist() == ["à\u00a0b"]
    assert found.target.tolist() == [1]


@pytest.mark.parametrize("opener", [gzip.open, bz2.open, lzma.open])
def test_compressed_files_are_read_whatever_they_are_called(opener, tmp_path):
    lines = [f"q Q0 d{i} {i} {-i} tag" for i in range(20_000)]
    plain, qrels = write_both(tmp_path, lines, ["q 0 d7 1"])
    packed = tmp_path / "b.run"
    for source, target in ((plain, packed), (qrels, qrels)):
        content = source.read_bytes()
        with opener(target, "wb") as file:
            file.write(content)
    found = load_trec(packed, qrels)
    assert found.data.ravel().tolist() == list(range(0, -20_000, -1))
    assert np.flatnonzero(found.target).tolist() == [7]
    content = packed.read_bytes()
    packed.write_bytes(content[: len(content) - 20])
    with pytest.raises(ValueError, match=r"b\.run must be a whole archive"):
        load_trec(packed, qrels)


BROKEN_RUN = [
    ("q1 Q0 b 1 2.5", "must have 6 fields, qid Q0 docid rank score tag, got 5"),
    ("q1 Q0 b 1 2.5 tag more", "must have 6 fields, .* got 7"),
    ("q1 0 b 1", "must have 6 fields, .* got 4"),  # qrels in place of a run
    ("query iter doc rank score tag", "score must be a finite float, got 'score'"),
    ("q1 Q0 b 1 nan tag", "score must be a finite float, got 'nan'"),
    ("q1 Q0 b 1 -inf tag", "score must be a finite float, got '-inf'"),
    ("q1 Q0 b 1 1e999 tag", "score must be a finite float, got '1e999'"),
    ("q1 Q0 b 1 2,5 tag", "score must be a finite float, got '2,5'"),
    ("q1 Q0 a 2 1.5 tag", "document 'a' of query 'q1' was there before, in line 2"),
    ("q9 Q0 a 1 2.5 tag", r"query 'q9' has no judgement in '.*a\.qrels'; pass drop_"),
]
BROKEN_QRELS = [
    ("q1 b 1", "must have 4 fields, qid iter docid relevance, got 3"),
    (RUN, "must have 4 fields, .* got 6"),
    ("q1 0 b 1.0", r"relevance must be a finite int, got '1\.0'"),
    ("q1 0 b high", "relevance must be a finite int, got 'high'"),
    ("q1 5 a 0", "document 'a' of query 'q1' was there before, in line 2; leave one"),
]


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [("run", *case) for case in BROKEN_RUN]
    + [("qrels", *case) for case in BROKEN_QRELS],
)
def test_broken_line_is_located_and_described(tmp_path, name, line, message):
    good = {"run": RUN, "qrels": JUDGED}[name]
    paths = write_both(tmp_path, **{name: ["", good, line, good]})
    path = re.escape(str(tmp_path / f"a.{name}"))
    with pytest.raises(ValueError, match=f"^{path}, line 3: .*{message}"):
        load_trec(*paths)


@pytest.mark.parametrize(("name", "place"), [("run", 0), ("qrels", 1)])
def test_ids_that_are_not_utf_8(tmp_path, name, place):
    paths = write_both(tmp_path)
    text = paths[place].read_bytes()
    paths[place].write_bytes(text + text.replace(b" a ", b" \xe9 "))
    with pytest.raises(ValueError, match=rf"a\.{name}, line 2: it must be UTF-8 text"):
        load_trec(*paths)


def test_what_is_wrong_is_shown_in_part(tmp_path):
    paths = write_both(tmp_path, [f"q1 Q0 a 1 {'7' * 100_000}x tag"])
    with pytest.raises(ValueError, match=r"line 1: .* got '7*\.\.\.") as error:
        load_trec(*paths)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("text", [[], ["", " \t"]])
def test_empty_files(tmp_path, text):
    with pytest.raises(ValueError, match=r"run .* one item, got none in '.*a\.run'"):
        load_trec(*write_both(tmp_path, run=text))
    with pytest.raises(ValueError, match=r"qrels .* got none in '.*a\.qrels'"):
        load_trec(*write_both(tmp_path, qrels=text))


def test_missing_files(tmp_path):
    run, qrels = write_both(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"run must be .* file, got '.*none'"):
        load_trec(tmp_path / "none", qrels)
    with pytest.raises(FileNotFoundError, match="qrels must be an existing file"):
        load_trec(run, tmp_path)  # a folder


class Column:
    """The first column of X as the score."""

    def predict(self, X):
        return X[:, 0]


def test_what_is_read_calibrates_a_ranker(tmp_path):
    rng = np.random.default_rng(0)
    score = rng.integers(-50, 50, 300)
    relevance = (score + rng.normal(scale=20, size=300) > 0).astype(int)
    paths = write_both(
        tmp_path,
        [f"q{i % 20} Q0 d{i} 1 {score[i]} tag" for i in range(300)],
        [f"q{i % 20} 0 d{i} {relevance[i]}" for i in range(300)],
    )
    found = load_trec(*paths)
    ranker = BALToR(Column(), coverage=0.5).fit(found.data, found.target, qid=found.qid)
    assert ranker.n_queries_ == 20
    ranking = ranker.ranking(found.data, qid=found.qid, item_id=found.item_id)
    best = ranking.item_id[(ranking.qid == "q3") & (ranking.place == 1)]
    assert best == f"d{3 + 20 * np.argmax(score[3::20])}"


def order_of_trec_eval(found):
    """Documents by query: by falling single score, equal ones by name, backwards."""
    single = found.data[:, 0].astype(np.float32)
    rows = sorted(range(single.size), key=lambda k: found.item_id[k], reverse=True)
    rows = sorted(rows, key=lambda k: -single[k])
    by_query = {}
    for k in rows:
        by_query.setdefault(found.qid[k], []).append(found.item_id[k])
    return by_query


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30, 0.0])
def test_a_run_keeps_the_order_of_ties(tmp_path, scale):
    rng = np.random.default_rng(0)
    scores = scale * rng.integers(-3, 3, 200) * (1 + rng.integers(0, 2, 200) * 1e-12)
    qid = rng.permutation(200) % 7
    names = np.array([f"d{k}" for k in rng.permutation(200)])
    save_trec(tmp_path / "a.run", scores, qid=qid, item_id=names)
    expected = {
        str(q): names[np.flatnonzero(qid == q)][
            np.argsort(-scores[qid == q], kind="stable")
        ].tolist()
        for q in range(7)
    }
    assert order_of_trec_eval(load_trec(tmp_path / "a.run")) == expected


def test_numbers_that_a_frame_held_as_floats_are_those_of_the_judgements(tmp_path):
    scores, names = [2.0, 1.0], np.array([18219.0, 7.0])
    save_trec(tmp_path / "a.run", scores, qid=np.full(2, 12.0), item_id=names)
    found = load_trec(tmp_path / "a.run")
    assert (found.qid.tolist(), found.item_id.tolist()) == (["12"] * 2, ["18219", "7"])
    save_trec(tmp_path / "a.run", scores, qid="v2.0", item_id=[1.5, "3.0"])
    found = load_trec(tmp_path / "a.run")
    assert (found.qid[0], found.item_id.tolist()) == ("v2.0", ["1.5", "3.0"])


def test_a_run_goes_by_the_places_of_a_ranking(tmp_path):
    data = make_ranking(n_queries=60, random_state=0)
    ranker = BALToR(Ridge(), random_state=0).fit(data.data, data.target, qid=data.qid)
    rows = slice(0, 40)
    ranking = ranker.ranking(data.data[rows], qid=data.qid[rows])
    with pytest.raises(ValueError, match="got the positions of rows: pass item_id="):
        save_trec(tmp_path / "a.run", ranking)
    names = np.arange(40) + 1000
    ranking = ranker.ranking(data.data[rows], qid=data.qid[rows], item_id=names)
    save_trec(tmp_path / "a.run", ranking, tag="ours")
    found = load_trec(tmp_path / "a.run")
    assert found.item_id.tolist() == [str(row) for row in ranking.item_id]
    np.testing.assert_allclose(found.data[:, 0], ranking.score, rtol=1e-5)
    # Items of which the place is decided keep it.
    decided = ranking.take(~ranking.open)
    assert 0 < len(decided) < len(ranking)
    save_trec(tmp_path / "a.run", decided)
    lines = [line.split() for line in (tmp_path / "a.run").read_text().splitlines()]
    assert [(int(line[2]), int(line[3])) for line in lines] == [
        (item.item_id, item.place) for item in ranking if item.best == item.worst
    ]
    found = load_trec(tmp_path / "a.run").qid
    assert repr(decided).startswith(
        f"Ranking(n_items={len(lines)}, n_queries={len(set(found.tolist()))}, open=0"
    )
    # A place that the score does not bear out, as of a feature-aware model, holds too.
    one = np.ones(3, dtype=int)
    shuffled = Ranking(
        one, np.array(["a", "b", "c"]), one.cumsum(), *[one.cumsum()] * 3
    )
    save_trec(tmp_path / "b.run", shuffled)
    assert order_of_trec_eval(load_trec(tmp_path / "b.run")) == {"1": ["a", "b", "c"]}
    assert (tmp_path / "b.run").read_text().splitlines()[0] == (
        "1 Q0 a 1 1 skrank_abstain"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"item_id": None}, "got the positions of rows: pass item_id="),
        ({"qid": None}, "qid must be texts without blanks for a run, got 'None'"),
        ({"item_id": ["a b", "c"]}, "item_id must be texts without blanks"),
        ({"item_id": ["a\n", "c"]}, "item_id must be texts without blanks"),
        ({"item_id": ["a", "a"]}, "item_id must be unique within a query"),
        ({"tag": ""}, "tag must be texts without blanks"),
        ({"ranking": [1.0, np.nan]}, "ranking must"),
    ],
)
def test_a_run_that_nobody_could_read_is_not_written(tmp_path, options, message):
    given = {"ranking": [1.0, 2.0], "qid": "q", "item_id": ["a", "b"]} | options
    (tmp_path / "a.run").write_text("old")
    with pytest.raises(ValueError, match=message):
        save_trec(tmp_path / "a.run", given.pop("ranking"), **given)
    assert (tmp_path / "a.run").read_text() == "old"
