"""Allow, ask or deny: the ladder and the rules. Pure; the same engine answers for other harnesses.

The ladder: `read` lets the agent look, `ask` asks before it changes or runs anything, `edit` lets it change files of
the workspace, `full` lets it do everything. Rules stand above the ladder. The order: rules that refuse; protected paths
(version control, secrets, keys), which are never written without being asked for, unless a permission names them; what
the user has allowed for always; the other rules, the first that fits; the ladder. A permission for a command has to fit
each simple command in it, a refusal one of them. Where nobody can be asked, `ask` is `deny`, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from runwire.agent.commands import take_apart

if TYPE_CHECKING:
    from runwire.events import ToolKind

Decision = Literal["allow", "ask", "deny"]
Ladder = Literal["read", "ask", "edit", "full"]

PROTECTED = (
    ".git", ".git/*", "*/.git/*", ".env", ".env.*", "*/.env", "*/.env.*", "*.pem", "*.key", "*/.ssh/*", "*id_rsa*",
    "*id_ed25519*", "*/.aws/*", "*/.gnupg/*", ".runwire.toml", "*/.runwire.toml", "*/.netrc",
)  # fmt: skip

_LOOKING = {"read", "search", "think"}
_CHANGING = {"edit", "write", "delete", "move"}


@dataclass(frozen=True)
class Place:
    """A file of a call: as `written`, as seen from the root of the project, and in full, without links or `..`."""

    written: str
    inside: str
    full: str

    @classmethod
    def of(cls, written: str, full: str, root: str) -> Place:
        """The place of a path; `full` is what it leads to."""
        folder = root.rstrip("/") + "/"
        return cls(written, full.removeprefix(folder) if full != root else ".", full)


@dataclass(frozen=True)
class Subjects:
    """What a call is about. Of each of `every` one reading has to fit a permission, of `any` one a refusal."""

    every: tuple[tuple[str, ...], ...] = ()
    any: tuple[str, ...] = ()
    whole: str | None = None
    """A command as it stands: a permission of exactly these words fits."""

    @classmethod
    def of(cls, command: str | None, places: Sequence[Place]) -> Subjects:
        """The simple commands of a command, else the files."""
        if command is None:
            every = tuple((place.inside, place.full) for place in places)
            return cls(every, tuple(path for place in places for path in (place.written, place.inside, place.full)))
        taken = take_apart(command)
        parts = tuple((part,) for part in taken.parts) if taken.sure and taken.parts else ((),)
        return cls(parts, (command, command.strip(), *taken.parts, *taken.meant), command)


@dataclass(frozen=True)
class Rule:
    """One rule: `tool` and `pattern` are globs; the pattern is held against each simple command or each path."""

    decision: Decision
    tool: str = "*"
    pattern: str = "*"

    def names(self, tool: str) -> bool:
        """Whether it speaks of this tool."""
        return fnmatchcase(tool.lower(), self.tool.lower())  # some agents write Bash, some bash

    def fits(self, readings: Sequence[str]) -> bool:
        """Whether the pattern fits one of these readings."""
        return self.pattern == "*" or any(fnmatchcase(reading, self.pattern) for reading in readings)


def rule(decision: Decision, text: str) -> Rule:
    """A rule as the command line says it: `TOOL` or `TOOL:GLOB`.

    >>> rule("allow", "bash:git *")
    Rule(decision='allow', tool='bash', pattern='git *')
    """
    tool, _, pattern = text.partition(":")
    return Rule(decision, tool or "*", pattern or "*")


@dataclass(frozen=True)
class Judgement:
    """A decision and why."""

    decision: Decision
    reason: str


@dataclass
class Approvals:
    """Judges calls. `attended`: somebody can be asked."""

    ladder: Ladder = "ask"
    rules: list[Rule] = field(default_factory=list)
    attended: bool = False
    _always: set[str] = field(default_factory=set)

    def judge(self, tool: str, kind: ToolKind, command: str | None = None, places: Sequence[Place] = ()) -> Judgement:
        """What to do with a call: the shell command that it runs, or the files that it touches."""
        found = self._judge(tool, kind, Subjects.of(command, places), places)
        if found.decision == "ask" and not self.attended:
            return Judgement("deny", f"{found.reason}, and nobody is there to be asked (--approve {self._next(kind)})")
        return found

    def _judge(self, tool: str, kind: ToolKind, subjects: Subjects, places: Sequence[Place]) -> Judgement:
        for rule in self.rules:
            if rule.decision == "deny" and self._refuses(rule, tool, kind, subjects):
                return _said(rule)
        if kind in _CHANGING and (place := next((one for one in places if self._is_held(one, tool)), None)) is not None:
            return Judgement("ask", f"{place.inside} is protected")
        if tool in self._always:
            return Judgement("allow", "the user allowed it for always")
        if (found := self._allowing(tool, subjects)) is not None:
            return _said(found)
        if self.ladder == "full" or kind in _LOOKING or (kind == "other" and tool in _HARMLESS):
            return Judgement("allow", f"the ladder is at {self.ladder}")
        if kind in _CHANGING and self.ladder == "edit":
            return Judgement("allow", "the ladder is at edit")
        if self.ladder == "read":
            return Judgement("deny", f"{tool} may not run: only looking is allowed (--approve read)")
        return Judgement("ask", f"{tool} needs leave")

    @staticmethod
    def _refuses(rule: Rule, tool: str, kind: ToolKind, subjects: Subjects) -> bool:
        """Whether a refusal fits. One for `bash` holds for whatever runs a shell command."""
        runs = subjects.whole is not None and kind == "execute"
        return (rule.names(tool) or (runs and rule.names("bash"))) and rule.fits(subjects.any)

    def _allowing(self, tool: str, subjects: Subjects) -> Rule | None:
        """The rule that decides, where none refuses; every subject needs one that allows it."""
        left = list(subjects.every)
        for rule in self.rules:
            if not rule.names(tool) or rule.decision == "deny":
                continue
            if rule.decision == "ask" and rule.fits(subjects.any):
                return rule
            if rule.decision == "allow":
                left = [readings for readings in left if not rule.fits(readings)]
                if rule.pattern in {"*", subjects.whole} or (subjects.every and not left):
                    return rule
        return None

    def _is_held(self, place: Place, tool: str) -> bool:
        """Whether a file is protected, and no permission of the user names it."""
        if not any(protected(path) for path in (place.written, place.inside, place.full)):
            return False
        readings = (place.inside, place.full)
        return not any(
            rule.decision == "allow"
            and rule.names(tool)
            and protected(rule.pattern.rstrip("*/"))
            and rule.fits(readings)
            for rule in self.rules
        )

    @staticmethod
    def _next(kind: ToolKind) -> str:
        return "edit" if kind in _CHANGING else "full"

    def always(self, tool: str) -> None:
        """The user has allowed this tool for good: all but what a rule refuses and what is protected."""
        self._always.add(tool)


def _said(rule: Rule) -> Judgement:
    return Judgement(rule.decision, f"a rule for {rule.tool} {rule.pattern} says {rule.decision}")


_HARMLESS = {"todo", "ask", "background_status", "background_list"}


def protected(path: str) -> bool:
    """Whether a path is one that is never written without being asked for."""
    return any(fnmatchcase(path, pattern) for pattern in PROTECTED)
