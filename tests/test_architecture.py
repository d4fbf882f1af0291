"""The house keeps its shape: who may import whom, how long things get, and that each module says what it is for."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "runwire"
MODULES = sorted(SOURCE.rglob("*.py"))
LINT_IMPORTS = Path(sys.executable).parent / "lint-imports"

MODULE_LINES = 400
FUNCTION_LINES = 50


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of `folder/pyproject.toml` on `folder/src/runwire`."""
    return subprocess.run(
        [LINT_IMPORTS, "--no-cache", "--no-logo", folder / "pyproject.toml"],
        cwd=folder / "src",
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONUTF8": "1", "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the package and its contracts, to do damage in."""
    shutil.copytree(SOURCE, tmp_path / "src" / "runwire", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def plant(house: Path, module: str, line: str) -> None:
    """Add an import to a module, which is made if it is not there."""
    path = house.joinpath("src", *module.split(".")).with_suffix(".py")
    package = path.with_suffix("") / "__init__.py"
    path = package if package.exists() else path
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")


def test_the_contracts_hold() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Arrows point down KEPT" in done.stdout
    assert "The core is pure KEPT" in done.stdout


@pytest.mark.parametrize(
    ("contract", "module", "line", "named"),
    [
        pytest.param(
            "Arrows point down",
            "runwire.errors",
            "import runwire.process",
            "runwire.errors -> runwire.process",
            id="upwards",
        ),
        pytest.param(
            "Arrows point down",
            "runwire.redact",
            "from runwire import contract",
            "runwire.redact -> runwire.contract",
            id="sideways",
        ),
        pytest.param(
            "Arrows point down",
            "runwire.dialects.planted",
            "import runwire.harnesses.planted",
            "runwire.dialects.planted -> runwire.harnesses.planted",
            id="out-of-a-folder",
        ),
        pytest.param(
            "Arrows point down",
            "runwire.utils",
            "import json",
            "runwire.utils",
            id="a-module-without-a-place",
        ),
        pytest.param(
            "The core is pure",
            "runwire.events",
            "import time",
            "runwire.events -> time",
            id="a-clock",
        ),
        pytest.param(
            "The core is pure",
            "runwire.dialects.planted",
            "def late():\n    from os.path import join",
            "runwire.dialects.planted -> os",
            id="the-environment-inside-a-function",
        ),
    ],
)
def test_a_breach_is_seen_and_named(house: Path, contract: str, module: str, line: str, named: str) -> None:
    for target in ("runwire.process", "runwire.contract", "runwire.harnesses.planted"):
        plant(house, target, "")
    plant(house, module, line)
    done = lint_imports(house)
    assert done.returncode == 1, done.stdout + done.stderr
    assert named in done.stdout
    if module != "runwire.utils":  # a module without a place stops the check before the verdict
        assert f"{contract} BROKEN" in done.stdout


def test_a_breach_through_another_module_is_seen(house: Path) -> None:
    plant(house, "runwire.formats.planted", "import socket")
    plant(house, "runwire.dialects.planted", "import runwire.formats.planted")
    done = lint_imports(house)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "runwire.dialects is not allowed to import socket" in done.stdout


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(SOURCE)) for path in MODULES])
def test_a_module_is_short_and_says_what_it_is_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree), f"{path} does not begin with what it is for"
    assert len(text.splitlines()) <= MODULE_LINES, f"{path} is longer than {MODULE_LINES} lines"
    long = [
        f"{path}:{node.lineno} {node.name}: {length} lines"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    ]
    assert not long, f"longer than {FUNCTION_LINES} lines: {long}"
