"""Allow, ask or deny: the ladder and the rules. Pure; the same engine answers for other harnesses.

The ladder: `read` lets the agent look, `ask` asks before it changes or runs anything, `edit` lets it change files of
the workspace, `full` lets it do everything. Rules stand above the ladder: the first that fits decides. Protected paths
(version control, secrets, keys) are never written without being asked for, whatever the ladder says. Where nobody can
be asked, `ask` is `deny`, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

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
class Rule:
    """One rule: `tool` and `pattern` are globs; the pattern is held against the command or each path of the call."""

    decision: Decision
    tool: str = "*"
    pattern: str = "*"

    def fits(self, tool: str, subjects: Sequence[str]) -> bool:
        """Whether the rule speaks of this call. A permission must fit every subject, a refusal any of them."""
        if not fnmatchcase(tool.lower(), self.tool.lower()):  # some agents write Bash, some bash
            return False
        if self.pattern == "*":
            return True
        matches = [fnmatchcase(subject, self.pattern) for subject in subjects]
        return bool(matches) and (all(matches) if self.decision == "allow" else any(matches))


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

    def judge(self, tool: str, kind: ToolKind, subjects: Sequence[str], paths: Sequence[str] = ()) -> Judgement:
        """What to do with a call: `subjects` are its command or paths, `paths` the files that it would change."""
        found = self._judge(tool, kind, subjects, paths)
        if found.decision == "ask" and not self.attended:
            return Judgement("deny", f"{found.reason}, and nobody is there to be asked (--approve {self._next(kind)})")
        return found

    def _judge(self, tool: str, kind: ToolKind, subjects: Sequence[str], paths: Sequence[str]) -> Judgement:
        for rule in self.rules:
            if rule.fits(tool, subjects):
                return Judgement(rule.decision, f"a rule for {rule.tool} {rule.pattern} says {rule.decision}")
        if kind in _CHANGING and (path := next((path for path in paths if protected(path)), None)) is not None:
            return Judgement("ask", f"{path} is protected")
        if self.ladder == "full" or kind in _LOOKING or (kind == "other" and tool in _HARMLESS):
            return Judgement("allow", f"the ladder is at {self.ladder}")
        if kind in _CHANGING and self.ladder == "edit":
            return Judgement("allow", "the ladder is at edit")
        if self.ladder == "read":
            return Judgement("deny", f"{tool} may not run: only looking is allowed (--approve read)")
        return Judgement("ask", f"{tool} needs leave")

    @staticmethod
    def _next(kind: ToolKind) -> str:
        return "edit" if kind in _CHANGING else "full"

    def always(self, tool: str, pattern: str = "*") -> None:
        """The user has allowed this for good."""
        self.rules.insert(0, Rule("allow", tool, pattern))


_HARMLESS = {"todo", "ask", "background_status", "background_list"}


def protected(path: str) -> bool:
    """Whether a path is one that is never written without being asked for."""
    return any(fnmatchcase(path, pattern) for pattern in PROTECTED)
