"""Draws what a command writes to a terminal as an SVG: `picture.py FILE.svg COLUMNS TITLE < output`.

The picture of docs/terminal.md is tests/showcase.ndjson, a made-up run:

    runwire convert tests/showcase.ndjson --to terminal,color=1,width=84 | python tests/picture.py \
        docs/images/terminal.svg 84 "runwire run"

The output is what the wire `terminal` writes with `color=1`: lines with SGR, nothing else that moves the cursor but the
erasing of a transient line.
"""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path

from runwire.dialects.terminal.ink import cells

SGR = re.compile(r"\x1b\[([\d;]*)m")
CELL, LINE, SIZE, EDGE, BAR = 8.4, 19, 14, 18, 34
COLORS = {31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76d9e6"}
FONT = '"DejaVu Sans Mono", Menlo, Consolas, monospace'
STYLE = f"""
    .f {{ font-family: {FONT}; font-size: {SIZE}px; white-space: pre; fill: #d5dbe3 }}
    .b {{ font-weight: 600; fill: #f5f8fb }} .d {{ opacity: 0.58 }} .i {{ font-style: italic }} .t {{ fill: #8b949e }}
    {" ".join(f".c{code} {{ fill: {color} }}" for code, color in COLORS.items())}"""


def runs(line: str) -> list[tuple[str, list[int]]]:
    """The pieces of a line and the codes they are written with."""
    found, codes, at = [], [], 0
    for match in SGR.finditer(line):
        found.append((line[at : match.start()], codes))
        codes = [] if match[1] in {"", "0"} else [*codes, *(int(code) for code in match[1].split(";"))]
        at = match.end()
    return [(text, codes) for text, codes in [*found, (line[at:], codes)] if text]


def element(text: str, column: int, row: int, codes: list[int]) -> str:
    """One piece at its place."""
    words = {1: "b", 2: "d", 3: "i"}
    names = " ".join(
        [words[code] for code in codes if code in words] + [f"c{code}" for code in codes if code in COLORS]
    )
    x, y = EDGE + column * CELL, BAR + EDGE + row * LINE
    attribute = f' class="{names}"' if names else ""
    length = f' textLength="{cells(text) * CELL:.1f}"' if cells(text) > 1 else ""
    return f'<text x="{x:.1f}" y="{y}"{length}{attribute}>{escape(text)}</text>'


def picture(output: str, columns: int, title: str) -> str:
    """The SVG."""
    lines = [line.rpartition("\x1b[K")[2].rstrip() for line in output.replace("\r\n", "\n").rstrip().split("\n")]
    body = []
    for row, line in enumerate(lines):
        column = 0
        for text, codes in runs(line):
            if text.strip():
                lead = len(text) - len(text.lstrip())
                body.append(element(text.strip(), column + lead, row, codes))
            column += cells(text)
    width, height = round(2 * EDGE + columns * CELL), BAR + EDGE + len(lines) * LINE
    dots = "".join(
        f'<circle cx="{20 + 18 * at}" cy="18" r="5.5" fill="{color}"/>'
        for at, color in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">
  <title>{escape(title)}</title>
  <style>{STYLE}</style>
  <rect width="{width}" height="{height}" rx="9" fill="#12161c"/>
  {dots}
  <g class="f" xml:space="preserve">
  <text x="{width / 2}" y="22" text-anchor="middle" class="t" font-size="12">{escape(title)}</text>
  {f"{chr(10)}  ".join(body)}
  </g>
</svg>
"""


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(sys.stdin.read(), int(sys.argv[2]), sys.argv[3]), encoding="utf-8")
