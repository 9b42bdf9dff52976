"""The example of the published table: its readers, its numbers, its two scorers."""

import csv
import gzip
import importlib.util
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from doubles import Trap
from scipy.stats import chisquare

EXAMPLES = Path(__file__).parents[2] / "examples" / "programs"
RNG = np.random.default_rng(0)
X = RNG.integers(0, 256, (60, 3072), dtype=np.uint8)
Y = RNG.integers(0, 10, 60).astype(np.uint8)


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.delitem(sys.modules, "resnet_scorer", raising=False)
    return load("abstention_loss_table")


def cifar_parts():
    """Five files of ten images, and ten for the test."""
    names = [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]
    return [
        (name, X[10 * k : 10 * k + 10], Y[10 * k : 10 * k + 10])
        for k, name in enumerate(names)
    ]


def write_binary(folder):
    for name, images, labels in cifar_parts():
        records = b"".join(
            bytes([label]) + image.tobytes()
            for label, image in zip(labels, images, strict=True)
        )
        (folder / f"{name}.bin").write_bytes(records)


def write_python(folder):
    for name, images, labels in cifar_parts():
        content = {b"data": images, b"labels": labels.tolist()}
        raw = pickle.dumps(content, protocol=2)
        # As numpy named its parts when the published files were written.
        raw = raw.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
        (folder / name).write_bytes(raw)


def idx(array):
    sizes = np.array(array.shape, dtype=">u4").tobytes()
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def write_idx(folder, end=""):
    for part, rows in (("train", slice(50)), ("t10k", slice(50, None))):
        images = X[rows, :20].reshape(-1, 4, 5)
        for name, array in (("images-idx3", images), ("labels-idx1", Y[rows])):
            raw = gzip.compress(idx(array)) if end else idx(array)
            (folder / f"{part}-{name}-ubyte{end}").write_bytes(raw)


@pytest.mark.parametrize(
    ("write", "shape", "n_pixels"),
    [
        (write_binary, (3, 32, 32), 3072),
        (write_python, (3, 32, 32), 3072),
        (write_idx, (1, 4, 5), 20),
        (lambda folder: write_idx(folder, ".gz"), (1, 4, 5), 20),
    ],
    ids=["binary", "python", "idx", "idx.gz"],
)
def test_standard_files_are_read(example, write, shape, n_pixels, tmp_path):
    write(tmp_path)
    images = example.read_folder(tmp_path)
    assert images.shape == shape
    assert images.white == 255
    np.testing.assert_array_equal(images.X, X[:50, :n_pixels])
    np.testing.assert_array_equal(images.y, Y[:50])
    np.testing.assert_array_equal(images.X_test, X[50:, :n_pixels])
    np.testing.assert_array_equal(images.y_test, Y[50:])


def test_a_pickle_that_runs_code_is_refused(example, tmp_path):
    trap = pickle.dumps(Trap(tmp_path / "ran"), protocol=2)
    (tmp_path / "data_batch_1").write_bytes(trap)
    with pytest.raises(ValueError, match="holds more than arrays"):
        example.read_folder(tmp_path)
    assert not (tmp_path / "ran").exists()


def empty(folder):
    """Write nothing."""


def half_a_record(folder):
    (folder / "data_batch_1.bin").write_bytes(b"\0" * 3074)


def one_file_of_six(folder):
    (folder / "data_batch_1.bin").write_bytes(b"\0" * 3073)


def floats(folder):
    (folder / "train-images-idx3-ubyte").write_bytes(b"\0\0\x0d\x03")


def cut_short(folder):
    write_python(folder)
    path = folder / "data_batch_1"
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (empty, "holds neither data_batch_1.bin, nor"),
        (half_a_record, "not made of records of 3073 bytes"),
        (one_file_of_six, "No such file"),
        (floats, "no IDX file of unsigned bytes"),
        (cut_short, "pickle data was truncated|Ran out of input"),
    ],
)
def test_files_that_are_something_else(example, write, message, tmp_path, capsys):
    write(tmp_path)
    with pytest.raises(SystemExit):
        example.main(["--data", str(tmp_path)])
    error = capsys.readouterr().err
    assert "--data cannot be read" in error
    assert any(part in error for part in message.split("|"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--costs", "0.1"], "--costs must be two or more, got [0.1]"),
        (["--costs", "0.1", "1.5"], "invalid share value: '1.5'"),
        (["--gammas", "-1"], "--gammas"),
        (["--runs", "0"], "invalid positive value: '0'"),
        (["--max-gradient", "0"], "invalid length value: '0'"),
    ],
)
def test_wrong_options_are_refused_before_training(example, options, message, capsys):
    with pytest.raises(SystemExit):
        example.main(options)
    assert message in capsys.readouterr().err


def test_the_published_table_is_the_paper_s_and_linear(example, oracles):
    table = oracles["mao_table1_percent"]
    assert list(example.PUBLISHED_GAMMAS) == table["gamma"]
    for k, cost in enumerate(example.PUBLISHED_COSTS):
        assert list(example.PUBLISHED_MEAN[k]) == table["mean"][f"{cost:g}"]
        assert list(example.PUBLISHED_SD[k]) == table["std"][f"{cost:g}"]
    slope, start, miss = example.line(example.PUBLISHED_COSTS, example.PUBLISHED_MEAN)
    # Each number of the table is rounded to 0.01, so it misses a line by 0.005 or so.
    assert miss < 0.01
    for k, row in enumerate(table["implied"]):
        given_up = row["rejected_pct_from_c_0p1_0p3"]
        assert slope[k] == pytest.approx(given_up, abs=0.05)
        assert start[k] == pytest.approx(row["accepted_error_mass_pct"], abs=0.02)
    bent = example.PUBLISHED_MEAN + np.array([[0.0], [0.2], [0.0]])
    assert example.line(example.PUBLISHED_COSTS, bent)[2] > 0.1


def test_what_is_measured_of_one_gamma(example):
    # Pairs of four items at distance 1 from each other, the last two at 0.25.
    items = np.array([[0.0], [1.0], [2.0], [2.25]])
    y, scores = np.array([0.0, 1.0, 3.0, 3.0]), np.array([1.0, 0.0, 2.0, 3.0])
    pairs = np.array([[0, 1], [0, 2], [2, 3], [3, 2]])
    row = example.measure(y, scores, items, 0.5, pairs)
    # Wrong: (0, 1), and (3, 2), of equal classes, whose label is +1 in either order.
    assert row == {
        "given_up": 2 / 4,
        "error": 2 / 4,
        "same": 2 / 4,
        "error_decided": 1 / 2,
        "error_given_up": 1 / 2,
        "same_given_up": 2 / 2,
    }
    nothing = example.measure(y, scores, items, 0.1, pairs)
    assert nothing["given_up"] == 0
    assert np.isnan(nothing["error_given_up"])
    everything = example.measure(y, scores, items, 9.0, pairs)
    assert everything["given_up"] == 1
    assert np.isnan(everything["error_decided"])


def test_smoke_run_on_digits(example, tmp_path, capsys):
    options = ["--smoke", "--quiet", "--out", str(tmp_path)]
    rows = example.main([*options, "--gammas", "0", "0.7", "0.9", "1"])
    assert len(rows) == 2 * 4 * 3
    for row in rows:
        straight = (1 - row["given_up"]) * row["error_decided"]
        if row["gamma"] == 1:  # no two pixels differ by more
            assert row["given_up"] == 1
            straight = 0
        paid = row["cost"] * row["given_up"]
        assert row["loss"] == pytest.approx(straight + paid, abs=1e-12)
        assert row["same"] == pytest.approx(0.1, abs=0.03)
    near = [row for row in rows if row["gamma"] == 0.7]
    # Near digits are the same digit, mostly, and half wrong then.
    assert all(row["same_given_up"] > 0.6 for row in near)
    assert all(row["error_given_up"] > row["error_decided"] + 0.2 for row in near)
    with (tmp_path / "abstention_loss_table.csv").open(newline="") as file:
        saved = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in saved] == [row["loss"] for row in rows]
    printed = capsys.readouterr().out
    assert "8.25±0.07*" in printed
    assert "Cost 0.1: lowest loss at gamma " in printed
    assert max(map(len, printed.splitlines()[:-1])) <= 88  # the last is a path


def test_runs_on_images_of_a_folder(example, tmp_path, capsys):
    write_idx(tmp_path)
    options = ["--data", str(tmp_path), "--quiet", "--runs", "1", "--pairs", "80"]
    rows = example.main([*options, "--train-images", "40", "--out", str(tmp_path)])
    assert {row["gamma"] for row in rows} == {0, 0.3, 0.5, 0.7, 0.9}
    printed = capsys.readouterr().out
    assert "40 images to train on, 10 to test" in printed
    assert "±nan" in printed  # one run has no standard deviation


def test_without_pytorch_the_resnet_says_what_it_needs(example, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs PyTorch, .*: pip install"):
        load("resnet_scorer")
    with pytest.raises(SystemExit):
        example.main(["--scorer", "resnet", "--smoke"])
    assert "needs PyTorch" in capsys.readouterr().err


def test_options_of_training_reach_the_resnet(example, monkeypatch):
    scorer = SimpleNamespace(ResNetRanker=lambda shape, **options: options)
    monkeypatch.setitem(sys.modules, "resnet_scorer", scorer)

    def options(*flags):
        args, images = example.parse(["--scorer", "resnet", *flags])
        return example.make_scorer(args, images, 3)

    plain = options()
    published = {"epochs": 200, "batch_size": 1024, "learning_rate": 0.1}
    ours = {"augment": False, "max_gradient": None}  # both are asked for
    assert plain == {**published, **ours, "random_state": 3, "quiet": False}
    other = options("--augment", "--max-gradient", "1.5")
    assert (other["augment"], other["max_gradient"]) == (True, 1.5)


def test_images_are_shifted_and_mirrored():
    torch = pytest.importorskip("torch")
    resnet = load("resnet_scorer")
    images = RNG.random((2000, 3, 5, 6))
    seen = resnet.shift_and_mirror(
        torch.as_tensor(images), torch.Generator().manual_seed(0)
    ).numpy()
    padded = np.pad(images, ((0, 0), (0, 0), (4, 4), (4, 4)))
    times = np.zeros((9, 9, 2))
    for shifts in np.ndindex(times.shape[:2]):
        crops = padded[:, :, shifts[0] : shifts[0] + 5, shifts[1] : shifts[1] + 6]
        for mirrored, crop in enumerate((crops, crops[..., ::-1])):
            times[*shifts, mirrored] = (crop == seen).all(axis=(1, 2, 3)).sum()
    # Every image is one crop of its own, at places that are all as likely.
    assert times.sum() == 2000
    assert chisquare(times.ravel()).pvalue > 0.001


@pytest.mark.slow
def test_resnet_is_the_usual_one_and_learns(example):
    torch = pytest.importorskip("torch")
    resnet = load("resnet_scorer")
    # 21,282,122 parameters with ten outputs of 512 weights and a bias; here is one.
    network = resnet.resnet34(3)
    n_parameters = sum(values.numel() for values in network.parameters())
    assert n_parameters == 21_282_122 - 9 * 513
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 1)
    scores, y = torch.tensor([1.0, 2.0, 0.0]), torch.tensor([1.0, 0.0, 0.0])
    expected = (np.exp(1) + np.exp(-1)) / 2
    assert float(resnet.pair_loss(scores, y)) == pytest.approx(expected, rel=1e-6)
    images = example.read_digits()
    rows = images.X[:300] / images.white
    options = {"epochs": 3, "batch_size": 100, "random_state": 0, "quiet": True}
    for augment in (False, True):
        ranker = resnet.ResNetRanker(
            images.shape, **options, augment=augment, max_gradient=1.0
        ).fit(rows, images.y[:300])
        assert ranker.loss_curve_[-1] < ranker.loss_curve_[0]
        assert ranker.predict(rows).shape == (300,)
    diverging = resnet.ResNetRanker(images.shape, **options, learning_rate=1e3)
    with pytest.raises(ValueError, match=r"below 1000\.0, or cut gradients by"):
        diverging.fit(rows, images.y[:300])
