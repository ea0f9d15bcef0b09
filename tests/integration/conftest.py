"""What all tests on clusters share."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _connections(patient_connections: None) -> None:
    """Open them with patience."""
