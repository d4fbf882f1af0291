"""What the documents show is what happens: their Python is run, their commands are run and the output is compared.

In README.md and docs/**/*.md, in the order of the file and in one temporary folder a file, which is a copy of
examples/sample-project:

- a block of any language that begins with `# file: PATH` is written there.
- a ```python block is a doctest if it has `>>>` in it, else a script. All blocks of a file share their names.
- a ```console block holds lines `$ command` (a line `> ...` goes on with the command) and the output, stdout and stderr
  together. `...` in a line stands for anything in that line, alone on a line for any number of lines.
- `<!-- not executed: reason -->` on the line before a block lets it be.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted(path for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")] if path.exists())

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w+-]*)[^`]*$")
FILE = re.compile(r"# file: (\S+)\n")
SKIP = re.compile(r"^\s*<!-- not executed: \S.*-->\s*$")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Block:
    language: str
    line: int  # of its first line of content, from 1
    text: str


@dataclass(frozen=True)
class Step:
    command: str
    line: int
    shown: str


def blocks(text: str) -> list[Block]:
    """The fenced blocks that are meant to run."""
    found = []
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        opening = FENCE.match(lines[number])
        number += 1
        if not opening:
            continue
        skipped = number >= 2 and SKIP.match(lines[number - 2])
        first = number
        closing = re.compile(rf"^ *{opening['ticks']}`* *$")
        while number < len(lines) and not closing.match(lines[number]):
            number += 1
        content = [line.removeprefix(opening["indent"]) for line in lines[first:number]]
        number += 1
        block = Block(opening["language"], first + 1, "\n".join(content) + "\n")
        if (block.language in {"python", "console"} or FILE.match(block.text)) and not skipped:
            found.append(block)
    return found


def steps(block: Block) -> list[Step]:
    """The commands of a console block and what is shown for each."""
    found: list[Step] = []
    shown_yet = False
    for line, text in enumerate(block.text.splitlines(), block.line):
        if text.startswith("$ "):
            found.append(Step(text[2:], line, ""))
            shown_yet = False
        elif not found:
            assert not text.strip(), f"line {line}: output before the first `$ command`"
        elif text.startswith("> ") and not shown_yet:
            found[-1] = Step(f"{found[-1].command}\n{text[2:]}", found[-1].line, "")
        else:
            found[-1] = Step(found[-1].command, found[-1].line, f"{found[-1].shown}{text}\n")
            shown_yet = True
    return found


def same(shown: str, got: str) -> bool:
    """Whether the output is what is shown. Blanks at the end of a line, empty lines around and colours are nothing."""

    def lines(text: str) -> list[str]:
        return [line.rstrip() for line in ESCAPES.sub("", text).strip("\n").splitlines()]

    pattern = "".join(
        r"(?:.*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n" for line in lines(shown)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines(got))) is not None


def run_python(path: Path, block: Block, names: dict[str, object]) -> None:
    if ">>>" not in block.text:
        padding = "\n" * (block.line - 1)  # so that a traceback names the line of the document
        exec(compile(padding + block.text, str(path), "exec", dont_inherit=True), names)  # noqa: S102
        return
    examples = doctest.DocTestParser().get_doctest(block.text, names, path.name, str(path), block.line - 1)
    examples.globs = names
    report: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    doctest.DocTestRunner(optionflags=flags, verbose=False).run(examples, out=report.append, clear_globs=False)
    assert not report, "".join(report)


def run_console(path: Path, block: Block, folder: Path, env: dict[str, str]) -> None:
    for step in steps(block):
        done = subprocess.run(
            ["sh", "-c", step.command],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
        where = f"{path.name}:{step.line}: $ {step.command}"
        assert same(step.shown, done.stdout), f"{where}\nshown:\n{step.shown}\ngot ({done.returncode}):\n{done.stdout}"


def run_document(path: Path, folder: Path, env: dict[str, str]) -> int:
    """Run the blocks of a document; gives how many there were."""
    names: dict[str, object] = {"__name__": "__main__"}
    found = blocks(path.read_text(encoding="utf-8"))
    for block in found:
        if place := FILE.match(block.text):
            (folder / place[1]).parent.mkdir(parents=True, exist_ok=True)
            (folder / place[1]).write_text(block.text[place.end() :], encoding="utf-8")
        elif block.language == "python":
            run_python(path, block, names)
        else:
            run_console(path, block, folder, env)
    return len(found)


@pytest.fixture
def folder(tmp_path: Path, clean_env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sample project, which Python blocks are in too, with the environment of the commands."""
    place = tmp_path / "document"
    shutil.copytree(ROOT / "examples" / "sample-project", place)
    monkeypatch.chdir(place)
    for name in set(os.environ) - {"PYTEST_CURRENT_TEST"}:
        monkeypatch.delenv(name)
    for name, value in clean_env.items():
        monkeypatch.setenv(name, value)
    return place


@pytest.mark.parametrize("path", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])
def test_the_document_tells_the_truth(path: Path, folder: Path, clean_env: dict[str, str]) -> None:
    run_document(path, folder, clean_env)


# --- and this is itself shown to bite ---------------------------------------------------------------------------------

TRUE = """
```python
from pathlib import Path
Path("made.txt").write_text("one two three\\n", encoding="utf-8")
```
```console
$ cat made.txt
one ... three
$ printf '%s\\n' a b c
...
c
$ cat <<END
> first
> END
first
$ echo lost >&2; echo "1.5 ..."
lost
1.5 ...
```
```toml
# file: folder/made.toml
key = 1
```
```console
$ cat folder/made.toml; ls
key = 1
...
calc.py
...
```
<!-- not executed: there is no such command -->
```console
$ no-such-command
```
```python
>>> Path("made.txt").read_text(encoding="utf-8")
'one ...'
```
```text
not looked at
```
"""


def test_a_true_document_passes(tmp_path: Path, folder: Path, clean_env: dict[str, str]) -> None:
    path = tmp_path / "true.md"
    path.write_text(TRUE, encoding="utf-8")
    assert run_document(path, folder, clean_env) == 5


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ echo one\ntwo\n```",
        "```console\n$ echo one\n```",
        "```console\n$ printf 'one\\ntwo\\n'\none\n```",
        "```console\n$ no-such-command\n```",
        "```console\n$ echo axc\na.c\n```",
        "```console\n$ printf 'a\\nb\\n'\n...\nc\n```",
        "```python\nassert False\n```",
        "```python\n>>> 1 + 1\n3\n```",
        "1. In a list:\n\n   ```python\n   assert False\n   ```",
        "<!-- not executed: -->\n```python\nassert False\n```",
    ],
)
def test_a_false_document_fails(text: str, tmp_path: Path, folder: Path, clean_env: dict[str, str]) -> None:
    path = tmp_path / "false.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError):
        run_document(path, folder, clean_env)


@pytest.mark.parametrize(
    ("shown", "got"),
    [
        ("...", ""),
        ("...", "a\nb"),
        ("a\n...", "a"),
        ("a\n...", "a\nb\nc"),
        ("...\nc", "c"),
        ("a\n...\nc", "a\nc"),
        ("a\n...\nc", "a\nb\nc"),
        ('{"ts":...,"pid":...}', '{"ts":12,"pid":3}'),
        ("red", "\x1b[31mred\x1b[0m   \n"),
    ],
)
def test_three_dots_stand_for_anything(shown: str, got: str) -> None:
    assert same(shown, got)


@pytest.mark.parametrize(("shown", "got"), [("a\n...\nc", "ac"), ("a\n...\nc", "a\nbc"), ("a\n...", "ab"), ("", "a")])
def test_three_dots_on_a_line_stand_for_whole_lines(shown: str, got: str) -> None:
    assert not same(shown, got)
