"""A guard against results that do not fit into memory."""

from __future__ import annotations

import os
from pathlib import Path

#: Share of the available memory that a result may take.
_SHARE = 0.5
#: Bytes of a pair without its qid: positions, difference, label, decision, risk, three
#: probabilities.
BYTES_PER_PAIR = 8 + 8 + 8 + 8 + 1 + 8 + 24
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

    The least of what the system, the control groups and the limit of the process
    (``ulimit -v``) leave.
    """
    groups = _cgroup_memory(Path("/sys/fs/cgroup"))
    limits = [_system_memory(), _process_memory(), *groups]
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else None


def _system_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            # Not MemFree: the system gives up its caches when memory is asked for.
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        # Elsewhere all the memory of the machine: a loose guard is better than none.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _process_memory() -> int | None:
    try:
        # Unix alone has this module, Linux alone this file.
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError, ValueError, IndexError):
        return None
    if limit == resource.RLIM_INFINITY:
        return None
    return max(limit - pages * resource.getpagesize(), 0)


def _cgroup_memory(root: Path) -> list[int | None]:
    """Return what each control group of this process leaves, versions 2 and 1."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    found: list[int | None] = []
    # The root in any case: inside a container its limit stands there, whatever path the
    # host has for the group.
    for line in ["::/", *lines]:
        controllers, group = line.split(":", 2)[1:]
        # Version 2 names no controllers: there is one tree for all of them.
        if controllers not in ("", "memory"):
            continue
        version_1 = controllers == "memory"
        folder = root / controllers / group.lstrip("/")
        names = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes")
            if version_1
            else ("memory.max", "memory.current")
        )
        found.append(_remaining(folder / names[0], folder / names[1]))
    return found


def _remaining(limit: Path, usage: Path) -> int | None:
    try:
        # "max" means no limit.
        return max(int(limit.read_text()) - int(usage.read_text()), 0)
    except (OSError, ValueError):
        return None
