"""What a run is asked to do, in a form that can be written down: a follow-up in another process is run with the same.

There is no prompt in it, no environment and no secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from runwire.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runwire.events import Event
    from runwire.seams import Job


class Request(Struct, kw_only=True, omit_defaults=True):
    """One wish. Times are seconds, `max_cost` US dollars; `mcp` and `output_schema` are files.

    `attended`: somebody answers, here or from another process. `options` are a harness's own.
    """

    harness: str = "native"
    command: list[str] = field(default_factory=list)
    model: str | None = None
    approve: Literal["read", "ask", "edit", "full"] = "ask"
    allow: list[str] = field(default_factory=list)
    deny: list[str] = field(default_factory=list)
    mcp: str | None = None
    sandbox: str | None = None
    fallback_model: str | None = None
    max_tokens: int | None = None
    max_turns: int | None = None
    max_cost: float | None = None
    effort: str | None = None
    output_schema: str | None = None
    attended: bool = False
    timeout: float | None = None
    idle_timeout: float | None = None
    settle: float = 0.3
    redact: Literal["values", "shapes", "off"] = "values"
    raw: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Raise UsageError for what the harness would not understand."""
        from runwire.seams import harness

        found = harness(self.harness)
        if self.command and found.launch is None:
            raise UsageError(f"the harness {self.harness!r} runs no program, so --command has nothing to replace")
        for name in self._options().keys() - found.options:
            flag = "--allow and --deny" if name == "rules" else f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} cannot be used with the harness {self.harness!r}")

    def job(
        self,
        prompt: str,
        cwd: str,
        env: dict[str, str],
        *,
        resume: str | None = None,
        fork: bool = False,
        history: Sequence[Event] = (),
    ) -> Job:
        """The order for the harness. `resume` is the agent's own session, `history` what was said in ours."""
        from runwire.seams import Job

        return Job(
            prompt=prompt, cwd=cwd, env=env, command=tuple(self.command), model=self.model, approve=self.approve,
            max_turns=self.max_turns, max_cost=self.max_cost, resume=resume, fork=fork, history=history,
            effort=self.effort, output_schema=self.output_schema, attended=self.attended,
            options={**self.options, **self._options()},
        )  # fmt: skip

    def _options(self) -> dict[str, Any]:
        """What only some harnesses understand."""
        found: dict[str, Any] = {}
        if self.allow or self.deny:
            from runwire.agent.approvals import rule

            found["rules"] = [
                *(rule("deny", text) for text in self.deny),
                *(rule("allow", text) for text in self.allow),
            ]
        if self.mcp is not None:
            from runwire.agent.mcp import configuration

            found["mcp"] = configuration(self.mcp)
        for name in ("sandbox", "fallback_model", "max_tokens"):
            if (value := getattr(self, name)) is not None:
                found[name] = value
        return found


def shown(prompt: str, request: Request, env: Mapping[str, str]) -> str:
    """A prompt as the list shows it: what is secret is masked, as it is in the events."""
    from runwire.redact import Redactor, secrets

    return prompt if request.redact == "off" else Redactor(secrets(env), shapes=request.redact == "shapes").text(prompt)
