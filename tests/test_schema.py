"""`runwire schema`: what is lawful fits it, what is wrong does not, and it changes only on purpose."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from lawful_streams import STREAMS
from recorded import RECORDINGS, events, name

from runwire import events as ev
from runwire.pipeline import encoder_of
from runwire.schema import event_schema
from runwire.testing import sample_run

GOLDEN = Path(__file__).parent / "golden" / "schema.json"


@cache
def referee() -> Draft202012Validator:
    schema = json.loads(json.dumps(event_schema()))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@cache
def of_kind(kind: str) -> Draft202012Validator:
    """The definition of one kind, for errors that say what is wrong."""
    schema = json.loads(json.dumps(event_schema()))
    title = ev.KINDS[kind].__name__
    return Draft202012Validator({"$ref": f"#/$defs/{title}", "$defs": schema["$defs"]})


def lines(made: list[Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in encoder_of("runwire")[1].encode(made).split(b"\n")[:-1]]


def sample(kind: str) -> dict[str, Any]:
    return next(line for line in lines(sample_run()) if line["kind"] == kind)


def test_the_command_prints_the_schema(
    runwire_bin: Path, clean_env: dict[str, str], request: pytest.FixtureRequest
) -> None:
    done = subprocess.run([runwire_bin, "schema"], env=clean_env, capture_output=True, check=True, timeout=50)
    assert json.loads(done.stdout) == json.loads(json.dumps(event_schema()))
    if request.config.getoption("--golden"):
        GOLDEN.write_bytes(done.stdout)
    assert done.stdout == GOLDEN.read_bytes()


@pytest.mark.parametrize("folder", RECORDINGS, ids=name)
def test_every_event_of_a_recording_fits(folder: Path) -> None:
    for event in events(folder):
        of_kind(event["kind"]).validate(event)
        assert referee().is_valid(event)


@pytest.mark.parametrize("kind", ev.KINDS)
def test_an_event_of_every_kind_fits_and_only_as_that_kind(kind: str) -> None:
    event = sample(kind)
    of_kind(kind).validate(event)
    referee().validate(event)
    assert [other for other in ev.KINDS if of_kind(other).is_valid(event)] == [kind]


@given(STREAMS)
def test_whatever_is_lawful_fits(made: list[Any]) -> None:
    for event in lines(made):
        of_kind(event["kind"]).validate(event)


@pytest.mark.parametrize("kind", ev.KINDS)
def test_an_event_without_what_it_needs_does_not_fit(kind: str) -> None:
    event = sample(kind)
    needed = {field.name for field in fields(kind) if field.required} | {"kind", "run_id", "seq", "ts"}
    assert needed <= event.keys()
    for field in needed:
        assert not referee().is_valid({key: value for key, value in event.items() if key != field}), field
        assert not referee().is_valid({**event, field: {"of": "another type"}}) or field in {"value", "record"}


def fields(kind: str) -> Any:
    from msgspec.structs import fields as fields_of

    return fields_of(ev.KINDS[kind])


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("text", {"seq": 0}),
        ("text", {"seq": 1.5}),
        ("text", {"ts": -1}),
        ("text", {"run_id": ""}),
        ("text", {"parent": None}),
        ("text", {"kind": "hologram"}),
        ("tool_start", {"tool_kind": "juggle"}),
        ("tool_start", {"locations": [{"line": 3}]}),
        ("tool_end", {"status": "fine"}),
        ("tool_end", {"output": None}),
        ("result", {"status": "done"}),
        ("result", {"error": "yes"}),
        ("result", {"code": "oops"}),
        ("plan", {"entries": [{"content": "x", "status": "later"}]}),
    ],
)
def test_what_is_wrong_does_not_fit(kind: str, wrong: dict[str, Any]) -> None:
    assert not referee().is_valid({**sample(kind), **wrong})


def test_what_is_new_fits() -> None:
    assert referee().is_valid({**sample("text"), "mood": "sunny"})
    for value in (None, 1, "x", [], {"a": None}):
        assert referee().is_valid({**sample("tool_start"), "input": value})
