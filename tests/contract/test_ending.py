"""How a run ended: verdicts and exit become the one result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from lawful import EXIT, message, permission, result, run, start, text, turn, usage

from runwire import events as ev
from runwire.seams import Exit, Verdict

if TYPE_CHECKING:
    from runwire.seams import Output

COMPLETED = Verdict("completed")
FAILED = Verdict("failed", "auth", "no key")
ERROR = ev.Error(message="it broke", code="rate_limit", fatal=False)
FATAL = ev.Error(message="it broke", code="rate_limit", fatal=True)


@pytest.mark.parametrize(
    ("outputs", "end", "settings", "told"),
    [
        # status, code, synthetic
        pytest.param([], Exit(cause="spawn"), {}, ("failed", "spawn_failed", True), id="no program"),
        pytest.param([COMPLETED], Exit(0, cause="fault"), {}, ("failed", "internal", True), id="a fault of ours"),
        pytest.param([], Exit(-15, cause="timeout"), {}, ("failed", "timeout", True), id="a time-out"),
        pytest.param([], Exit(-15, cause="cancel"), {}, ("cancelled", None, True), id="a cancel"),
        pytest.param([], Exit(None, cause="closed"), {}, ("cancelled", None, True), id="the reader went away"),
        pytest.param(
            [Verdict("cancelled")], Exit(0, cause="cancel"), {}, ("cancelled", None, False), id="a cancel, and told so"
        ),
        pytest.param(
            [FAILED], Exit(1, cause="cancel"), {}, ("cancelled", None, True), id="a cancel, and a failure after"
        ),
        pytest.param([COMPLETED], EXIT, {}, ("completed", None, False), id="a verdict"),
        pytest.param([FAILED], EXIT, {}, ("failed", "auth", False), id="a bad verdict, status 0"),
        pytest.param([COMPLETED], Exit(1), {}, ("completed", None, False), id="a verdict, then status 1"),
        pytest.param([COMPLETED], Exit(-9), {}, ("completed", None, False), id="a verdict, then a signal"),
        pytest.param([Verdict("truncated")], EXIT, {}, ("truncated", None, False), id="truncated"),
        pytest.param(
            [Verdict("refused", "content_filter")], EXIT, {}, ("refused", "content_filter", False), id="refused"
        ),
        pytest.param([Verdict("limit", "max_turns")], Exit(1), {}, ("limit", "max_turns", False), id="limit"),
        pytest.param([Verdict("failed")], EXIT, {}, ("failed", "provider", False), id="a failure without a code"),
        pytest.param([ERROR, Verdict("failed")], EXIT, {}, ("failed", "rate_limit", False), id="the code of the error"),
        pytest.param([Verdict("completed", "auth")], EXIT, {}, ("completed", None, False), id="success has no code"),
        pytest.param([ERROR, COMPLETED], EXIT, {}, ("completed", None, False), id="an error that was got over"),
        pytest.param([FATAL, COMPLETED], EXIT, {}, ("failed", "rate_limit", False), id="an error contradicts success"),
        pytest.param([turn()], EXIT, {"exit_ends": True}, ("completed", None, True), id="the exit ends"),
        pytest.param([], EXIT, {"exit_ends": True}, ("failed", "protocol", True), id="the exit ends, no turn"),
        pytest.param([turn()], Exit(1), {"exit_ends": True}, ("failed", "crashed", True), id="the exit ends badly"),
        pytest.param([turn()], Exit(), {"exit_ends": True}, ("failed", "protocol", True), id="the exit is not known"),
        pytest.param([turn(1), start()], EXIT, {"exit_ends": True}, ("failed", "protocol", True), id="a call is open"),
        pytest.param(
            [turn(), permission()], EXIT, {"exit_ends": True}, ("failed", "protocol", True), id="a request is open"
        ),
        pytest.param(
            [turn(), text("and")], EXIT, {"exit_ends": True}, ("failed", "protocol", True), id="a round trip is open"
        ),
        pytest.param([turn(), FATAL], EXIT, {"exit_ends": True}, ("failed", "rate_limit", True), id="a fatal error"),
        pytest.param([turn()], EXIT, {}, ("failed", "protocol", True), id="clean end without the record"),
        pytest.param([turn()], Exit(), {}, ("failed", "protocol", True), id="end of a file"),
        pytest.param([], Exit(-9), {}, ("failed", "killed", True), id="a signal"),
        pytest.param([ERROR], Exit(-9), {}, ("failed", "killed", True), id="a signal after an error"),
        pytest.param([], Exit(143), {}, ("failed", "killed", True), id="a signal, as a shell tells it"),
        pytest.param([], Exit(128), {}, ("failed", "crashed", True), id="128 is no signal"),
        pytest.param([], Exit(1), {}, ("failed", "crashed", True), id="another status"),
        pytest.param([ERROR], Exit(1), {}, ("failed", "rate_limit", True), id="the last error says why"),
        pytest.param([ERROR], EXIT, {}, ("failed", "rate_limit", True), id="the last error, status 0"),
    ],
)
def test_the_result_says_how_it_ended(
    outputs: list[Output], end: Exit, settings: dict[str, Any], told: tuple[str, str | None, bool]
) -> None:
    last = result(outputs, end, **settings)
    assert (last.status, last.code, last.synthetic) == told
    assert last.error == (last.status != "completed")


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        ([COMPLETED, Verdict("failed", "provider", had_turns=False)], "completed"),
        ([COMPLETED, FAILED], "failed"),
        ([FAILED, COMPLETED], "completed"),
        ([Verdict("failed", had_turns=False)], "failed"),
        ([Verdict("completed", had_turns=False), Verdict("failed", had_turns=False)], "failed"),
    ],
)
def test_of_several_verdicts_the_last_that_had_turns_wins(verdicts: list[Verdict], status: str) -> None:
    assert result(list(verdicts)).status == status


def test_the_exit_is_told() -> None:
    assert (result([], Exit(3)).exit_code, result([], Exit(3)).signal) == (3, None)
    assert (result([], Exit(-9)).exit_code, result([], Exit(-9)).signal) == (None, 9)
    assert result([COMPLETED], Exit()).exit_code is None


@pytest.mark.parametrize(("code", "words"), [(1, "exit status 1"), (-11, "signal 11")])
def test_an_odd_exit_after_success_is_a_diagnostic(code: int, words: str) -> None:
    remarks = [event.message for event in run([COMPLETED], Exit(code)) if isinstance(event, ev.Diagnostic)]
    assert remarks == [f"the agent completed, then ended with {words}"]
    assert not [event for event in run([COMPLETED], EXIT) if isinstance(event, ev.Diagnostic)]


def test_a_failure_ends_with_one_fatal_error_that_the_result_repeats() -> None:
    made = run([FATAL, ERROR, FAILED], EXIT)
    errors = [event for event in made if isinstance(event, ev.Error)]
    assert [event.fatal for event in errors] == [False, False, True]
    assert made[-2] is errors[-1]
    last = made[-1]
    assert isinstance(last, ev.Result)
    assert (last.message, last.code) == (errors[-1].message, errors[-1].code) == ("no key", "auth")


@pytest.mark.parametrize("status", ["completed", "truncated", "refused", "limit", "cancelled"])
def test_what_did_not_fail_has_no_fatal_error(status: Any) -> None:
    assert not [event for event in run([Verdict(status)]) if isinstance(event, ev.Error)]


def test_why_there_is_no_verdict_is_told_as_well_as_it_is_known() -> None:
    assert result([], Exit(1, "warning\nboom \n\n")).message == "the agent ended without a result (exit status 1): boom"
    assert result([ERROR], Exit(1, "boom")).message == "the agent ended without a result (exit status 1): it broke"
    assert result([], Exit(-9, "boom")).message == "the agent ended without a result (signal 9)"
    assert result([], Exit(cause="timeout", message="slow")).message == "slow"
    assert len(result([], Exit(1, "x" * 9000)).message or "") < 600


def test_the_answer_is_what_was_shown_else_what_the_verdict_says() -> None:
    assert result([message("a"), Verdict("completed", text="b")]).text == "a"
    assert result([Verdict("completed", text="b")]).text == "b"
    assert result([Verdict("failed", "auth", text="b")]).text == ""
    assert result([message("a"), FAILED]).text == "a"


def test_pending_work_puts_the_end_off() -> None:
    from runwire.contract import Contract
    from runwire.pipeline import started

    contract = Contract(started("t", "r", "s"))
    contract.open(1)
    assert not contract.ended
    contract.push([Verdict("completed", pending=True)], 2)
    assert not contract.ended
    contract.push([COMPLETED], 3)
    assert contract.ended


# --- usage ----------------------------------------------------------------------------------------------------------


def share(tokens: int, cost: float | None = None) -> Verdict:
    return Verdict("completed", usage=ev.Tokens(input_tokens=tokens, cost_usd=cost))


@pytest.mark.parametrize(
    ("outputs", "tokens", "cost"),
    [
        pytest.param([share(5, 0.5)], 5, 0.5, id="a verdict"),
        pytest.param([share(5, 0.5), share(7, 0.25)], 12, 0.75, id="the shares of several prompts"),
        pytest.param(
            [share(5, 0.5), Verdict("failed", had_turns=False, usage=ev.Tokens(input_tokens=0))],
            5,
            0.5,
            id="an empty second one",
        ),
        pytest.param([usage(3), usage(4, parent="x"), share(5)], 5, None, id="a verdict replaces the sum"),
        pytest.param([usage(3), usage(4, parent="x"), COMPLETED], 7, None, id="the sum of the requests"),
        pytest.param([usage(9, "run"), usage(11, "run"), COMPLETED], 11, None, id="the agent's own total"),
        pytest.param([usage(9, "session"), COMPLETED], None, None, id="a session is more than this run"),
        pytest.param([COMPLETED], None, None, id="nobody knows"),
    ],
)
def test_usage_is_that_of_the_run(outputs: list[Output], tokens: int | None, cost: float | None) -> None:
    last = result(outputs)
    assert (last.usage and last.usage.input_tokens, last.cost_usd) == (tokens, cost)


def test_what_no_part_knows_stays_unknown() -> None:
    parts = [ev.Usage(scope="request", input_tokens=1), ev.Usage(scope="request", output_tokens=2)]
    found = result([*parts, COMPLETED]).usage
    assert found == ev.Tokens(input_tokens=1, output_tokens=2)


def test_many_requests_are_summed_without_being_kept() -> None:
    from runwire.contract import Contract
    from runwire.pipeline import started

    contract = Contract(started("t", "r", "s"))
    contract.open(1)
    for _ in range(1000):
        contract.push([usage(1), turn()], 2)
    assert len(contract._ending._requests) <= 257
    last = contract.close(EXIT, 3)[-1]
    assert isinstance(last, ev.Result)
    assert last.usage == ev.Tokens(input_tokens=1000)
