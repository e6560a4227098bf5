"""How does a failure leave the program? An exit code, a sentence on stderr, and JSON if JSON was asked for.

Never a traceback: an unforeseen exception is named by its type and the functions it passed, without its words, which
may hold what must not be shown.
"""

from __future__ import annotations

import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from iamata.errors import (
    BadInput,
    Bug,
    Conflict,
    IamataError,
    NotAllowed,
    NotFound,
    TooLarge,
    Unavailable,
)
from iamata.interfaces.cli import printing

# Shown by `iamata --help`; the numbers are those of `exit_code`.
EXIT_CODES = (
    "Exit codes: 0 done, 2 bad input, 3 not found, 4 conflict with what is stored, 5 not allowed, "
    "6 too large, 7 unavailable, 70 a fault in iamata, 130 interrupted."
)


def exit_code(error: BaseException) -> int:
    """The exit code for an error; 70 (EX_SOFTWARE of sysexits.h) for everything unforeseen."""
    match error:
        case TooLarge():
            return 6
        case BadInput():
            return 2
        case NotFound():
            return 3
        case Conflict():
            return 4
        case NotAllowed():
            return 5
        case Unavailable():
            return 7
        case _:
            return 70


def described(error: BaseException) -> dict[str, Any]:
    """The error as JSON: `kind`, `message`, `exitCode`, and its place or reasons if it has any."""
    place = getattr(error, "place", "")
    reasons = getattr(error, "reasons", ())
    return {
        "kind": type(error).__name__.lstrip("_"),
        "message": told(error),
        "exitCode": exit_code(error),
        **({"place": place} if place else {}),
        **({"reasons": list(reasons)} if reasons else {}),
    }


def told(error: BaseException) -> str:
    """The error in one sentence. Of an unforeseen one only where it happened."""
    if isinstance(error, IamataError) and not isinstance(error, Bug):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    path = " < ".join(f"{each.name}:{each.lineno}" for each in reversed(frames))
    return f"a fault in iamata ({type(error).__name__} at {path}); please report it with the command you gave"


class Answering(TyperGroup):
    """Runs the commands; every error they raise is told here, in one place."""

    def invoke(self, ctx: Any) -> Any:
        from iamata.engine.beside import gathering

        try:
            with gathering() as warnings:
                answered = super().invoke(ctx)
            for each in warnings:
                printing.remark(f"⚠ {each}")
            return answered
        except IamataError as error:
            failure: Exception = error
        except (typer.Exit, typer.Abort, _usage_error(), OSError) as error:
            if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                failure = Unavailable(f"the system refused: {error.strerror or type(error).__name__}")
            else:
                raise
        except Exception as error:
            failure = error
        printing.tell_failure(told(failure), _reasons(failure))
        if ctx.meta.get(printing.JSON):
            printing.put_json({"error": described(failure)})
        raise typer.Exit(exit_code(failure))


def _reasons(error: BaseException) -> str:
    reasons = getattr(error, "reasons", ())
    return f"because: {', '.join(reasons)}" if reasons else ""


def _usage_error() -> type[Exception]:
    """What the argument parser raises for a wrong command line, which it tells by itself (exit code 2)."""
    for base in typer.BadParameter.__mro__:
        if base.__name__ == "ClickException" and issubclass(base, Exception):
            return base
    return typer.BadParameter
