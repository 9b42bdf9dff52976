"""How many small faults in the numeric core the tests notice.

    python benchmarks/mutation.py            # 300 faults; hours
    python benchmarks/mutation.py --again    # only what was missed, after more tests
    python benchmarks/mutation.py --smoke    # three faults in one room; a minute

One place of the code is changed at a time (``<`` for ``<=``, ``min`` for ``max``, a
constant plus one, a statement left out, ...), in a copy, and the tests are run that
execute the place: those of its module first, then the quickest, until one fails.
Which tests do is measured once, with pytest-cov; for a compiled kernel they are those
that call it, directly or through others. Each fault is a line of
``out/mutation.jsonl``; a run that is broken off goes on where it was.
"""

from __future__ import annotations

import ast
import faulthandler
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

from faults import Mutant, Source
from tqdm import tqdm

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "skrank_abstain"
ROOMS = ["_kernels", "pairs", "tie_models", "selection", "concentration", "metrics"]
COPIED = [PACKAGE, "tests", "docs", "examples", "benchmarks", "README.md"]
COPIED += ["LICENSE", "CITATION.cff", "CONTRIBUTING.md", "setup.py", "setup.cfg"]
COPIED += ["pyproject.toml", ".ci", ".github"]
#: This file and its helper, without benchmarks that are called as folders of tests are.
PLUGIN = ["mutation.py", "faults.py"]

#: Processes that have imported all but the package: most tests are shorter than that.
FORKS = multiprocessing.get_context("forkserver")
IMPORTED = ["pytest", "hypothesis", "pandas", "scipy.optimize", "scipy.stats"]
IMPORTED += ["sklearn.ensemble", "sklearn.linear_model", "sklearn.model_selection"]
IMPORTED += ["numba", "matplotlib.pyplot", "xgboost", "lightgbm", "catboost"]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the variables under which Python finds what lies in a folder."""
    paths = [str(folder), str(folder / "plugin"), os.environ.get("PYTHONPATH", "")]
    return (
        os.environ
        | {
            "PYTHONPATH": os.pathsep.join(paths),
            "OMP_NUM_THREADS": "1",
            "MPLBACKEND": "Agg",
        }
        | more
    )


def measure(base: Path, tests: list[str], log: Path) -> None:
    """Run tests once in the copy: what they execute, how long they take."""
    config = base / ".coveragerc"
    config.write_text(
        f"[run]\nsource =\n    {PACKAGE}\n    tests\nrelative_files = True\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "not slow"]
    command += [
        "-p",
        "mutation",
        "-p",
        "no:cacheprovider",
        "--cov",
        "--cov-report=",
    ]
    command += [f"--cov-config={config}", "--cov-context=test", *tests]
    variables = environment(base, MUTATION_DURATIONS=str(base / "durations.json"))
    with log.open("w") as out:
        subprocess.run(
            command, cwd=base, env=variables, stdout=out, stderr=out, check=True
        )


class Tests:
    """Which tests execute a place of the code."""

    def __init__(self, base: Path) -> None:
        from coverage import CoverageData

        self.base = base
        self.seconds = json.loads((base / "durations.json").read_text())
        data = CoverageData(str(base / ".coverage"))
        data.read()
        self.lines: dict[str, dict[int, set[str]]] = {}
        for file in data.measured_files():
            self.lines[file] = {
                line: {c.rpartition("|")[0] for c in contexts if c}
                for line, contexts in data.contexts_by_lineno(file).items()
            }
        self.sources = {
            file: Source(base, file)
            for folder in (PACKAGE, "tests")
            for path in sorted((base / folder).rglob("*.py"))
            for file in [str(path.relative_to(base))]
        }

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests that execute a place, its module's own first."""
        source = self.sources[mutant.file]
        node = min(
            (
                n
                for n in ast.walk(source.tree)
                if isinstance(n, ast.stmt)
                and source.span(n)[0] <= mutant.start
                and mutant.end <= source.span(n)[1]
            ),
            key=lambda n: source.span(n)[1] - source.span(n)[0],
        )
        last = source.bytes[: mutant.end].count(b"\n") + 1
        exact = self._at(source, node, last)
        # Fixtures and caches run once and serve all tests of their file.
        files = {test.partition("::")[0] for test in exact}
        tests = [test for test in self.seconds if test.partition("::")[0] in files]
        near, name = f"tests/{room_of(mutant.file)}/", Path(mutant.file).name
        if not tests:  # run on import, or in a process of its own
            tests = [test for test in self.seconds if test.startswith(near)]
        own = f"{near}test_{re.split(r'[_.]', name.strip('_'))[0]}"

        def order(test: str) -> tuple[bool, bool, bool, float]:
            far = not test.startswith(near)
            return not test.startswith(own), far, test not in exact, self.seconds[test]

        return sorted(tests, key=order)

    def _at(self, source: Source, node: Any, last: int) -> set[str]:
        above = list(source.above(node))
        functions = [n for n in above if isinstance(n, ast.FunctionDef)]
        if functions and _is_kernel(functions[-1]):
            return self._callers(functions[-1].name)
        if isinstance(node, ast.FunctionDef):  # a default
            return self._rows(source.file, node.lineno, node.end_lineno)
        found = self._rows(source.file, node.lineno, last)
        if found or functions:
            return found
        # Run on import: whatever uses the module may see it.
        found = self._rows(source.file, 1, len(source.starts))
        for part in source.tree.body:
            if isinstance(part, ast.FunctionDef) and _is_kernel(part):
                found |= self._callers(part.name)
        return found

    def _rows(self, file: str, first: int, last: int | None) -> set[str]:
        rows = self.lines.get(file, {}).items()
        chosen = [tests for line, tests in rows if first <= line <= (last or first)]
        return set().union(*chosen)

    def _callers(self, name: str) -> set[str]:
        """Return the tests that run a line which names a kernel."""
        found, seen, todo = set(), {name}, [name]
        while todo:
            for file, function, first, last in self._uses().get(todo.pop(), ()):
                if function and _is_kernel(function):
                    todo += {function.name} - seen
                    seen.add(function.name)
                elif function:
                    found |= self._rows(file, first, last)
                else:
                    found |= self._rows(file, 1, sys.maxsize)
        return found

    @cache  # noqa: B019 - there is one object
    def _uses(self) -> dict[str, list[tuple[str, Any, int, int]]]:
        uses: dict[str, list[tuple[str, Any, int, int]]] = {}
        for source in self.sources.values():
            for node in ast.walk(source.tree):
                if isinstance(node, ast.Name | ast.Attribute):
                    name = node.id if isinstance(node, ast.Name) else node.attr
                    above = list(source.above(node))
                    statement = next(n for n in above if isinstance(n, ast.stmt))
                    outer = [n for n in above if isinstance(n, ast.FunctionDef)]
                    place = (source.file, outer[-1] if outer else None)
                    rows = (statement.lineno, node.end_lineno or node.lineno)
                    uses.setdefault(name, []).append((*place, *rows))
        return uses


def _is_kernel(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(d, ast.Name) and d.id == "jit" for d in function.decorator_list
    )


def dependents(base: Path, file: str) -> set[str]:
    """Return the kernel modules that import a module, directly or through others."""
    found = {Path(file).stem}
    while True:
        more = {
            path.stem
            for path in (base / PACKAGE / "_kernels").glob("*.py")
            if any(f"_kernels.{name} import" in path.read_text() for name in found)
        }
        if more <= found:
            return found
        found |= more


def judge(mutant: Mutant, tests: Tests, folder: Path, limit: float) -> dict[str, Any]:
    """Run the tests of a mutant in a folder of its own."""
    base = tests.base
    shutil.rmtree(folder, ignore_errors=True)
    # Links: what is compiled stays compiled. Python and numba replace whole files.
    shutil.copytree(base, folder, copy_function=os.link)
    path = folder / mutant.file
    source = path.read_bytes()
    path.unlink()
    path.write_bytes(
        source[: mutant.start] + mutant.new.encode() + source[mutant.end :]
    )
    # Numba does not notice that a kernel of another module has changed.
    for name in dependents(base, mutant.file):
        for compiled in (folder / PACKAGE / "_kernels" / "__pycache__").glob(
            f"{name}.*.nb?"
        ):
            compiled.unlink()
    chosen, left = [], limit
    for test in tests.of(mutant):
        left -= tests.seconds[test]
        if left < 0:
            break
        chosen.append(test)
    room = f"tests/{room_of(mutant.file)}/"
    near = [test for test in chosen if test.startswith(room)]
    far = [test for test in chosen if not test.startswith(room)]
    result = {**mutant._asdict(), "tests": len(chosen), "verdict": "survived"}
    for part in (near, far):
        if part and (killer := _failing(part, tests.seconds, folder)):
            return result | {"verdict": "killed", "by": killer}
    return result


_ANOTHER = 99


def _failing(chosen: list[str], seconds: dict[str, float], folder: Path) -> str:
    """Return the first test that fails, or how the process ended."""
    output = folder / "output.txt"
    wanted = {test: seconds[test] for test in chosen}
    process = FORKS.Process(target=_run_tests, args=(folder, wanted, output))
    process.start()
    process.join()
    if process.exitcode == 0:
        return ""
    assert process.exitcode != _ANOTHER, "tests ran on another copy of the package"
    text = output.read_text(errors="replace") if output.exists() else ""
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", text, re.MULTILINE)
    if failed:
        return failed[1]
    last = " ".join(text.strip().splitlines()[-1:])
    return "timeout" if "Timeout (" in text else f"exit {process.exitcode}: {last}"


def _run_tests(folder: Path, wanted: dict[str, float], output: Path) -> None:
    """Run tests in this process, which ends with their exit status."""
    descriptor = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.chdir(folder)
    os.environ |= environment(folder)
    ours = {str(ROOT), str(ROOT / "benchmarks")}
    sys.path[:] = [str(folder), *(path for path in sys.path if path not in ours)]
    import pytest

    files = sorted({test.partition("::")[0] for test in wanted})
    options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    with open(os.dup(2), "w") as kept:  # pytest catches what goes to 2
        status = pytest.main([*options, *files], plugins=[_Chosen(wanted, kept)])
    package = sys.modules[PACKAGE].__file__ if PACKAGE in sys.modules else None
    if package and not Path(package).is_relative_to(folder):
        status = _ANOTHER
    sys.stdout.flush()
    os._exit(int(status))


class _Chosen:
    """A plug-in of pytest that runs chosen tests in the order given."""

    def __init__(self, wanted: dict[str, float], output: TextIO) -> None:
        self._wanted, self._output = wanted, output
        self._place = {test: k for k, test in enumerate(wanted)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid in self._place]
        items.sort(key=lambda item: self._place[item.nodeid])

    def pytest_runtest_setup(self, item: Any) -> None:
        # Loops without end are left from outside of Python, too; a test compiles
        # what it needs first.
        seconds = 90 + 10 * self._wanted[item.nodeid]
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._output)


# To measure, this file itself is a plug-in of pytest.
_durations: Counter[str] = Counter()


def pytest_runtest_logreport(report: Any) -> None:
    if not report.failed:
        _durations[report.nodeid] += report.duration


def pytest_sessionfinish(session: Any) -> None:
    path = os.environ.get("MUTATION_DURATIONS")
    if path and not os.environ.get("PYTEST_XDIST_WORKER"):
        Path(path).write_text(json.dumps(_durations))


def room_of(file: str) -> str:
    """Return the room of a file of the package: its folder, or its own name."""
    return Path(file).parts[1].removesuffix(".py").strip("_")


def all_mutants(base: Path, rooms: Iterable[str]) -> list[Mutant]:
    files = [
        str(path.relative_to(base))
        for room in rooms
        # A room is a folder, or one file.
        for path in sorted((base / PACKAGE).glob(f"{room}/*.py"))
        or [base / PACKAGE / f"{room}.py"]
    ]
    return [mutant for file in files for mutant in Source(base, file).mutants()]


def prepare(base: Path, tests: list[str]) -> None:
    """Copy the working tree and measure its tests, unless that was done."""
    if (base / "durations.json").exists():
        return
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, base / name, dirs_exist_ok=True)
        elif (ROOT / name).exists():
            base.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, base / name)
    (base / "plugin").mkdir()
    for name in PLUGIN:
        shutil.copy2(ROOT / "benchmarks" / name, base / "plugin" / name)
    measure(base, tests, base / "measure.log")


def print_results(results: list[dict[str, Any]]) -> dict[str, Any]:
    table = {}
    print(f"\n{'room':15}{'drawn':>7}{'killed':>8}{'survived':>10}")
    for room in [*sorted({room_of(r["file"]) for r in results}), "all"]:
        verdicts = Counter(
            r["verdict"] for r in results if room in ("all", room_of(r["file"]))
        )
        n, killed, survived = (
            verdicts.total(),
            verdicts["killed"],
            verdicts["survived"],
        )
        if n:
            print(f"{room:15}{n:>7}{killed:>8}{survived:>10}   {killed / n:.1%}")
            table[room] = {"drawn": n, "killed": killed}
    for r in results:
        if r["verdict"] == "survived":
            print(f"{r['file']}:{r['line']}  {r['what']}  ({r['tests']} tests)")
    return table


def main(argv: list[str] | None = None) -> dict[str, Any]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", nargs="+", default=ROOMS)
    parser.add_argument("--tests", nargs="*", default=[], help="instead of all tests")
    parser.add_argument("--limit", type=float, default=150, help="seconds of tests")
    parser.add_argument("--again", action="store_true", help="only the survivors")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--smoke", action="store_true", help="three, in one room")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--work", type=Path, help="where copies go; next to the log")
    args = parser.parse_args(argv)
    if args.smoke:
        args.mutants, args.rooms = 3, ["concentration"]
        args.tests = [
            f"tests/concentration/test_{k}.py" for k in ("intervals", "conformal")
        ]
    work = (args.work or args.out / "mutation").resolve()
    base, log = work / "base", args.out / "mutation.jsonl"
    args.out.mkdir(parents=True, exist_ok=True)
    if args.smoke or args.again:
        shutil.rmtree(base, ignore_errors=True)  # tests have changed
    if args.smoke:
        log.unlink(missing_ok=True)
    prepare(base, args.tests)
    tests = Tests(base)
    os.environ |= environment(base)
    FORKS.set_forkserver_preload(IMPORTED)
    population = all_mutants(base, args.rooms)
    drawn = random.Random(args.seed).sample(population, args.mutants)
    known: dict[Mutant, dict[str, Any]] = {}
    for text in log.read_text().splitlines() if log.exists() else []:
        result = json.loads(text)
        known[Mutant(*(result[name] for name in Mutant._fields))] = result
    todo = [
        m
        for m in drawn
        if m not in known or (args.again and known[m]["verdict"] == "survived")
    ]
    if todo:
        nothing = todo[0]._replace(start=0, end=0, new="")
        outcome = judge(nothing, tests, work / "worker0", 10.0)
        assert outcome["verdict"] == "survived", f"nothing changed, {outcome['by']}"
    folders: SimpleQueue[Path] = SimpleQueue()
    for k in range(args.jobs):
        folders.put(work / f"worker{k}")

    def one(mutant: Mutant) -> dict[str, Any]:
        folder = folders.get()
        try:
            return judge(mutant, tests, folder, args.limit)
        finally:
            folders.put(folder)

    with ThreadPoolExecutor(args.jobs) as pool, log.open("a") as out:
        waited = as_completed([pool.submit(one, mutant) for mutant in todo])
        for done in tqdm(waited, total=len(todo), disable=args.quiet):
            result = done.result()
            known[Mutant(*(result[name] for name in Mutant._fields))] = result
            out.write(json.dumps(result) + "\n")
            out.flush()
    print(f"{len(population)} places, {args.mutants} drawn with seed {args.seed}")
    return print_results([known[m] for m in drawn])


if __name__ == "__main__":
    main()
