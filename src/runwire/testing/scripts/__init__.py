"""Scripts for the scripted model that ship with runwire. `scripted/NAME` plays NAME.toml of this folder."""

from __future__ import annotations

from pathlib import Path

from runwire.errors import UnknownName
from runwire.testing.model_server import Script


def script(name: str) -> Script:
    """The script of that name, or of that file. Raises UnknownName, or UsageError for a file that is no script."""
    here = Path(__file__).parent
    shipped = {file.stem: file for file in here.glob("*.toml")}
    if name in shipped:
        return Script.load(shipped[name])
    if Path(name).is_file():
        return Script.load(name)
    raise UnknownName("script", name, shipped)
