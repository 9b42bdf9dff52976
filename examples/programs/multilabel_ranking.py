"""Rankings of the labels of a sample: which ranker, and what silence is worth.

Every ranker learns from the training file and is judged on the test file, by every loss
that the package has. The online ranker sees the rest of the training file and then the
test file as a stream: it ranks the labels of a batch, is told the truth, and moves its
trust between experts. Last, SelectiveMultilabelRanker leaves open the pairs of labels
that it is least sure of.

    python multilabel_ranking.py                              # simulated
    python multilabel_ranking.py --data DIR/emotions DIR/yeast
    python multilabel_ranking.py --data DIR/emotions --forest   # minutes

A folder NAME holds NAME-train.arff, NAME-test.arff and NAME.xml. Penalties are chosen
by cross-validation on the training file; nothing is chosen by the test file.
"""

import csv
import warnings
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
from scipy.io import arff
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches
from tqdm import tqdm

from skrank_abstain.multilabel import (
    LinearMultilabelRanker,
    OnlineMultilabelRanker,
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
    label_ranks,
    multilabel_sample_losses,
)

COVERAGES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
TOP = 3  # the p of the losses that the threshold rankers aim at
BATCH = 32
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#555555")
MARKERS = ("o", "s", "^", "D", "v", "P")

Row = dict[str, Any]


class Data(NamedTuple):
    """Features and 0/1 relevance, to train on and to test on."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def read_mulan(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of an ARFF file; the XML file names the labels."""
    tags = ET.parse(next(path.parent.glob("*.xml"))).iter()
    labels = {tag.get("name") for tag in tags}
    table, _ = arff.loadarff(path)
    names = table.dtype.names
    X = [table[name].astype(float) for name in names if name not in labels]
    y = [table[name].astype(int) for name in names if name in labels]
    return np.column_stack(X), np.column_stack(y)


def read(folder: Path | None) -> Data:
    """Return a data set, simulated if there is no folder."""
    if folder is None:
        X, y = make_multilabel_classification(
            600, n_classes=5, allow_unlabeled=False, random_state=0
        )
        return Data(X[:400], y[:400], X[400:], y[400:])
    name = folder.resolve().name
    train, test = (
        read_mulan(folder / f"{name}-{part}.arff") for part in ("train", "test")
    )
    return Data(*train, *test)


def losses_of(y: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    """Return every loss of every sample; equal scores are in any order."""
    n_labels = y.shape[1]
    kinds: dict[str, dict[str, Any]] = {
        "sum@1": {"loss": "sum", "p": 1},
        "sum@3": {"loss": "sum", "p": TOP},
        f"sum@{n_labels}": {"loss": "sum"},
        "prec@1": {"loss": "precision", "p": 1},
        "prec@3": {"loss": "precision", "p": TOP},
        "pairs": {"loss": "pairwise"},
        "1-AUC": {"loss": "auc"},
        "1-AP": {"loss": "average_precision"},
        "1-RR": {"loss": "reciprocal_rank"},
        "DCG": {"loss": "dcg"},
    }
    return {
        name: multilabel_sample_losses(y, scores, ties="average", **kind)
        for name, kind in kinds.items()
    }


def chosen_logistic(data: Data, grid: list[float]) -> Any:
    """Return logistic regression with the penalty that ranks best inside training."""
    search = GridSearchCV(
        ThresholdDecompositionRanker(
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), p=TOP
        ),
        {"estimator__logisticregression__C": grid},
        cv=3,
    ).fit(data.X, data.y)
    print(f"logistic regression: C={next(iter(search.best_params_.values()))}", end="")
    return search.best_estimator_.estimator


def chosen_linear(data: Data, grid: list[float]) -> Any:
    """Return an untrained linear ranker with the penalty chosen inside training."""
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LinearMultilabelRanker()),
        {"linearmultilabelranker__alpha": grid},
        cv=3,
    ).fit(data.X, data.y)
    alpha = search.best_params_["linearmultilabelranker__alpha"]
    print(f"; linear ranker: alpha={alpha} (by cross-validation)")
    return make_pipeline(StandardScaler(), LinearMultilabelRanker(alpha=alpha))


def thresholds(base: Any, name: str) -> dict[str, Any]:
    """Return the threshold rankers around a classifier."""
    ranker = ThresholdDecompositionRanker
    by_rank = {"p": TOP, "thresholds": "rank"}
    return {
        f"{name}, grades": ranker(base),
        f"{name}, ranks, sum": ranker(base, **by_rank),
        f"{name}, ranks, sum, index ties": ranker(base, ties="index", **by_rank),
        f"{name}, ranks, precision": ranker(base, loss="precision", **by_rank),
        f"{name}, ranks, precision, index ties": ranker(
            base, loss="precision", ties="index", **by_rank
        ),
    }


def scores_of(model: Any, X: np.ndarray) -> np.ndarray:
    """Return probabilities of the labels, or the scores of a ranker."""
    return (
        model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    )


def stream(data: Data, logistic: Any, linear: Any) -> tuple[np.ndarray, list[Row]]:
    """Return the online ranker's scores of the test file, and its course.

    Fitted experts know two thirds of the training file. The rest of it comes first in
    the stream; labels are ranked batch by batch, before the truth is shown.
    """
    n_first = 2 * len(data.X) // 3
    scale = StandardScaler().fit(data.X[:n_first])
    X, y = scale.transform(data.X[:n_first]), data.y[:n_first]
    learner = MultiOutputClassifier(SGDClassifier(loss="log_loss", random_state=0))
    experts = [
        ("most frequent first", label_ranks([y.mean(axis=0)])[0]),
        ("linear", FrozenEstimator(linear.fit(X, y))),
        ("logistic", FrozenEstimator(OneVsRestClassifier(logistic).fit(X, y))),
        ("learns along (SGD)", learner),
    ]
    online = OnlineMultilabelRanker(experts)
    seen, course = [], []
    for X, y in (
        (data.X[n_first:], data.y[n_first:]),
        (data.X_test, data.y_test),
    ):
        for batch in gen_batches(len(X), BATCH):
            X_batch = scale.transform(X[batch])
            if y is data.y_test:
                seen.append(online.predict(X_batch))
            online.partial_fit(X_batch, y[batch])
            rounds = online.n_rounds_
            best = online.expert_losses_.min()
            losses = zip(dict(experts), online.expert_losses_ / rounds, strict=True)
            course.append(
                {
                    "samples": rounds,
                    "experts": dict(losses),
                    "weights": online.weights_,
                    "online": online.expected_loss_ / rounds,
                    "bound": (best + online.regret_bound_) / rounds,
                }
            )
    return np.vstack(seen), course


def abstain(data: Data, logistic: Any) -> list[Row]:
    """Return what is decided, and how well, at falling coverage."""
    ranker = SelectiveMultilabelRanker(
        ThresholdDecompositionRanker(logistic), random_state=0
    ).fit(data.X, data.y)
    rows = []
    for target in COVERAGES:
        selective = ranker.at_coverage(target)
        totals = selective.evaluate(data.X_test, data.y_test)
        correctness, completeness = selective.correctness_completeness(
            data.X_test, data.y_test
        )
        rows.append(
            {
                "target": target,
                "coverage": totals.coverage,
                "discordance": totals.discordance,
                "correctness": correctness,
                "completeness": completeness,
            }
        )
    return rows


def run(name: str, data: Data, forest: bool, smoke: bool, quiet: bool) -> Row:
    """Return the losses of all rankers, the stream and the abstention."""
    print(
        f"\n{name}: {len(data.X)} training and {len(data.X_test)} test samples, "
        f"{data.X.shape[1]} features, {data.y.shape[1]} labels, "
        f"{data.y.mean():.0%} of them relevant"
    )
    grid = [0.1] if smoke else [0.003, 0.01, 0.03, 0.1, 0.3]
    logistic, linear = chosen_logistic(data, grid), chosen_linear(data, grid)
    rankers = {
        "binary relevance, sorted": OneVsRestClassifier(logistic),
        "linear ranker": linear,
        **thresholds(logistic, "logistic"),
    }
    if forest:
        n_trees = 10 if smoke else 100
        base = RandomForestClassifier(n_trees, random_state=0)
        rankers |= thresholds(base, "forest")
    losses = {}
    for label in tqdm(rankers, desc=name, unit="ranker", disable=quiet):
        model = rankers[label].fit(data.X, data.y)
        losses[label] = losses_of(data.y_test, scores_of(model, data.X_test))
    scores, course = stream(data, logistic, linear)
    losses["online, on the stream"] = losses_of(data.y_test, scores)
    return {
        "losses": losses,
        "course": course,
        "abstention": abstain(data, logistic),
    }


def print_tables(result: Row) -> None:
    """Print losses, stream and abstention."""
    losses = result["losses"]
    first = next(iter(losses.values()))
    # With 0/1 labels two losses equal others: they are only in the file.
    shown = [loss for loss in first if loss not in ("prec@1", "pairs")]
    print(
        "\nLosses on the test file, lower is better. With 0/1 labels sum@1 is the "
        f"precision loss at 1,\nand {shown[2]} the number of label pairs in the wrong "
        "order. Last: sum@3 less that of the first row,\n± its standard error."
    )
    print(f"{'ranker':38}" + "".join(f"{loss:>8}" for loss in shown))
    for name, mine in losses.items():
        gap = mine["sum@3"] - first["sum@3"]
        error = gap.std(ddof=1) / np.sqrt(gap.size)
        print(
            f"{name:38}"
            + "".join(f"{mine[loss].mean():>8.3f}" for loss in shown)
            + (f"  {gap.mean():+.3f} ± {error:.3f}" if mine is not first else "")
        )
    end = result["course"][-1]
    print(
        f"\nThe stream, {end['samples']} samples. Loss: share of label pairs in the "
        "wrong order; at most: the bound"
    )
    print(f"{'':22}{'mean loss':>10}{'weight at the end':>19}")
    for (name, loss), weight in zip(
        end["experts"].items(), end["weights"], strict=True
    ):
        print(f"{name:22}{loss:>10.3f}{weight:>19.3f}")
    print(f"{'online, expected':22}{end['online']:>10.3f}")
    print(f"{'online, at most':22}{end['bound']:>10.3f}")
    print("\nDeciding only the surest pairs of labels (logistic, grades)")
    print(
        f"{'asked':>6}{'coverage':>10}{'discordance':>13}{'correctness':>13}"
        f"{'completeness':>14}"
    )
    for row in result["abstention"]:
        print(
            f"{row['target']:>6.0%}{row['coverage']:>10.3f}{row['discordance']:>13.3f}"
            f"{row['correctness']:>13.3f}{row['completeness']:>14.3f}"
        )
    print(
        "Ties aside, discordance is the share of wrong orders among the decided pairs "
        "(a coin: .5),\ncorrectness right less wrong orders over both, completeness "
        "the share of pairs that are ordered."
    )


def plot(results: dict[str, Row], path: Path) -> None:
    """Draw losses, abstention and the stream; one row of panels per data set."""
    figure, axes = plt.subplots(
        len(results),
        3,
        figsize=(12, 4.1 * len(results)),
        squeeze=False,
        layout="constrained",
    )
    for (name, result), (left, middle, right) in zip(
        results.items(), axes, strict=True
    ):
        plot_losses(result, left)
        plot_abstention(result, middle)
        plot_stream(result, right)
        left.set_title(f"{name}: loss of whole rankings")
        middle.set_title(f"{name}: fewer pairs decided")
        right.set_title(f"{name}: experts on a stream")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def legend_below(ax: plt.Axes) -> None:
    """Put the legend where no line can run into it."""
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.17),
        ncols=2,
        frameon=False,
        fontsize="small",
    )


def plot_losses(result: Row, ax: plt.Axes) -> None:
    """Draw the mean sum@3 loss of each ranker, and its standard error."""
    losses = {name: mine["sum@3"] for name, mine in result["losses"].items()}
    place = np.arange(len(losses))[::-1]
    mean = [values.mean() for values in losses.values()]
    error = [v.std(ddof=1) / np.sqrt(v.size) for v in losses.values()]
    ax.errorbar(mean, place, xerr=error, fmt="o", color=COLOURS[0], capsize=3)
    ax.set_yticks(place, list(losses), fontsize="small")
    ax.set_xlabel("sum@3 loss on the test file ± standard error")
    ax.grid(axis="x", alpha=0.3)


def plot_abstention(result: Row, ax: plt.Axes) -> None:
    """Draw discordance, correctness and completeness against coverage."""
    rows = result["abstention"]
    coverage = [row["coverage"] for row in rows]
    for key, colour, marker in zip(
        ("correctness", "discordance", "completeness"), COLOURS, MARKERS, strict=False
    ):
        values = [row[key] for row in rows]
        ax.plot(coverage, values, color=colour, marker=marker, label=key)
    ax.axhline(0.5, color="#555555", ls=":", label="discordance of a coin")
    ax.set(xlabel="coverage: pairs of labels decided", ylim=(0, 1.02))
    ax.invert_xaxis()
    ax.grid(alpha=0.3)
    legend_below(ax)


def plot_stream(result: Row, ax: plt.Axes) -> None:
    """Draw the mean loss so far of each expert and of the online ranker."""
    course = result["course"]
    samples = [step["samples"] for step in course]
    for name, colour, marker in zip(
        course[0]["experts"], COLOURS[1:], MARKERS[1:], strict=False
    ):
        losses = [step["experts"][name] for step in course]
        every = max(len(course) // 6, 1)
        ax.plot(
            samples,
            losses,
            color=colour,
            marker=marker,
            ms=5,
            markevery=every,
            label=name,
        )
    online = [step["online"] for step in course]
    ax.plot(samples, online, color="black", lw=2.2, ls="--", label="online, expected")
    ax.set(xlabel="samples seen", ylabel="pairs in the wrong order, mean so far")
    ax.grid(alpha=0.3)
    legend_below(ax)


def main(argv: list[str] | None = None) -> dict[str, Row]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, nargs="+", default=[], help="folders of Mulan's ARFF files"
    )
    parser.add_argument("--forest", action="store_true", help="random forests, too")
    parser.add_argument("--smoke", action="store_true", help="simulated, small forests")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    results = {}
    with warnings.catch_warnings():
        # Searches try penalties that are too weak to converge.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for folder in [None] if args.smoke else args.data or [None]:
            name = folder.resolve().name if folder else "simulated"
            data = read(folder)
            results[name] = run(name, data, args.forest, args.smoke, args.quiet)
            print_tables(results[name])
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "multilabel_ranking.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["data", "ranker", "loss", "mean", "standard_error"])
        for name, result in results.items():
            for ranker, losses in result["losses"].items():
                for loss, values in losses.items():
                    error = values.std(ddof=1) / np.sqrt(values.size)
                    writer.writerow([name, ranker, loss, values.mean(), error])
    plot(results, args.out / "multilabel_ranking.png")
    print(f"\nTable and figure: {args.out / 'multilabel_ranking'}.*")
    return results


if __name__ == "__main__":
    main()
