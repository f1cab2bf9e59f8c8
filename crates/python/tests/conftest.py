"""Results that several tests read."""

from __future__ import annotations

import lowtide as lt
import pytest


@pytest.fixture(scope="session")
def first_light() -> lt.Result:
    """Two schemes, three seeds."""
    return lt.scenario("first-light").run(seeds=3, progress=False)
