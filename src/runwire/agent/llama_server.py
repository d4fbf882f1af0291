"""A program of its own: llama.cpp's server on loopback, through `xllamacpp`.

`python -m runwire.agent.llama_server FILE` prints one line, the address, when the model is loaded, and serves until it
is ended.
"""

from __future__ import annotations

import sys
import time
from typing import Any

CONTEXT = 8192


def main(path: str) -> None:
    """Serve the weights of that file."""
    import xllamacpp

    parameters: Any = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.verbosity = 0
    server: Any = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main(sys.argv[1])
