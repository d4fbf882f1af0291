"""The floor as a program: the least that anything does that turns these lines into others. Read, split, load, dump."""

from __future__ import annotations

import os

import orjson

tail = b""
while chunk := os.read(0, 65_536):
    *lines, tail = (tail + chunk).split(b"\n")
    out = memoryview(b"".join([orjson.dumps(orjson.loads(line)) + b"\n" for line in lines]))
    while out:
        out = out[os.write(1, out) :]
