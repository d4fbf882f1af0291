"""`runwire answer`: answer what a run asks, from any terminal. Without an answer it shows what is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire.cli.attach import found_run
from runwire.cli.options import Parser
from runwire.cli.writing import say, tell

if TYPE_CHECKING:
    from runwire.background.asking import Asked

_EPILOG = """examples:
  runwire answer run_3f             what is asked?
  runwire answer run_3f yes         allow it once
  runwire answer run_3f 2           the second option
  runwire answer run_3f "use tabs"  in your own words
"""


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_intermixed_args(argv)
    from runwire.background.asking import answer, open_requests
    from runwire.cli.lines import opened

    with opened() as store:
        run = found_run(store, args.run)
        if not args.answer:
            asked = open_requests(store, run.run_id)
            for one in asked:
                _show(one)
            return 0 if asked else _nothing(run.run_id)
        if answer(store, run, args.answer, args.request):
            tell("answered")
            return 0
    say("runwire: the answer was sent, but the run has not taken it yet; look on: runwire attach " + run.run_id)
    return 1


def _show(asked: Asked) -> None:
    from runwire import events as ev
    from runwire.cli.lines import plain

    if isinstance(asked, ev.Permission):
        tell(f"{asked.request_id}: may it? {plain(asked.title)}")
        for at, option in enumerate(asked.options, 1):
            tell(f"  {at}  {plain(option.id):<8} {plain(option.label)}")
        return
    for ask in asked.questions:
        tell(f"{asked.request_id}: {plain(ask.prompt)}")
        for at, choice in enumerate(ask.options, 1):
            tell(f"  {at}  {plain(choice.label + (f' - {choice.description}' if choice.description else ''))}")
        if ask.allow_free_text:
            tell("     or your own words")


def _nothing(run_id: str) -> int:
    say(f"runwire: the run {run_id} asks nothing")
    return 1


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire answer", description=__doc__, epilog=_EPILOG)
    made.add_argument("run", metavar="RUN", help="its id, or that of its session; the first characters will do")
    made.add_argument(
        "answer", nargs="*", default=[], metavar="ANSWER", help="yes, no, an option, its number, or words"
    )
    made.add_argument("--request", metavar="ID", help="which one, where several are open")
    return made
