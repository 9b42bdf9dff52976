import ast
import contextlib
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from kernels.grouped import random_queries

from skrank_abstain import _kernels
from skrank_abstain._kernels.outcomes import count_outcomes

FOLDER = Path(_kernels.__file__).parent

COUNT = """
import numpy as np
from skrank_abstain._kernels.gaps import _within_range, count_within

print(count_within(np.array([0.0, 1.0, 1.5]), np.array([0, 3]), np.array([1.0, 2.0])))
stats = _within_range.stats
print(bool(stats.cache_path), sum(stats.cache_hits.values()))
"""

# Every kernel once; sums and differences overflow here and there.
EVERYTHING = """
import numpy as np
from skrank_abstain._kernels.outcomes import weigh_groups
from skrank_abstain._kernels.closing import ranks_of_bins, ranks_of_orders
from skrank_abstain._kernels.filling import fill_pairs, settle_bins
from skrank_abstain._kernels.gaps import count_within, differences_between, rank_bounds
from skrank_abstain._kernels.histogram import outcome_histogram
from skrank_abstain._kernels.outcomes import count_outcomes
from skrank_abstain._kernels.outcomes import sort_within_queries

raw = np.array([1.5, -0.0, 1.7e308, 1.0, -1.7e308, *np.linspace(0, 3, 60)])
grades = np.arange(raw.size) % 40
offsets = np.array([0, 5, raw.size])
scores, rows = sort_within_queries(raw, np.arange(raw.size), offsets)
left, right, differences = fill_pairs(raw, np.arange(raw.size), offsets)
edges, tables = np.array([0.5, 1.2]), np.ones((4, 4, 3))
bins = np.searchsorted(edges, scores, side="right")
group = np.arange(16).reshape(4, 4)
settled = [*np.empty((2, 3), dtype=np.int64), np.empty(3), np.empty((3, 3))]
settle_bins(left[:3], right[:3], differences, bins, 0.0, group, group, tables[..., 0],
            tables, *settled)
results = [
    scores, rows, left, right, differences,
    count_within(scores, offsets, np.array([1.0, np.inf])),
    count_outcomes(scores, grades, offsets, np.array([0.5])),
    count_outcomes(scores, grades, offsets, np.linspace(0, 3, 50)),
    differences_between(scores, offsets, 0.5, 2.0),
    count_outcomes(scores, grades, offsets, np.array([0.5]), 0.0, np.ones(raw.size)),
    weigh_groups(scores, edges, grades, None, offsets, group, 16, 0.0, by_query=True),
    *settled,
    rank_bounds(scores, offsets, 1.0),
    ranks_of_bins(grades[:5], np.array([0, 2, 5]), np.tri(40, k=-1, dtype=bool)),
    ranks_of_orders(left[:3], right[:3], np.array([0, 3]), np.array([0, 5])),
    *outcome_histogram(scores, grades, offsets, np.inf),
]
print([np.asarray(result).tolist() for result in results])
"""


def copy_of_the_kernels(folder):
    """Copy the kernels into an otherwise empty package and return its folder."""
    package = folder / "skrank_abstain"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(FOLDER, package / "_kernels", ignore=ignored)
    (package / "__init__.py").touch()
    return package / "_kernels"


def run(folder, code, **environment):
    """Run ``code`` in a process that imports the copy, warnings being errors."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**inherited, "PYTHONPATH": str(folder), **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_compiled_code_is_cached_beside_the_modules(tmp_path):
    kernels = copy_of_the_kernels(tmp_path)
    assert run(tmp_path, COUNT) == ["[2 3]", "True 0"]
    assert list((kernels / "__pycache__").glob("gaps._within_range*.nbc"))
    assert run(tmp_path, COUNT) == ["[2 3]", "True 1"], "the second compiles nothing"


def test_a_damaged_cache_is_compiled_anew(tmp_path):
    kernels = copy_of_the_kernels(tmp_path)
    run(tmp_path, COUNT)
    cache = kernels / "__pycache__"
    for suffix in ("nbc", "nbi"):
        for file in cache.glob(f"gaps._within*.{suffix}"):
            file.write_bytes(file.read_bytes()[:-9])
        assert run(tmp_path, COUNT) == ["[2 3]", "True 0"]
    assert run(tmp_path, COUNT) == ["[2 3]", "True 1"], "the mended cache is read"


def test_kernels_work_where_nothing_is_writable(tmp_path):
    # Files where folders should be stop even a superuser.
    kernels = copy_of_the_kernels(tmp_path)
    (kernels / "__pycache__").touch()
    home = tmp_path / "home"
    home.touch()
    places = ("HOME", "XDG_CACHE_HOME", "USERPROFILE", "LOCALAPPDATA")
    found = run(tmp_path, COUNT, **dict.fromkeys(places, str(home)))
    assert found == ["[2 3]", "False 0"]


def test_a_full_disk_stops_nothing(tmp_path):
    kernels = copy_of_the_kernels(tmp_path)
    full = """
import errno
from numba.core.caching import IndexDataCacheFile

def fail(*args):
    raise OSError(errno.{}, "no room for compiled code")

IndexDataCacheFile.{} = fail
"""
    for code, write in {"ENOSPC": "_open_for_write", "EFBIG": "_save_data"}.items():
        found = run(tmp_path, full.format(code, write) + COUNT)
        assert found == ["[2 3]", "True 0"]
    # What was damaged cannot be mended there either.
    run(tmp_path, COUNT)
    for file in (kernels / "__pycache__").glob("gaps._within*.nbi"):
        file.write_bytes(file.read_bytes()[:-9])
    found = run(tmp_path, full.format("ENOSPC", "_open_for_write") + COUNT)
    assert found == ["[2 3]", "True 0"]


def test_interpreted_kernels_give_the_same_in_silence(tmp_path):
    copy_of_the_kernels(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(EVERYTHING, {})
    interpreted = run(tmp_path, EVERYTHING, NUMBA_DISABLE_JIT="1")
    assert interpreted == printed.getvalue().splitlines()


def test_read_only_arrays_are_welcome():
    data = random_queries(5, 20)
    expected = count_outcomes(*data, np.array([1.0]))
    for array in data:
        array.flags.writeable = False
    assert (count_outcomes(*data, np.array([1.0])) == expected).all()


def test_the_package_itself_imports_numpy_alone():
    # All rooms take the types of arrays from it, and numba takes a second.
    tree = ast.parse((FOLDER / "__init__.py").read_text(encoding="utf-8"))
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(n) for n in imports] == [
        "import numpy as np",
        "from numpy.typing import NDArray",
    ]


def test_kernels_call_kernels_of_their_own_module_only():
    # The cache on disk notices a change of the module that it was made from alone.
    kernels = {}
    for path in FOLDER.parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        kernels[path] = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
            and any(
                isinstance(d, ast.Name) and d.id == "jit" for d in node.decorator_list
            )
        ]
    owner = {node.name: module for module, nodes in kernels.items() for node in nodes}
    assert owner
    for module, nodes in kernels.items():
        called = {
            call.func.id
            for node in nodes
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        }
        assert {owner[name] for name in called if name in owner} <= {module}
