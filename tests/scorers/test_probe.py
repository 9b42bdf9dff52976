import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from scorers.boosters import BadBoost, make_ranker, train_natively
from scorers.test_files import KINDS, save

from skrank_abstain.scorers import BOOSTERS, _probe, load_model
from skrank_abstain.scorers._probe import stages

posix = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


@pytest.fixture
def badboost(monkeypatch):
    """Registers the library that its files harm."""
    booster = BadBoost()
    monkeypatch.setattr("skrank_abstain.scorers._files.BOOSTERS", [booster])
    return booster


@pytest.fixture
def children(monkeypatch):
    """Processes that were started."""
    started = []

    class Recorded(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return started


def write(tmp_path, harms):
    path = tmp_path / "model.toy"
    path.write_text(f"TOY {harms}")
    return path


@posix
def test_what_ends_a_process_is_an_error(badboost, children, tmp_path):
    path = write(tmp_path, "print abort")
    with pytest.raises(ValueError, match=r"model\.toy', which is .* BadBoost") as error:
        load_model(path, probe=True)
    for part in ("(scoring rows with it", f"signal {signal.SIGABRT}", "Save the model"):
        assert part in str(error.value)
    assert [child.returncode for child in children] == [-signal.SIGABRT]


def test_an_exit_in_place_of_an_answer():
    assert _probe._ending(3) == "ended with exit code 3"


@posix
@pytest.mark.slow
def test_what_hangs_is_an_error(badboost, children, monkeypatch, tmp_path):
    path = write(tmp_path, "fine sleep")
    for seconds in (4.0, 20.0, 100.0):  # a slow machine takes long to start Python
        monkeypatch.setattr(_probe, "_SECONDS", seconds)
        try:
            with pytest.raises(ValueError, match=rf"rows .* within {seconds:.0f} s\)"):
                load_model(path, probe=True)
        except RuntimeError:
            continue
        break
    assert all(child.returncode == -signal.SIGKILL for child in children)


@posix
def test_an_interrupt_ends_the_child(badboost, children, monkeypatch, tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            load_model(write(tmp_path, "sleep fine"), probe=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert [child.returncode for child in children] == [-signal.SIGKILL]


@pytest.mark.parametrize(
    ("harms", "said"),
    [
        ("fine fine", ["begun", "read", "scored"]),
        ("raise fine", ["begun", "refused the third tree is upside down"]),
        ("fine raise", ["begun", "read", "refused the third tree is upside down"]),
        ("fine nan", ["begun", "read", "refused scores must be finite"]),
        ("allocate fine", ["begun", "refused Unable to allocate"]),
    ],
)
def test_how_far_one_gets_with_a_file(harms, said):
    found = list(stages(BadBoost(), "model.toy", f"TOY {harms}".encode()))
    assert len(found) == len(said)
    assert all(map(str.startswith, found, said))


@pytest.mark.slow
def test_the_words_of_a_library_are_the_message(badboost, tmp_path):
    with pytest.raises(ValueError, match=r"\(the third tree is upside down\)"):
        load_model(write(tmp_path, "fine raise"), probe=True)


@pytest.mark.skipif(sys.platform != "linux", reason="bounded on Linux alone")
def test_half_of_the_memory_that_is_left_is_the_bound(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(_probe, "available_memory", lambda: 2**28)
    kinds = resource.RLIMIT_DATA, resource.RLIMIT_CORE
    before = [resource.getrlimit(kind) for kind in kinds]
    try:
        _probe._bound_memory()
        assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
        assert np.ones(2**23).nbytes < 2**27
        with pytest.raises(MemoryError):
            np.ones(2**25)
    finally:
        for kind, limits in zip(kinds, before, strict=True):
            resource.setrlimit(kind, limits)


@pytest.mark.slow
def test_a_library_that_no_child_can_import(badboost, monkeypatch, tmp_path):
    monkeypatch.setattr(BadBoost, "__module__", "nowhere")
    monkeypatch.setitem(sys.modules, "nowhere", sys.modules["scorers.boosters"])
    with pytest.raises(RuntimeError, match=r"nowhere there, got .*No module named"):
        load_model(write(tmp_path, "fine fine"), probe=True)


@pytest.mark.parametrize("kind", KINDS)
def test_undamaged_files_pass(kind, data, mixed, trained, tmp_path):
    library = KINDS[kind][0]
    pytest.importorskip(library)
    options = {
        "xgboost": {"enable_categorical": True},
        "lightgbm": {"min_child_samples": 3, "min_data_per_group": 3},
        "catboost": {"cat_features": ["colour"], "one_hot_max_size": 2},
    }[library]
    model = make_ranker(library, **options)
    train_natively(model, library, mixed.frame, mixed.y)
    for ranker in (trained(library), trained(library, named=False), model):
        path = save(ranker, kind, tmp_path)
        content = path.read_bytes()
        booster = next(one for one in BOOSTERS if one.opens(content))
        assert list(stages(booster, str(path), content)) == ["begun", "read", "scored"]


def test_other_models_of_catboost(data, tmp_path):
    catboost = pytest.importorskip("catboost")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "text": np.where(data.X[:, 0] > 0, "one or two", "three or four"),
            "vector": list(data.X[:, :3].round(1)),
        }
    )
    for column, kind in (("text", "text_features"), ("vector", "embedding_features")):
        model = catboost.CatBoostRegressor(
            iterations=5, allow_writing_files=False, **{kind: [column]}
        )
        model.fit(frame[[column]], data.y, verbose=False)
        path = save(model, "catboost cbm", tmp_path)
        booster = next(one for one in BOOSTERS if one.name == "catboost")
        *_, last = stages(booster, str(path), path.read_bytes())
        assert last == "scored"


def test_rows_of_another_library_miss_nothing(toyboost):
    rows = np.array([[np.nan, -2.0], [0.5, 0.0]])
    np.testing.assert_array_equal(
        toyboost.probe_rows(None, rows), [[0.0, -2.0], [0.5, 0.0]]
    )


@pytest.mark.slow
def test_a_file_that_ends_lightgbm(trained, tmp_path):
    path = save(trained("lightgbm"), "lightgbm text", tmp_path)
    content = path.read_bytes()
    leaves = re.search(rb"num_leaves=(\d)", content)
    # One leaf less than the tree has values; the sizes of the trees stay true.
    less = b"num_leaves=%d" % (int(leaves[1]) - 1)
    path.write_bytes(content.replace(leaves[0], less, 1))
    with pytest.raises(ValueError, match="cut-off or damaged LightGBM"):
        load_model(path, probe=True)


@pytest.mark.slow
def test_a_script_without_a_guard_in_any_folder(trained, data, tmp_path):
    path = save(trained("lightgbm"), "lightgbm text", tmp_path)
    # Modules beside the script that a child must not take for others.
    for name in ("json", "pickle", "select"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(name)")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys; sys.path[:] = eval(sys.argv[1])\n"
        "from skrank_abstain.scorers import load_model\n"
        f"print(load_model({path.name!r}, probe=True).num_feature())\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", str(script), ascii(sys.path)],
        cwd=tmp_path,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["4"]
