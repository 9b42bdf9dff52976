import hashlib
import json
import pickle
import sys
import warnings

import numpy as np
import pytest
from doubles import Trap
from scorers.boosters import make_ranker, train_natively

from skrank_abstain.scorers import is_fitted, load_model, resolve_model, score_items

KINDS = {
    "xgboost json": ("xgboost", "m.json"),
    "xgboost binary": ("xgboost", "m.ubj"),
    "lightgbm text": ("lightgbm", "m.txt"),
    "catboost cbm": ("catboost", "m.cbm"),
    "catboost json": ("catboost", "m.json"),
}
RAW_TYPES = {
    "xgboost": "xgboost.core.Booster",
    "lightgbm": "lightgbm.basic.Booster",
    "catboost": "catboost.core.CatBoost",
}


def save(model, kind, folder):
    library, name = KINDS[kind]
    path = folder / name
    if library == "lightgbm":
        model.booster_.save_model(path)
    elif kind == "catboost json":
        model.save_model(str(path), format="json")
    else:
        model.save_model(str(path))
    return path


@pytest.fixture(params=KINDS)
def kind(request):
    """Each kind of file in turn."""
    pytest.importorskip(KINDS[request.param][0])
    return request.param


@pytest.fixture
def saved(kind, trained, tmp_path):
    """Path of the ranker trained on a frame, saved as each kind of file."""
    return save(trained(KINDS[kind][0]), kind, tmp_path)


def test_round_trip_whatever_the_file_is_called(kind, saved, data, trained):
    library = KINDS[kind][0]
    expected = trained(library).predict(data.frame)
    for name in (
        saved.name,
        "model",
        "model.txt",
        "model.ubj",
        "model.json",
        "a b.cbm",
    ):
        path = saved.rename(saved.with_name(name))
        saved = path
        model = resolve_model(path)
        assert f"{type(model).__module__}.{type(model).__name__}" == RAW_TYPES[library]
        assert is_fitted(model)
        for X in (data.frame, data.frame[list("dbca")], data.X):
            np.testing.assert_allclose(score_items(model, X), expected, rtol=1e-14)
    np.testing.assert_allclose(score_items(str(path), data.frame), expected, rtol=1e-14)


def test_a_model_of_an_array(kind, data, trained, tmp_path):
    library = KINDS[kind][0]
    path = save(trained(library, named=False), kind, tmp_path)
    expected = trained(library).predict(data.frame)
    for X in (data.frame, data.X):
        np.testing.assert_allclose(score_items(path, X), expected, rtol=1e-14)
    with pytest.raises(ValueError, match="X must have 4 columns"):
        score_items(path, data.X[:, [0, 1, 2, 3, 3]])


def test_a_file_knows_its_categories(kind, mixed, tmp_path):
    library = KINDS[kind][0]
    options = {
        "xgboost": {"enable_categorical": True},
        "lightgbm": {"min_child_samples": 3, "min_data_per_group": 3},
        "catboost": {"cat_features": ["colour"], "one_hot_max_size": 2},
    }[library]
    model = make_ranker(library, **options)
    train_natively(model, library, mixed.frame, mixed.y)
    path = save(model, kind, tmp_path)
    recoded = mixed.frame["colour"].cat.set_categories(["red", "blue", "green"])
    X = mixed.frame.assign(colour=recoded)
    np.testing.assert_allclose(
        score_items(path, X), model.predict(mixed.frame), rtol=1e-12
    )


def test_a_file_from_before_xgboost_wrote_categories(mixed, tmp_path):
    model = make_ranker("xgboost", enable_categorical=True)
    train_natively(model, "xgboost", mixed.frame, mixed.y)
    path = tmp_path / "model.json"
    model.save_model(path)
    content = json.loads(path.read_text())
    del content["learner"]["gradient_booster"]["model"]["cats"]
    path.write_text(json.dumps(content))
    codes = mixed.frame.assign(colour=mixed.frame["colour"].cat.codes)
    np.testing.assert_allclose(
        score_items(path, codes.to_numpy()), model.predict(mixed.frame), rtol=1e-12
    )
    with pytest.raises(ValueError, match=r"codes.*columns \['colour'\]"):
        score_items(path, mixed.frame)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_file_cut_off_anywhere_is_refused(saved, kind, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: max(int(share * len(content)), 40)])
    title = {"x": "XGBoost", "l": "LightGBM", "c": "CatBoost"}[kind[0]]
    with pytest.raises(ValueError, match=f"cut-off or damaged {title} file") as caught:
        load_model(saved)
    assert saved.name in str(caught.value)
    assert "LightGBM (text) or CatBoost" in str(caught.value)


def test_a_file_without_its_end_is_refused(saved, kind):
    content = saved.read_bytes()
    # LightGBM's last line may end without a newline; half of the line is not a line.
    for lost in (2, 3, 9, 20) if kind.startswith("lightgbm") else (1, 2, 3, 9, 20):
        saved.write_bytes(content[:-lost])
        with pytest.raises(ValueError, match="cut-off or damaged"):
            load_model(saved)


def test_a_cut_at_a_tree_is_refused(trained, tmp_path):
    path = save(trained("lightgbm"), "lightgbm text", tmp_path)
    content = path.read_bytes()
    for part in (b"Tree=0", b"Tree=3", b"end of trees", b"\nparameters:"):
        path.write_bytes(content[: content.index(part)])
        with pytest.raises(ValueError, match="cut-off or damaged LightGBM"):
            load_model(path)
    # All trees, from another writer: no line on categories.
    path.write_bytes(content[: content.index(b"\npandas_categorical")])
    load_model(path)
    # One tree less than the header announces.
    middle = content.index(b"Tree=2"), content.index(b"Tree=3")
    path.write_bytes(content[: middle[0]] + content[middle[1] :])
    with pytest.raises(ValueError, match="tree 2 is not where the header says"):
        load_model(path)


def test_the_message_of_a_library_is_repeated(toyboost, tmp_path):
    path = tmp_path / "model.toy"
    path.write_text("TOY upside down")
    with pytest.raises(ValueError, match=r"damaged ToyBoost file \(invalid literal"):
        load_model(path)


def test_windows_line_ends(trained, data, tmp_path):
    path = save(trained("lightgbm"), "lightgbm text", tmp_path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    expected = trained("lightgbm").predict(data.frame)
    np.testing.assert_array_equal(score_items(path, data.frame), expected)


def test_indented_json(trained, data, tmp_path):
    path = save(trained("xgboost"), "xgboost json", tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2))
    expected = trained("xgboost").predict(data.frame)
    np.testing.assert_array_equal(score_items(path, data.frame), expected)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_refused_and_never_run(protocol, tmp_path):
    target = tmp_path / "sprung"
    path = tmp_path / "model.json"
    path.write_bytes(pickle.dumps(Trap(target), protocol))
    with pytest.raises(ValueError, match=r"model\.json'.* which is another kind"):
        load_model(path)
    assert not target.exists()
    pickle.loads(path.read_bytes())  # the trap works
    assert target.exists()


@pytest.mark.parametrize("compress", [0, 3])
def test_a_joblib_file_is_refused_and_never_run(compress, tmp_path):
    joblib = pytest.importorskip("joblib")
    target = tmp_path / "sprung"
    joblib.dump(Trap(target), tmp_path / "model.txt", compress=compress)
    with pytest.raises(ValueError, match=r"which is another kind.* unpickle and pass"):
        load_model(tmp_path / "model.txt")
    assert not target.exists()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "another kind of file"),
        (b"{}", "another kind of file"),
        (b'{"name": "tree"}', "another kind of file"),
        (b"x,y\n1,2\n", "another kind of file"),
        (b"PK\x03\x04", "another kind of file"),
        (b"tree", "another kind of file"),
        (b"tree\n", "cut-off or damaged LightGBM"),
        (b"CBM1", "cut-off or damaged CatBoost"),
        (b'{"learner":', "cut-off or damaged XGBoost"),
        (b"\xff" * 30, "another kind of file"),
    ],
)
def test_other_files_are_described(content, found, tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=found) as caught:
        load_model(path)
    for part in ("model.bin", "XGBoost (JSON or UBJSON)", "estimator must"):
        assert part in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.json"):
        load_model(tmp_path / "nothing.json")
    with pytest.raises(ValueError, match="a directory"):
        load_model(tmp_path)


def test_a_missing_library_is_named_with_its_extra(saved, kind, monkeypatch):
    library = KINDS[kind][0]
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"install skrank-abstain\[{library}\]"):
        load_model(saved)


def test_loading_prints_and_warns_nothing(saved, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(saved)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_a_checksum_that_agrees(saved, data):
    digits = hashlib.sha256(saved.read_bytes()).hexdigest()
    plain = score_items(saved, data.frame)
    for sha256 in (digits, digits.upper()):
        model = load_model(saved, sha256=sha256)
        np.testing.assert_array_equal(score_items(model, data.frame), plain)


@pytest.mark.parametrize("content", [b"tree\nof any kind", b"no model"])
def test_a_checksum_is_compared_before_anything_is_read(content, tmp_path):
    path = tmp_path / "model.txt"
    digits = hashlib.sha256(content).hexdigest()
    path.write_bytes(content + b"\n")
    with pytest.raises(ValueError, match=r"that of the file '.*model\.txt'") as caught:
        load_model(path, sha256=digits)
    found = hashlib.sha256(content + b"\n").hexdigest()
    for part in (f"{found}, got {digits}", "copy it again"):
        assert part in str(caught.value)


def test_a_file_that_catboost_reads_and_that_changes(trained, tmp_path, monkeypatch):
    path = save(trained("catboost"), "catboost cbm", tmp_path)
    catboost = pytest.importorskip("catboost")

    class Slow(catboost.CatBoost):
        def load_model(self, *args, **options):
            model = super().load_model(*args, **options)
            path.write_bytes(path.read_bytes() + b"\n")
            return model

    monkeypatch.setattr(catboost, "CatBoost", Slow)
    with pytest.raises(ValueError, match="it changed while it was read"):
        load_model(path)
