"""The conformance suite passes our dialects and catches each way in which one can be wrong."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from recorded import RECORDINGS, converted, expectation

from runwire import events as ev
from runwire.errors import ConformanceError
from runwire.formats.jsonl import careful, junk, native
from runwire.framing import Junk
from runwire.seams import Context, Dialect, Exit, Output, Verdict, dialect, names
from runwire.testing import breaches, check_dialect, sample_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.events import Event

FILES: dict[str, list[Path]] = defaultdict(list)
for _folder in RECORDINGS:
    FILES[expectation(_folder)["dialect"]].append(_folder / "stdout.jsonl")


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_dialect_of_ours_conforms_on_its_recordings(name: str) -> None:
    check_dialect(name, FILES[name][::2])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FILES))
def test_a_dialect_of_ours_conforms_on_the_other_recordings_too(name: str) -> None:
    check_dialect(name, FILES[name][1::2] or FILES[name])


TESTS = Path(__file__).resolve().parent
WRITTEN = [
    *((path.name.partition("-")[0], path) for path in sorted(TESTS.glob("golden/c*.jsonl"))),
    *(("codex" if path.parent.name.startswith("14-") else "claude", path) for path in sorted(TESTS.glob("cases/*/*"))),
    *(
        (name, path)
        for name in ("aacode", "agent-harness", "bullpen", "supercode")
        for folder in ("origins", "live")
        for path in sorted(TESTS.glob(f"{folder}/golden/*{name}*"))
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "path"), WRITTEN, ids=[f"{path.parent.name}-{path.stem}" for _, path in WRITTEN])
def test_a_dialect_of_ours_conforms_on_what_is_written_in_it(name: str, path: Path) -> None:
    check_dialect(name, [path])


def test_our_own_wire_conforms_on_what_recordings_convert_to() -> None:
    check_dialect("runwire", [converted(folder) for folder in RECORDINGS if len(converted(folder)) < 20_000][::4])


@pytest.mark.parametrize("name", names("dialects"))
def test_whatever_can_be_written_conforms(name: str) -> None:
    found, _ = dialect(name)
    if found.encoder is not None:
        check_dialect(replace(found, decoder=None), [])


def test_the_sample_is_lawful_and_always_the_same() -> None:
    assert breaches(sample_run()) == []
    assert sample_run() == sample_run()
    assert {ev.kind(event) for event in sample_run()} == set(ev.KINDS)


# --- what a dialect can do wrong ------------------------------------------------------------------------------------


class Decoder:
    """A small right decoder, of which the wrong ones below are made."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def feed(self, block: bytes, /) -> list[Output]:
        out: list[Output] = []
        for item in careful(block):
            if isinstance(item, Junk):
                out.extend(self.prose(item.text))
            else:
                out.extend(self.record(item.value if isinstance(item.value, dict) else {"list": item.value}))
        return out

    def close(self) -> list[Output]:
        return []

    def prose(self, text: str) -> list[Output]:
        return [junk(text)]

    def record(self, value: dict[str, Any]) -> list[Output]:
        if value.get("type") == "say" and isinstance(value.get("text"), str):
            return [ev.Message(text=value["text"], message_id="m")]
        if value.get("type") == "end":
            return [Verdict("completed")]
        return [] if value.get("type") == "tick" else self.unknown(value)

    def unknown(self, value: dict[str, Any]) -> list[Output]:
        return [native("acme", value)]


RECORDING = b'{"type":"tick"}\n{"type":"say","text":"Hello"}\n{"type":"tick"}\n{"type":"end"}\n'
TICKS = ({"type": "tick"},)


def test_a_right_decoder_passes() -> None:
    check_dialect(Dialect(name="acme", decoder=Decoder, structural=TICKS), [RECORDING], exit_code=0)
    sse = b"".join(b"data: " + line + b"\r\n\r\n" for line in RECORDING.splitlines())
    check_dialect(Dialect(name="acme", decoder=Sse, framing="sse", structural=TICKS), [sse])


class Sse(Decoder):
    def feed(self, block: bytes, /) -> list[Output]:
        return super().feed(block.replace(b"data: ", b""))


class Raises(Decoder):
    def record(self, value: dict[str, Any]) -> list[Output]:
        return [ev.Message(text=value["text"], message_id="m")] if value["type"] == "say" else super().record(value)


class TrustsTypes(Decoder):
    def record(self, value: dict[str, Any]) -> list[Output]:
        if value.get("type") == "say":
            return [ev.Message(text=value["text"] + "", message_id="m")]
        return super().record(value)


class DropsUnknown(Decoder):
    def unknown(self, value: dict[str, Any]) -> list[Output]:  # noqa: ARG002 - that is the fault
        return []


class CutsUnknown(Decoder):
    def unknown(self, value: dict[str, Any]) -> list[Output]:
        return [native("acme", {"type": value.get("type")})]


class DropsProse(Decoder):
    def prose(self, text: str) -> list[Output]:  # noqa: ARG002 - that is the fault
        return []


class CountsBlocks(Decoder):
    """What it gives depends on how many records came at once."""

    def feed(self, block: bytes, /) -> list[Output]:
        return [ev.Activity(message=f"{block.count(10)} records"), *super().feed(block)]


class StopsAtUnknown(Decoder):
    lost = False

    def record(self, value: dict[str, Any]) -> list[Output]:
        return [] if self.lost and value.get("type") == "say" else super().record(value)

    def unknown(self, value: dict[str, Any]) -> list[Output]:
        self.lost = True
        return super().unknown(value)


class LoneSurrogates(Decoder):
    def record(self, value: dict[str, Any]) -> list[Output]:
        return [*super().record(value), ev.Activity(message="\ud800")]


@pytest.mark.parametrize(
    ("decoder", "told"),
    [
        (Raises, "the decoder raised KeyError"),
        (TrustsTypes, "record 2 with text = None: the decoder raised TypeError"),
        (DropsUnknown, "it does not come out as a native event that holds it whole"),
        (CutsUnknown, "it does not come out as a native event that holds it whole"),
        (DropsProse, "it does not come out as a diagnostic that holds it whole"),
        (CountsBlocks, "read in pieces of 1 bytes: event 2 is Activity"),
        (StopsAtUnknown, "it changes other events of the run"),
        (LoneSurrogates, "the events break the law of a run"),
    ],
)
def test_a_wrong_decoder_is_caught(decoder: type[Decoder], told: str) -> None:
    with pytest.raises(ConformanceError) as caught:
        check_dialect(Dialect(name="acme", decoder=decoder, structural=TICKS), [RECORDING])
    assert str(caught.value).startswith("acme: recording 1, ")
    assert told in str(caught.value)


def test_what_is_absorbed_without_saying_so_is_caught() -> None:
    with pytest.raises(ConformanceError) as caught:
        check_dialect(Dialect(name="acme", decoder=Decoder), [RECORDING])
    assert str(caught.value) == (
        "acme: recording 1, record 1 alone: nothing comes of it, and no pattern in `structural` says so: "
        """b'{"type":"tick"}'"""
    )


class DropsMoods(Decoder):
    def record(self, value: dict[str, Any]) -> list[Output]:
        return [] if value.get("type") == "mood" else super().record(value)


def test_a_type_that_is_dropped_is_caught_where_a_recording_has_it() -> None:
    subject = Dialect(name="acme", decoder=DropsMoods, structural=TICKS)
    check_dialect(subject, [RECORDING])
    with pytest.raises(ConformanceError, match="recording 2, record 2 alone: nothing comes of it, and no pattern"):
        check_dialect(subject, [RECORDING, RECORDING[:16] + b'{"type":"mood","mood":"sunny"}\n' + RECORDING[16:]])


def test_a_pattern_that_takes_in_too_much_is_caught() -> None:
    subject = Dialect(name="acme", decoder=Decoder, structural=(*TICKS, {"text": re.compile("He")}))
    told = r"record 2 alone: it is structural by \{'text': re.compile\('He'\)\}, and yet Message\(.*Hello.* comes of it"
    with pytest.raises(ConformanceError, match=told):
        check_dialect(subject, [RECORDING])


class Encoder:
    """One line for each message and for the result."""

    def __init__(self, _options: dict[str, str]) -> None:
        pass

    def encode(self, events: Sequence[Event], /) -> bytes:
        return b"".join(self.line(event) for event in events)

    def line(self, event: Event) -> bytes:
        if isinstance(event, ev.Message):
            return json.dumps({"type": "say", "text": event.text}).encode() + b"\n"
        return b'{"type":"end"}\n' if isinstance(event, ev.Result) else b""

    def close(self) -> bytes:
        return b""


OMITS = frozenset(ev.KINDS) - {"message", "result"}


def test_a_right_encoder_passes() -> None:
    check_dialect(Dialect(name="acme", encoder=Encoder, omits=OMITS), [])
    check_dialect(Dialect(name="acme", decoder=Decoder, encoder=Encoder, omits=OMITS, structural=TICKS), [RECORDING])


class EncoderRaises(Encoder):
    def line(self, event: Event) -> bytes:
        raise LookupError(ev.kind(event))


class FramesBatches(Encoder):
    def encode(self, events: Sequence[Event], /) -> bytes:
        return b"#\n" + super().encode(events)


class LeavesTrace(Encoder):
    def line(self, event: Event) -> bytes:
        return b"...\n" if isinstance(event, ev.Plan) else super().line(event)


class Shouts(Encoder):
    def line(self, event: Event) -> bytes:
        return super().line(event).replace(b"Hello", b"HELLO")


@pytest.mark.parametrize(
    ("encoder", "omits", "told"),
    [
        (EncoderRaises, OMITS, "the encoder raised LookupError"),
        (FramesBatches, OMITS, "event by event the encoder writes other bytes than all at once"),
        (LeavesTrace, OMITS, "leave a trace"),
        (Encoder, OMITS | {"hologram"}, "it omits 'hologram', which is no kind of event"),
    ],
)
def test_a_wrong_encoder_is_caught(encoder: type[Encoder], omits: frozenset[str], told: str) -> None:
    with pytest.raises(ConformanceError, match=told):
        check_dialect(Dialect(name="acme", encoder=encoder, omits=omits), [])


def test_an_encoder_that_says_something_else_is_caught() -> None:
    with pytest.raises(ConformanceError, match=r"written and read again: the messages is \['HELLO'\], not \['Hello'\]"):
        check_dialect(Dialect(name="acme", decoder=Decoder, encoder=Shouts, omits=OMITS), [RECORDING])


@pytest.mark.parametrize(
    ("subject", "recordings", "told"),
    [
        (Dialect(name="acme"), [RECORDING], "this one does neither"),
        (Dialect(name="acme", decoder=Decoder), [], "there are no recordings"),
    ],
)
def test_nothing_proved_is_no_proof(subject: Dialect, recordings: list[bytes], told: str) -> None:
    with pytest.raises(ConformanceError, match=told):
        check_dialect(subject, recordings)


def test_how_the_program_ended_is_taken_into_account() -> None:
    subject = Dialect(name="acme", decoder=Decoder, terminal="exit", structural=TICKS)
    check_dialect(subject, [RECORDING], exit_code=-9)
    assert Exit(-9).code == -9
