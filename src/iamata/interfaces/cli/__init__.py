"""The command line: `iamata COMMAND`. Calls the engine and nothing below it; holds no rule of its own.

`failures` errors to exit codes · `printing` what is written where · `options` what several commands accept · `opening`
which database · `documents`, `transcripts` what is sent in · `accounts` what became of it · `ingesting`, `pulling`,
`writing`, `reading`, `telling`, `deciding`, `entries`, `running` the commands · `demo` one small patient, all the way.
"""

from __future__ import annotations

import sys

from iamata.interfaces.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """The entry point. Characters that the terminal's encoding does not have are replaced, never a reason to stop."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app()
