"""What all tests share: how hypothesis draws, where the installed program is, and an environment without secrets."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

# "ci" draws the same examples every time, so that a red gate is red for everyone; "explore" goes looking for new ones:
# HYPOTHESIS_PROFILE=explore pytest tests/...
settings.register_profile(
    "ci",
    derandomize=True,
    database=None,
    deadline=None,  # two cores shared by two processes: a slow draw is no fault
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],  # for the same reason
)
settings.register_profile("explore", max_examples=5000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Golden files are written by those who mean it."""
    parser.addoption("--golden", action="store_true", help="write the golden files anew; review the difference")


@pytest.fixture(scope="session")
def runwire_bin() -> Path:
    """The program as it is installed beside this interpreter."""
    program = BIN / "runwire"
    assert program.exists(), "runwire is not installed in this environment: run make setup"
    return program


@pytest.fixture
def clean_env(tmp_path: Path) -> dict[str, str]:
    """An environment of its own for a child: nothing of the caller's but PATH, and a home that is thrown away."""
    home = tmp_path / "home"
    home.mkdir()
    return {
        "PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", os.defpath)]),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "RUNWIRE_HOME": str(tmp_path / "runwire-home"),
    }
