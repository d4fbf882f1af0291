"""What a run has asked and nobody has answered, and the answers to it in the words of a person."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeAlias

from runwire import events as ev
from runwire.background import say
from runwire.errors import UsageError
from runwire.seams.lines import event_of
from runwire.seams.storing import LIVE, blocks
from runwire.sessions.following import follow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.seams.storing import RunRecord, Store

Asked: TypeAlias = ev.Question | ev.Permission
_YES = {"y", "yes", "allow", "ok", "true", "once"}
_ALWAYS = {"always", "allow always"}
_NO = {"n", "no", "deny", "reject", "false"}
_CONFIRM = 5.0
_WANTED = (b'{"kind":"question"', b'{"kind":"permission"', b'{"kind":"resolved"')


def open_requests(store: Store, run_id: str) -> list[Asked]:
    """The questions and permissions that are open, oldest first."""
    found: dict[str, Asked] = {}
    for block in blocks(store.reader(run_id)):
        for line in block.split(b"\n"):
            if not line.startswith(_WANTED):
                continue
            event = event_of(line)
            if isinstance(event, ev.Resolved):
                found.pop(event.request_id, None)
            elif isinstance(event, ev.Question | ev.Permission):
                found[event.request_id] = event
    return list(found.values())


def answer(store: Store, run: RunRecord, words: Sequence[str], request_id: str | None = None) -> bool:
    """Answer the request that is open (or the one of that id) and see that the run has taken it; False = it has not.

    Raises UsageError where nothing is asked, where several requests are open, or for an answer that fits none.
    """
    if run.status not in LIVE:
        raise UsageError(f"the run {run.run_id} has ended ({run.status}): nothing is asked any more")
    found = open_requests(store, run.run_id)
    if not found:
        raise UsageError(f"the run {run.run_id} asks nothing")
    asked, ids = [one for one in found if request_id in {None, one.request_id}], [one.request_id for one in found]
    if not asked:
        raise UsageError(f"no request {request_id!r} is open; open: {', '.join(ids)}")
    if len(asked) != 1:
        raise UsageError(f"several requests are open, say which one: --request {', '.join(ids)}")
    say(store, run, "answer", request_id=asked[0].request_id, value=value_of(asked[0], words))
    return _is_resolved(store, run.run_id, asked[0].request_id)


def value_of(asked: Asked, words: Sequence[str]) -> Any:
    """The answer as the agent takes it: the id of an option, or a text for each question. `1, 3`: several options.

    >>> once = ev.PermissionOption(id="a1", label="Allow", effect="allow_once")
    >>> value_of(ev.Permission(request_id="r", title="ls", options=[once]), ["yes"])
    'a1'
    >>> sizes = [ev.Choice(label="S"), ev.Choice(label="M"), ev.Choice(label="L")]
    >>> ask = ev.Ask(prompt="Which?", options=sizes, multi_select=True, allow_free_text=True)
    >>> value_of(ev.Question(request_id="r", questions=[ask]), ["1, l"])
    {'Which?': 'S, L'}
    """
    if isinstance(asked, ev.Permission):
        return _choice(asked, " ".join(words))
    if len(asked.questions) == 1:
        words = [" ".join(words)]
    if len(words) != len(asked.questions):
        raise UsageError(f"{len(asked.questions)} questions are asked: give one answer for each")
    return {ask.prompt: _label(ask, word) for ask, word in zip(asked.questions, words, strict=True)}


def _choice(asked: ev.Permission, word: str) -> str:
    """The option that the word means: its id, its label, its number, or a plain yes or no."""
    for at, option in enumerate(asked.options, 1):
        if word in {option.id, str(at)} or word.lower() == option.label.lower():
            return option.id
    kinds = {"allow_once": _YES, "allow_always": _ALWAYS, "reject_once": _NO, "reject_always": {"never"}}
    for option in asked.options:
        if word.lower() in kinds[option.effect]:
            return option.id
    known = ", ".join(f"{option.id} ({option.label})" for option in asked.options)
    raise UsageError(f"{word!r} is no answer to this; it can be: {known}")


def _label(ask: ev.Ask, words: str) -> str:
    """One option, or several with commas between them where several may be chosen."""
    if ask.multi_select and words.lower() not in {option.label.lower() for option in ask.options}:
        return ", ".join(_one(ask, word.strip()) for word in words.split(","))
    return _one(ask, words)


def _one(ask: ev.Ask, word: str) -> str:
    """An option by its number or its label, else the user's own words where they are allowed."""
    if word.isdigit() and 1 <= int(word) <= len(ask.options):
        return ask.options[int(word) - 1].label
    for option in ask.options:
        if option.label.lower() == word.lower():
            return option.label
    if not ask.allow_free_text and ask.options:
        raise UsageError(f"{word!r} is none of: {', '.join(option.label for option in ask.options)}")
    return word


def _is_resolved(store: Store, run_id: str, request_id: str) -> bool:
    """Whether the run tells of the end of the request, within a moment."""
    wanted = b'"request_id":' + request_id_of(request_id)
    until = time.monotonic() + _CONFIRM
    for block in follow(store, run_id):
        if any(line.startswith(_WANTED[2]) and wanted in line for line in block.split(b"\n")):
            return True
        if time.monotonic() >= until:
            break
    return False


def request_id_of(request_id: str) -> bytes:
    """An id as it stands in a line."""
    from msgspec.json import encode

    return encode(request_id)
