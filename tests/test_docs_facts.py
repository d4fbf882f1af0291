"""What the documents claim in tables is true: kinds and their fields, wires, exit statuses, options, links."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import fields

from runwire import events as ev
from runwire.api import Options
from runwire.cli.status import exit_status
from runwire.errors import NotReady, UsageError
from runwire.seams import dialect

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
ENVELOPE = {"run_id", "seq", "ts", "parent"}


def rows(text: str, heading: str) -> list[list[str]]:
    """The rows of every table whose first cell is so headed."""
    found = []
    for table in re.findall(rf"^\| {re.escape(heading)} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE):
        found += [[cell.strip() for cell in line.strip("|\n ").split(" | ")] for line in table.splitlines()]
    return found


def test_the_guide_names_every_kind_with_every_field() -> None:
    told = {kind.strip("`"): listed for kind, listed, _ in rows(GUIDE, "kind")}
    assert set(told) == set(ev.KINDS)
    for kind, listed in told.items():
        true = [
            f"`{f.encode_name}`{'' if f.required else '?'}" for f in fields(ev.KINDS[kind]) if f.name not in ENVELOPE
        ]
        assert listed.split(", ") == true, kind


def examples() -> dict[str, dict[str, Any]]:
    lines = [line for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL) for line in block.splitlines()]
    return {value["kind"]: value for value in map(json.loads, lines)}


def test_the_guide_has_an_example_of_every_kind() -> None:
    assert set(examples()) == set(ev.KINDS)


@pytest.mark.parametrize("kind", sorted(ev.KINDS))
def test_an_example_is_an_event_of_its_kind(kind: str) -> None:
    line = {**examples()[kind], "run_id": "run_1", "seq": 1, "ts": 0}
    event = msgspec.json.decode(json.dumps(line), type=ev.AnyEvent)  # type: ignore[arg-type]
    assert ev.kind(event) == kind
    assert json.loads(msgspec.json.encode(event)) == line  # so nothing in it is unknown to us


def test_the_guide_names_every_code_status_and_kind_of_tool() -> None:
    for words in (ev.Code, ev.Status, ev.ToolKind, ev.ToolStatus, ev.Source):
        for word in words.__args__:
            assert f"`{word}`" in GUIDE, word


def test_the_guide_names_every_option_of_the_api_that_every_agent_has() -> None:
    paragraph = GUIDE[GUIDE.index("The options are those of the command line") :].partition("\n\n")[0]
    told = set(re.findall(r"`(\w+)`", paragraph))
    assert told == set(Options.__annotations__) - {"attended", "options", "tools"}


def test_the_table_of_wires_is_true() -> None:
    told = {name.strip("`"): set(ways.split(", ")) for name, ways, _ in rows(README, "wire")}
    for name, ways in told.items():
        found = dialect(name)[0]
        true = {way for way, can in (("read", found.decoder), ("write", found.encoder)) if can is not None}
        assert ways == true, f"README.md, the table of wires: {name} can {true}"


def test_the_table_of_exit_statuses_is_true() -> None:
    told = {cell for status, _ in rows(README, "status") for cell in status.split(", ")}
    result = msgspec.json.decode(json.dumps(examples()["result"]), type=ev.Result)
    true = {exit_status(None), UsageError.exit_status, NotReady.exit_status}
    for status in ev.Status.__args__:
        for code in (None, *ev.Code.__args__):
            for signal in (None, 15):
                made = msgspec.structs.replace(result, status=status, code=code)
                true.add(exit_status(made, signal))
    assert told == {str(status) for status in true}


def anchors(text: str) -> set[str]:
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }


@pytest.mark.parametrize("path", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if target.startswith(("http:", "https:")):
            continue
        name, _, anchor = target.partition("#")
        place = (path.parent / name) if name else path
        assert place.exists(), f"{path.name} links to {target}"
        assert not anchor or anchor in anchors(place.read_text(encoding="utf-8")), f"{path.name} links to {target}"
