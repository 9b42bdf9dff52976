"""The date of a report and the versions of the software."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy
import sklearn

from skrank_abstain._saving import __version__
from skrank_abstain.scorers import last_step, library_of


def date() -> str:
    """Return the current date and time in UTC, by ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions(model: Any) -> str:
    """Return the versions of the libraries involved, that of the model included."""
    found = {
        "skrank_abstain": __version__,
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
