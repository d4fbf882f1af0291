"""Who may do what: rules held against commands and files, what is protected, what was allowed for always."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from native.stage import play

from runwire import events as ev
from runwire.agent.approvals import Approvals, Place, rule
from runwire.testing.model_server import Call, Turn

if TYPE_CHECKING:
    from pathlib import Path

ROOT = "/work/project"


def command(text: str, *rules: Any, tool: str = "bash") -> str:
    """What rules say of a command, with somebody there to be asked."""
    return Approvals("ask", list(rules), attended=True).judge(tool, "execute", text).decision


def change(written: str, full: str, *rules: Any, ladder: Any = "ask") -> str:
    """What rules say of a change of a file."""
    judge = Approvals(ladder, list(rules), attended=True).judge
    return judge("write", "write", None, [Place.of(written, full, ROOT)]).decision


@pytest.mark.parametrize(
    "text",
    [
        "git status",
        "git add a && git commit -m 'a; b' | git log\ngit diff; git x &",
        'git commit -m "$NAME: it\'s `done`"'.replace("`", "\\`"),
        "git log \\\n  -1",
        "git push 2>&1",
        "git push >/dev/null 2>&1",
    ],
)
def test_a_permission_fits_every_simple_command(text: str) -> None:
    assert command(text, rule("allow", "bash:git *")) == "allow"


@pytest.mark.parametrize(
    "text",
    [
        "git --version; touch x",
        "git --version\ntouch x",
        "git --version && touch x",
        "git --version || touch x",
        "git --version | sh x",
        "git --version |& sh x",
        "git --version & touch x",
        "git $(touch x)",
        'git "$(touch x)"',
        'git "${A:-$(touch x)}"',
        "git `touch x`",
        'git "`touch x`"',
        "git diff <(touch x)",
        "git log > x",
        "git log >> .bashrc",
        "git log &> x",
        "git log >& x",
        "git log 2>x",
        "git apply < x",
        "git a <<END\n$(touch x)\nEND",
        "(git a; touch x)",
        "{ git a; touch x; }",
        "git() { touch x; }; git a",
        "X=1 git a",
        "GIT_SSH_COMMAND='touch x' git fetch",
        "git a # it's\ntouch x # it's",
        "git 'a; touch x",
        'git a "b',
        "git $'a\\'; touch x #'",
        "git a;touch x",
        "gi\\\nt a; touch x",
        "",
    ],
)
def test_a_permission_does_not_fit_what_runs_more(text: str) -> None:
    assert command(text, rule("allow", "bash:git *")) == "ask"


def test_a_permission_of_the_whole_tool_or_of_these_very_words_fits_anything() -> None:
    assert command("a; b $(c) > d", rule("allow", "bash")) == "allow"
    assert command("cd a && make > log", rule("allow", "bash:cd a && make > log")) == "allow"
    assert command("cd a && make x", rule("allow", "bash:cd *"), rule("allow", "bash:make *")) == "allow"


@pytest.mark.parametrize(
    "text",
    [
        "rm x",
        " rm  -rf\tx",
        "cd .; rm x",
        "true && rm x",
        "true\nrm x",
        "true & rm x",
        "X=1 rm x",
        "X='a b' Y+=2 rm x",
        "/bin/rm x",
        "r''m x",
        '"rm" x',
        "\\rm x",
        "r\\\nm x",
        "> y rm x",
        "rm x > y",
        "echo $(rm x)",
        'echo "$(rm x)"',
        'echo "`rm x`"',
        "(rm x)",
        "{ rm x; }",
        "if true; then rm x; fi",
        "! rm x",
        "for i in a; do X=1 rm x; done",
        "for i do rm x; done",
        "case a in a) rm x;; esac",
        "function f { rm x; }; f",
        "coproc rm x",
        "coproc X { rm x; }",
        "time -p rm x",
        "if ! X=1 /bin/rm x; then true; fi",
        "> $(rm x)",
        ">a rm x",
        "cat <(rm x)",
        "cat <(>y rm x)",
        "f() { rm x; }; f",
        "echo 'a\nrm x",
        "true # it's\nrm x # it's",
        "cat <<END\nEND\nrm x",
    ],
)
def test_a_refusal_fits_any_simple_command(text: str) -> None:
    rules = [rule("allow", "bash"), rule("deny", "bash:rm *")]
    assert command(text, *rules) == "deny"
    assert command(text, *rules, tool="Bash") == "deny"
    assert command(text, rule("allow", "*"), rule("deny", "bash:rm *"), tool="background_exec") == "deny"


@pytest.mark.parametrize("text", ["echo '; rm x'", 'git commit -m "a && rm x"', "ls rm x", "echo a > 'rm x'"])
def test_a_refusal_leaves_what_is_quoted_alone(text: str) -> None:
    assert command(text, rule("deny", "bash:rm *"), rule("allow", "bash")) == "allow"


def test_a_long_command_is_judged_quickly() -> None:
    for text in ('git "' + "$abcdefgh" * 20_000, "a=1 " * 20_000, "for x in " + "{ " * 20_000, "( " * 20_000 + '"'):
        begun = time.monotonic()
        assert command(text, rule("allow", "bash:git *"), rule("deny", "bash:rm *")) == "ask"
        assert time.monotonic() - begun < 2


def test_a_file_is_judged_by_where_it_leads() -> None:
    allowed, denied = rule("allow", "write:src/*"), rule("deny", "write:lock")
    assert change("src/a", f"{ROOT}/src/a", allowed) == "allow"
    assert change("src/../b", f"{ROOT}/b", allowed) == "ask"
    assert change("x/../lock", f"{ROOT}/lock", denied, ladder="full") == "deny"
    assert change("/etc/x", "/etc/x", rule("allow", "write:/etc/*")) == "allow"


@pytest.mark.parametrize(
    ("allowed", "decision"),
    [("write", "ask"), ("write:*", "ask"), ("write:*/*", "ask"), ("write:.env", "allow"), ("write:.env*", "allow")],
)
def test_what_is_protected_is_asked_for_unless_it_is_named(allowed: str, decision: str) -> None:
    for ladder in ("ask", "edit", "full"):
        assert change(".env", f"{ROOT}/.env", rule("allow", allowed), ladder=ladder) == decision
    assert change(".env", f"{ROOT}/.env", rule("allow", allowed), rule("deny", "write:.e*")) == "deny"


def test_always_is_below_refusals_and_what_is_protected(tmp_path: Path) -> None:
    asked: list[str] = []

    def watch(event: ev.Event, run: Any) -> Any:
        if isinstance(event, ev.Permission):
            asked.append(event.title)
            return run.answer(event.request_id, "no" if ".env" in event.title else "always")
        return None

    values = [
        ("bash", {"command": "echo harmless"}),
        ("bash", {"command": "rm -f x"}),
        ("bash", {"command": "echo again"}),
        ("write", {"path": "a.txt", "content": ""}),
        ("write", {"path": ".env", "content": ""}),
        ("write", {"path": "b.txt", "content": ""}),
    ]
    turns = [Turn(tools=[Call(name, value, id=f"c{n}")]) for n, (name, value) in enumerate(values)]
    rules = [rule("deny", "bash:rm *")]
    played = play(
        [*turns, Turn(text="ok")], tmp_path, watch=watch, attended=True, approve="ask", options={"rules": rules}
    )
    assert [end.status for end in played.of(ev.ToolEnd)] == ["ok", "denied", "ok", "ok", "denied", "ok"]
    assert [title.split(" (")[-1] for title in asked] == [
        "bash needs leave)",
        "write needs leave)",
        ".env is protected)",
    ]
