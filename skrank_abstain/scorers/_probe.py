"""A file is read in a child process first, which may die of it in the caller's place.

Not by ``multiprocessing``: it would fork, or run the caller's ``__main__`` again, and
a daemon may not use it.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.spawn import get_executable
from pathlib import Path
from typing import Any

import numpy as np

from skrank_abstain._validation import check_scores
from skrank_abstain.pairs import available_memory
from skrank_abstain.scorers._adapter import Booster

#: Time limit: for the imports, which take 2 s on an idle machine, and for each MB.
_SECONDS, _SECONDS_PER_MB = 60.0, 1.0
#: Rows that are scored, fewer where they are wide.
_ROWS, _CELLS = 256, 1_000_000
_LONGEST = 200
_CODE = (
    "import sys; sys.path[:] = eval(sys.stdin.buffer.readline()); "
    "from skrank_abstain.scorers._probe import answer; answer()"
)
#: What the child says last where it did not say that it scored.
_DOING = {"begun": "reading it", "read": "scoring rows with it"}


def probe_file(booster: Booster, name: str, content: bytes) -> str | None:
    """Read a file, and score rows with its model, in a child process.

    Parameters
    ----------
    booster : Booster
        The library that opens the file.
    name : str
        Path of the file.
    content : bytes
        All of the file.

    Returns
    -------
    problem : str or None
        What happened, in words; None where all rows were scored.

    Raises
    ------
    RuntimeError
        If the child did not come as far as the file.
    """
    seconds = _SECONDS + _SECONDS_PER_MB * len(content) / 1e6
    path = [entry for entry in sys.path if isinstance(entry, str)]
    request = pickle.dumps((seconds, booster, name, content))
    child = subprocess.Popen(
        [get_executable(), "-P", "-c", _CODE],
        # Idle threads would need memory, which is bounded.
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with child:
        try:
            said, _ = child.communicate(ascii(path).encode() + b"\n" + request, seconds)
            end = _ending(child.returncode)
        except subprocess.TimeoutExpired as late:
            said, end = late.stdout or b"", f"did not end within {seconds:.0f} s"
        finally:
            # Not left to subprocess.run, which does not wait after an interrupt.
            child.kill()
            child.wait()
    last = said.decode(errors="replace").splitlines()[-1:]
    stage, _, words = last[0].partition(" ") if last else ("", "", "")
    if stage == "scored":
        return None
    if stage in _DOING:
        return f"{_DOING[stage]}, a child process {end}"
    if stage == "refused":
        return words
    raise RuntimeError(
        "probe=True must be able to start Python in a child process and to import "
        f"{__package__} and {type(booster).__module__} there, got one that "
        f"{words or end}; without it the file is read in this process alone."
    )


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by signal {-code}, {signal.strsignal(-code)}"


def answer() -> None:
    """Say on standard output how far one gets with a file. Runs in the child."""
    # What the libraries print goes elsewhere.
    said = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8", errors="replace")
    os.dup2(2, 1)
    try:
        seconds, booster, name, content = pickle.load(sys.stdin.buffer)
        booster.module()
    except Exception as error:
        print("failed", f"failed ({first_line(error)})", file=said)
        return
    # Should the caller be killed, nobody else would end a child that hangs.
    faulthandler.dump_traceback_later(seconds, exit=True)
    _bound_memory()
    for stage in stages(booster, name, content):
        print(stage, file=said)


def stages(booster: Booster, name: str, content: bytes) -> Iterator[str]:
    """Read a file and score rows with it; yield how far that came."""
    yield "begun"
    try:
        model = booster.load(name, content)
        yield "read"
        check_scores(*_score(booster, model))
        del model  # memory that was overwritten shows when it is freed
    except Exception as error:
        yield f"refused {first_line(error)}"
    else:
        yield "scored"


def first_line(error: Exception) -> str:
    """Return the first line of an error's words, shortened, or its name."""
    words = str(error).strip().split("\n")[0] or type(error).__name__
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."


def _score(booster: Booster, model: Any) -> tuple[Any, int]:
    """Score zeros, numbers of any size, and missing values where a model takes them."""
    features = booster.features(model)
    rng = np.random.default_rng(0)
    shape = max(2, min(_ROWS, _CELLS // max(features.count, 1))), features.count
    # From 1e-6 to 1e6: few would be as large as a threshold were all near 1.
    rows = rng.choice([-1.0, 0.0, 1.0], shape) * 10.0 ** rng.uniform(-6, 6, shape)
    rows[rng.random(shape) < 0.1] = np.nan
    X = booster.probe_rows(model, rows)
    n_rows = len(X)
    return (booster.score(model, X, features) if n_rows else []), n_rows


def _bound_memory() -> None:
    """Let a file take half of the memory that is left, and write no core (Linux)."""
    memory = available_memory()
    if sys.platform != "linux" or memory is None:
        return
    import resource

    # Not RLIMIT_AS: libraries reserve address space that they never use.
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: pages * resource.getpagesize() + memory // 2,
    }
    for kind, limit in limits.items():
        _, most = resource.getrlimit(kind)
        if most == resource.RLIM_INFINITY or limit < most:
            resource.setrlimit(kind, (limit, most))
