"""When a report was written, and by which software."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import scipy
import sklearn

from skrank_abstain.scorers import last_step, library_of


def date() -> str:
    """Return the date and time of now in UTC, by ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions(model: Any) -> str:
    """Return the releases of all that took part, the model's library among them."""
    try:
        own = version("skrank-abstain")
    except PackageNotFoundError:  # a source tree that was never installed
        own = "unknown"
    found = {
        "skrank_abstain": own,
        "Python": platform.python_version(),
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    inner = last_step(model)
    library = library_of(inner) or type(inner).__module__.partition(".")[0]
    release = getattr(sys.modules.get(library), "__version__", None)
    if library != "sklearn" and isinstance(release, str):
        found[library] = release
    return ", ".join(f"{name} {release}" for name, release in found.items())
