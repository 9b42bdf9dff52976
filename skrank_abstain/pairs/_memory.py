"""A guard against results that do not fit into memory."""

import os
import re
from contextlib import suppress
from pathlib import Path

#: Share of the available memory that a result may take.
_SHARE = 0.5
#: Bytes of a pair without its qid: positions, difference, label, decision, equality,
#: risk, three probabilities.
BYTES_PER_PAIR = 8 + 8 + 8 + 8 + 1 + 1 + 8 + 24
#: Files of control groups of version 2 and of version 1: limit and use, in bytes.
_LIMITS = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)
PAIRS_OF_ONE_QUERY = (
    "Use evaluate, or the ranking or rank_intervals of a ranker that has them (no "
    "pairs at all), or name the pairs you want with pairs= of predict_pairs."
)
ALL_PAIRS = f"Use iter_pairs (query by query). {PAIRS_OF_ONE_QUERY}"


def check_output_size(
    n: int, bytes_each: int, *, what: str = "pairs", remedy: str = ALL_PAIRS
) -> None:
    """Refuse a result of more than half of the available memory.

    Parameters
    ----------
    n, bytes_each : int
        Number of entries and the size of one.
    what : str, default="pairs"
        The entries, in words.
    remedy : str, default=ALL_PAIRS
        What to do instead; ends the message.

    Raises
    ------
    ValueError
        If the result does not fit.
    """
    needed = n * bytes_each
    if needed < 1 << 26:  # 64 MB always fit
        return
    available = available_memory()
    if available is not None and needed > _SHARE * available:
        raise ValueError(
            f"X must have fewer {what} than the memory can hold: {n} {what} take "
            f"{needed / 1e9:.1f} GB, more than half of the {available / 1e9:.1f} GB "
            f"that are available. {remedy}"
        )


def check_graph_size(n_orders: int) -> None:
    """Refuse a graph of orders that does not fit into memory."""
    # Two positions and a flag, and two more positions while the graph is made.
    check_output_size(
        n_orders,
        33,
        what="orders of items over others that follow from no others",
        remedy="Use rank_intervals (two numbers for each item), or fewer items.",
    )


def available_memory() -> int | None:
    """Return the bytes this process may still take; None if they are unknown.

    The least of what the system and the control groups leave.
    """
    known = [*_system_memory(), *_cgroup_memory(Path("/sys/fs/cgroup"))]
    return min(known, default=None)


def _system_memory() -> list[int]:
    with suppress(OSError):
        # Not MemFree: the system gives up its caches when memory is asked for.
        text = Path("/proc/meminfo").read_text()
        found = re.findall(r"^MemAvailable: *(\d+)", text, re.M)
        return [1024 * int(kb) for kb in found]
    with suppress(AttributeError, OSError, ValueError):
        # Elsewhere all the memory of the machine: a loose guard is better than none.
        return [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    return []


def _cgroup_memory(root: Path) -> list[int]:
    """Return what each control group of this process leaves, versions 2 and 1."""
    # The root in any case: inside a container its limit stands there, whatever path the
    # host has for the group.
    lines = ["::/"]
    with suppress(OSError):
        lines += Path("/proc/self/cgroup").read_text().splitlines()
    found = []
    for line in lines:
        controllers, group = line.split(":", 2)[1:]
        folder = root / controllers / group.lstrip("/")
        for limit, usage in _LIMITS:
            # Groups without a limit have no such file, or "max" in it.
            with suppress(OSError, ValueError):
                left = int((folder / limit).read_text())
                found.append(max(left - int((folder / usage).read_text()), 0))
    return found
