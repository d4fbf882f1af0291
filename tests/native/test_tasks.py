"""The small coding tasks of the bench: the scripted model proves their plumbing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "tasks.py"


@pytest.mark.timeout(300)
def test_every_solution_passes_its_check() -> None:
    done = subprocess.run([sys.executable, str(BENCH)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 of 10 tasks pass" in done.stdout
