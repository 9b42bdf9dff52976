"""Reference numbers and the settings of the property tests."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every run; `--hypothesis-profile=explore` looks for new ones.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=60)
settings.register_profile(
    "explore",
    deadline=None,
    max_examples=500,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")


@pytest.fixture(scope="session")
def oracles():
    """Values computed from the definitions, independently of this package.

    Probabilities are ordered win, tie, loss: the reverse of the labels -1, 0, +1.
    """
    path = Path(__file__).parent / "data" / "oracles.json"
    return json.loads(path.read_text(encoding="utf-8"))
