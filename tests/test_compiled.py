"""The compiled wheel holds what `pyproject.toml` says, and nothing compiled lies in the sources."""

from __future__ import annotations

import os
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COMPILED = "RUNWIRE_COMPILED" in os.environ
"""Set by `make test-compiled`, which installs the wheel."""


def hot() -> list[str]:
    """The modules that the wheel compiles, by their names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]
    found = {path for pattern in hook["include"] for path in ROOT.glob(pattern)}
    left = {path for path in found if any(path.match(pattern.removeprefix("**/")) for pattern in hook["exclude"])}
    names = [path.relative_to(ROOT / "src").with_suffix("").parts for path in found - left]
    return sorted(".".join(parts).removesuffix(".__init__") for parts in names)


def test_what_is_told_is_there() -> None:
    some = {"runwire.contract", "runwire.redact.needles", "runwire.pipeline", "runwire.dialects.openai_chat"}
    assert some < set(hot())


@pytest.mark.parametrize("name", hot())
def test_it_is_what_runs(name: str) -> None:
    file = import_module(name).__file__
    assert file is not None
    assert file.endswith(".so") if COMPILED else file.endswith(".py")


def test_nothing_compiled_lies_in_the_sources() -> None:
    """It would be in the place of what one edits."""
    assert not list((ROOT / "src").rglob("*.so"))


@pytest.mark.parametrize("name", hot())
def test_it_can_be_compiled(name: str) -> None:
    """A struct would lose what its class statement passes on (`tag`, `kw_only`), and nobody would be told."""
    base = ROOT / "src" / Path(*name.split("."))
    source = (base / "__init__.py" if base.is_dir() else base.with_suffix(".py")).read_text()
    assert not re.search(r"^class \w+\(.*\bStruct\b", source, re.MULTILINE)
