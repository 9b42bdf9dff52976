"""What does it cost to give up near pairs? The published table, on images of yours.

Mao, Mohri and Zhong ("Ranking with Abstention", 2023, arXiv:2307.02035, Table 1) rank
pairs of images by their class, give up pairs that are at most gamma apart in every
pixel, and pay a cost for each. This follows their protocol: 10,000 random pairs of test
images, mean and standard deviation of three runs, a grid of gammas and costs. Each run
trains again, from another start, and draws other pairs.

    python abstention_loss_table.py              # scikit-learn's digits
    python abstention_loss_table.py --data DIR   # CIFAR-10 or Fashion-MNIST
    python abstention_loss_table.py --smoke      # seconds
    python abstention_loss_table.py --data DIR --scorer resnet --augment

The last one needs PyTorch. With --augment it trains with all options that the paper
names for CIFAR-10: images are padded by 4 pixels, cropped at random to their size and
mirrored at random. What the paper leaves open is in resnet_scorer.py.

DIR holds the files as they are published: data_batch_1.bin to 5 and test_batch.bin, or
the same without .bin (the Python version), or train-images-idx3-ubyte and its three
siblings, which may end in .gz.
"""

import csv
import gzip
import pickle
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

from skrank_abstain.distance import (
    ConstrainedMLPRanker,
    misranking_loss,
)

#: Table 1: mean and standard deviation in percent, one row per cost.
PUBLISHED_GAMMAS = (0.0, 0.3, 0.5, 0.7, 0.9)
PUBLISHED_COSTS = (0.1, 0.3, 0.5)
PUBLISHED_MEAN = np.array(
    [
        [8.33, 8.33, 8.33, 8.25, 8.54],
        [8.33, 8.33, 8.35, 9.73, 20.41],
        [8.33, 8.33, 8.36, 11.20, 32.28],
    ]
)
PUBLISHED_SD = np.array(
    [
        [0.15, 0.15, 0.15, 0.07, 0.07],
        [0.15, 0.15, 0.15, 0.11, 0.06],
        [0.15, 0.15, 0.14, 0.14, 0.07],
    ]
)

Row = dict[str, float]


@dataclass(frozen=True)
class Images:
    """Images as rows of whole numbers from 0 to ``white``, and their classes."""

    name: str
    shape: tuple[int, int, int]  # channels, height, width
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    white: int = 255


def read_digits() -> Images:
    """Return the digits of scikit-learn, a third of them for the test."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=1 / 3, stratify=y, random_state=0
    )
    return Images("scikit-learn's digits", (1, 8, 8), X, y, X_test, y_test, white=16)


def read_idx(path: Path) -> np.ndarray:
    """Return the array of an IDX file of bytes, which may be compressed."""
    raw = (gzip.decompress if path.suffix == ".gz" else bytes)(path.read_bytes())
    if raw[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is no IDX file of unsigned bytes.")
    n_axes = raw[3]
    shape = np.frombuffer(raw, ">u4", n_axes, offset=4).astype(int)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * n_axes).reshape(shape)


def read_cifar_binary(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return images and labels of a file of CIFAR-10's binary version."""
    records = np.fromfile(path, np.uint8)
    if records.size == 0 or records.size % 3073:
        raise ValueError(f"{path} is not made of records of 3073 bytes.")
    records = records.reshape(-1, 3073)
    return records[:, 1:], records[:, 0]


class ArraysOnly(pickle.Unpickler):
    """Unpickle arrays, and refuse everything else, since a pickle can run code."""

    def find_class(self, module: str, name: str) -> Any:
        """Look up what an array is made of."""
        numpy = module.split(".")[0] == "numpy"
        arrays = numpy and name in ("_reconstruct", "ndarray", "dtype")
        if not arrays and (module, name) != ("_codecs", "encode"):
            raise ValueError(f"The pickle holds more than arrays: {module}.{name}.")
        return super().find_class(module, name)


def read_cifar_python(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return images and labels of a file of CIFAR-10's Python version."""
    with path.open("rb") as file:
        content = ArraysOnly(file, encoding="bytes").load()
    return content[b"data"], np.array(content[b"labels"])


def read_cifar(folder: Path, read: Callable[..., Any], end: str) -> Images:
    parts = [read(folder / f"data_batch_{k}{end}") for k in range(1, 6)]
    X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Images("CIFAR-10", (3, 32, 32), X, y, *read(folder / f"test_batch{end}"))


def read_idx_folder(folder: Path, end: str) -> Images:
    def read(part: str) -> tuple[np.ndarray, np.ndarray]:
        images = read_idx(folder / f"{part}-images-idx3-ubyte{end}")
        return images, read_idx(folder / f"{part}-labels-idx1-ubyte{end}")

    (X, y), (X_test, y_test) = read("train"), read("t10k")
    flat = X.reshape(len(X), -1), X_test.reshape(len(X_test), -1)
    shape = 1, X.shape[1], X.shape[2]
    return Images(folder.resolve().name, shape, flat[0], y, flat[1], y_test)


def read_folder(folder: Path) -> Images:
    """Return the images of a folder in one of the formats above."""
    if (folder / "data_batch_1.bin").exists():
        return read_cifar(folder, read_cifar_binary, ".bin")
    if (folder / "data_batch_1").exists():
        return read_cifar(folder, read_cifar_python, "")
    for end in ("", ".gz"):
        if (folder / f"train-images-idx3-ubyte{end}").exists():
            return read_idx_folder(folder, end)
    raise ValueError(
        f"{folder} holds neither data_batch_1.bin, nor data_batch_1, nor "
        "train-images-idx3-ubyte, compressed or not."
    )


def make_scorer(args: Namespace, images: Images, seed: int) -> Any:
    """Return an untrained scorer; both learn from the exponential loss of pairs."""
    if args.scorer == "resnet":
        from resnet_scorer import ResNetRanker

        return ResNetRanker(
            images.shape,
            epochs=args.epochs,
            batch_size=args.batch_size,
            learning_rate=args.learning_rate,
            augment=args.augment,
            max_gradient=args.max_gradient,
            random_state=seed,
            quiet=args.quiet,
        )
    return ConstrainedMLPRanker(
        surrogate="exponential",
        n_hidden=128,
        output_norm=100.0,
        max_iter=300 if args.smoke else 3000,
        random_state=seed,
    )


def measure(
    y: np.ndarray, scores: np.ndarray, X: np.ndarray, gamma: float, pairs: np.ndarray
) -> Row:
    """Return what one gamma does, as shares of all pairs or of those it concerns."""

    def loss(values: np.ndarray, cost: float = 0.0) -> float:
        return misranking_loss(y, values, X=X, gamma=gamma, cost=cost, pairs=pairs)

    # The sign of zero is +1, for classes as for scores. So the classes as scores are
    # never wrong and pay for pairs given up alone, and the classes turned round are
    # wrong in all pairs of two classes.
    given_up = loss(y, cost=1.0)
    wrong, differ = (misranking_loss(y, values, pairs=pairs) for values in (scores, -y))
    wrong_decided, differ_decided = loss(scores), loss(-y)

    def among(mass: float, total: float) -> float:
        return mass / total if total > 0 else np.nan

    return {
        "given_up": given_up,
        "error": wrong,
        "same": 1 - differ,
        "error_decided": among(wrong_decided, 1 - given_up),
        "error_given_up": among(wrong - wrong_decided, given_up),
        "same_given_up": 1 - among(differ - differ_decided, given_up),
    }


def one_run(args: Namespace, images: Images, run: int, bar: Any) -> list[Row]:
    """Train, draw pairs of test images, and return a row per gamma and cost."""
    X, X_test = images.X / images.white, images.X_test / images.white
    scorer = make_scorer(args, images, run).fit(X, images.y)
    y, scores = images.y_test.astype(float), scorer.predict(X_test)
    bar.update()
    # Two different images, each ordered pair as likely as any other.
    random = np.random.RandomState(run)
    drawn = random.randint(y.size * (y.size - 1), size=args.pairs, dtype=np.int64)
    left, right = np.divmod(drawn, y.size - 1)
    pairs = np.column_stack([left, right + (right >= left)])
    rows = []
    for gamma in args.gammas:
        measured = measure(y, scores, X_test, gamma, pairs)
        for cost in args.costs:
            loss = misranking_loss(
                y, scores, X=X_test, gamma=gamma, cost=cost, pairs=pairs
            )
            where = {"run": run, "gamma": gamma, "cost": cost}
            rows.append({**where, "loss": loss, **measured})
        bar.update()
    return rows


def line(costs: Any, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return slopes and values at 0 of the lines over costs, and how far they miss."""
    slope, start = np.polyfit(costs, losses, 1)
    miss = np.abs(losses - np.outer(costs, slope) - start).max()
    return slope, start, float(miss)


def print_row(label: str, cells: list[str]) -> None:
    print(f"{label:20}" + "".join(f"{cell:>12}" for cell in cells))


def print_shares(label: str, shares: np.ndarray) -> None:
    print_row(label, ["- " if np.isnan(v) else f"{abs(v):.2f} " for v in shares])


def print_losses(gammas: Any, costs: Any, mean: np.ndarray, sd: np.ndarray) -> None:
    """Print the table in percent, with a star at the lowest loss of each cost."""
    print_row("gamma", [f"{gamma:g} " for gamma in gammas])
    best = mean <= mean.min(axis=1, keepdims=True) + 1e-9
    for k, cost in enumerate(costs):
        cells = zip(mean[k], sd[k], np.where(best[k], "*", " "), strict=True)
        print_row(
            f"loss at cost {cost:g}", [f"{m:.2f}±{s:.2f}{b}" for m, s, b in cells]
        )


def print_measured(args: Namespace, images: Images, rows: list[Row]) -> None:
    """Print the table of the runs, and what is behind it."""
    shape = (args.runs, len(args.gammas), len(args.costs))
    of = {key: 100 * np.array([r[key] for r in rows]).reshape(shape) for key in rows[0]}
    mean = {key: values.mean(axis=0).T for key, values in of.items()}
    scorer = {"mlp": "ConstrainedMLPRanker", "resnet": "ResNet-34"}[args.scorer]
    print(
        f"\n{images.name}, {scorer}: {len(images.y):,} images to train on, "
        f"{len(images.y_test):,} to test.\n"
        f"Percent of {args.pairs:,} pairs, mean±sd of {args.runs} runs. A pair in the "
        "wrong order costs 1,\none given up the cost; * marks the lowest loss of a row."
    )
    print_losses(args.gammas, args.costs, mean["loss"], sd_of_runs(of["loss"]).T)
    print_shares("given up", mean["given_up"][0])
    print_shares("wrong, of decided", mean["error_decided"][0])
    print_shares("wrong, of given up", mean["error_given_up"][0])
    print_shares("same class, of these", mean["same_given_up"][0])

    slope, _, miss = line(args.costs, mean["loss"])
    away = np.abs(slope - mean["given_up"][0]).max()
    error, same = of["error"].mean(), of["same"].mean()
    print(
        f"\nLinear in the cost? Losses are off straight lines by {miss:.0e} at most,\n"
        f"and their slopes off the share given up by {away:.0e} at most.\n"
        f"Same class: {same:.1f} % of all pairs. Both orders have the label +1, and "
        "scores\nthat differ get one of them wrong: "
        f"about {same / 2:.1f} of the {error:.1f} points of error."
    )
    gain = of["error"] - of["loss"]
    for k, cost in enumerate(args.costs):
        best = int(mean["loss"][k].argmin())
        print(
            f"Cost {cost:g}: lowest loss at gamma {args.gammas[best]:g}, "
            f"{gain[:, best, k].mean():.2f}±{sd_of_runs(gain)[best, k]:.2f} "
            "below that of deciding every pair."
        )


def print_published() -> None:
    """Print the published table, and what follows from its being linear in the cost."""
    print(
        "\nPublished: CIFAR-10, ResNet-34. What is below the losses follows from them."
    )
    print_losses(PUBLISHED_GAMMAS, PUBLISHED_COSTS, PUBLISHED_MEAN, PUBLISHED_SD)
    given_up, wrong, miss = line(PUBLISHED_COSTS, PUBLISHED_MEAN)
    # Where less is given up, the rounding of the table is all there is.
    enough = np.where(given_up > 1, given_up, np.nan)
    print_shares("given up", given_up)
    print_shares("wrong, of decided", 100 * wrong / (100 - given_up))
    print_shares("wrong, of given up", 100 * (wrong[0] - wrong) / enough)
    print(
        f"\nLinear in the cost? Losses are off straight lines by {miss:.3f} at most;\n"
        "rounding alone can make 0.01."
    )


def sd_of_runs(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation over the first axis; NaN for one run."""
    if len(values) == 1:
        return np.full(values.shape[1:], np.nan)
    return values.std(axis=0, ddof=1)


def positive(text: str) -> int:
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def length(text: str) -> float:
    if not float(text) > 0:
        raise ValueError(text)
    return float(text)


def share(text: str) -> float:
    if not 0 <= float(text) <= 1:
        raise ValueError(text)
    return float(text)


def parse(argv: list[str] | None) -> tuple[Namespace, Images]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder; default: digits")
    parser.add_argument("--scorer", choices=("mlp", "resnet"), default="mlp")
    for name, default in (("gammas", PUBLISHED_GAMMAS), ("costs", PUBLISHED_COSTS)):
        parser.add_argument(f"--{name}", type=share, nargs="+", default=default)
    for name, default, text in (
        ("runs", 3, None),
        ("pairs", 10_000, "drawn in each run"),
        ("train-images", None, "only the first so many"),
        ("epochs", 200, "of the ResNet"),
        ("batch-size", 1024, "images in a step of the ResNet"),
    ):
        parser.add_argument(f"--{name}", type=positive, default=default, help=text)
    parser.add_argument("--learning-rate", type=float, default=0.1, help="its first")
    parser.add_argument(
        "--max-gradient", type=length, help="cut longer gradients of the ResNet to it"
    )
    parser.add_argument("--augment", action="store_true", help="shift, mirror images")
    parser.add_argument("--smoke", action="store_true", help="two short runs")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    if args.smoke:
        args.runs, args.pairs, args.epochs = 2, 2000, 1
    if len(set(args.costs)) < 2:
        parser.error(f"--costs must be two or more, got {args.costs}.")
    if args.scorer == "resnet":
        try:
            import resnet_scorer  # noqa: F401 (is PyTorch there?)
        except ModuleNotFoundError as error:
            parser.error(str(error))
    try:
        images = read_digits() if args.data is None else read_folder(args.data)
    except (OSError, ValueError, EOFError, pickle.PickleError) as error:
        parser.error(f"--data cannot be read: {error}")
    few = slice(args.train_images)
    return args, replace(images, X=images.X[few], y=images.y[few])


def main(argv: list[str] | None = None) -> list[Row]:
    args, images = parse(argv)
    rows: list[Row] = []
    steps = args.runs * (1 + len(args.gammas))
    with tqdm(total=steps, desc="train, measure", disable=args.quiet) as bar:
        for run in range(args.runs):
            rows += one_run(args, images, run, bar)
    print_measured(args, images, rows)
    print_published()
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "abstention_loss_table.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    print(f"\nEvery run: {path}")
    return rows


if __name__ == "__main__":
    main()
