"""A command starts fast because it imports what it uses and nothing else."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {"asyncio", "dataclasses", "difflib", "http", "importlib.metadata", "rich", "shutil", "socket", "subprocess"}


def imported(program: str) -> set[str]:
    """The modules that a program has imported at its end."""
    tell = "\nprint(*sys.modules, file=sys.stderr)"
    argv = [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{program}{tell}"]
    done = subprocess.run(argv, input=b"", capture_output=True, check=True)
    return set(done.stderr.decode().split())


def test_the_version_is_told_before_anything_is_imported() -> None:
    found = imported("from runwire.cli import main; main(['--version'])")
    assert not {"typing", "re", "enum", "msgspec"} & found
    assert {name for name in found if name.startswith("runwire")} <= {
        "runwire", "runwire.cli", "runwire.cli.writing", "runwire.errors",
    }  # fmt: skip


def test_importing_the_package_imports_nothing() -> None:
    assert {name for name in imported("import runwire") if name.startswith("runwire")} == {"runwire"}


def test_a_conversion_has_no_event_loop_and_generates_no_code() -> None:
    found = imported("from runwire.cli import main; main(['convert', '--from', 'claude'])")
    assert "runwire.dialects.claude" in found
    assert not HEAVY & found
