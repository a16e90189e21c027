"""How large a fleet to simulate: a taste in CI, ten thousand workers in `make soak`."""

import os

import pytest


@pytest.fixture
def fleet_size() -> int:
    return 10_000 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 100
