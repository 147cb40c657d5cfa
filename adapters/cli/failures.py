"""How commands fail: one line on stderr, and an exit code that says whose problem it is."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from itertools import islice
from typing import Any, Final

import typer
from typer.core import TyperGroup

from doxa.adapters.cli.output import escaped
from doxa.engine.errors import (
    CallerError,
    Compacted,
    ConflictError,
    DamageError,
    DoxaError,
    Erased,
    NotHeld,
    SeveralHeld,
    StorageError,
)
from doxa.engine.outcomes import Gap, Unavailable

__all__ = ["CALLER", "CONFLICT", "DAMAGE", "DONE", "NO", "UNEXPECTED", "Commands"]

DONE: Final = 0  # done, or yes
NO: Final = 1  # no, or a difference was found
CALLER: Final = 2  # the caller's mistake
CONFLICT: Final = 3  # something else came first
DAMAGE: Final = 4  # what is stored is damaged, or the disk refuses
UNEXPECTED: Final = 70  # a mistake in doxa itself
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141

_CODES: Final[tuple[tuple[type[DoxaError], int], ...]] = (
    (NotHeld, NO),
    (Erased, NO),
    (Compacted, NO),
    (SeveralHeld, NO),
    (CallerError, CALLER),
    (ConflictError, CONFLICT),
    (DamageError, DAMAGE),
    (StorageError, DAMAGE),
    (Unavailable, CALLER),
)
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
# What typer raises for wrong arguments; the class has no public name in all its versions.
_Usage: Any = typer.BadParameter.__bases__[0]


def _code(error: DoxaError) -> int:
    if isinstance(error, Unavailable) and getattr(error, "reason", None) is Gap.INDEX_UNAVAILABLE:
        return DAMAGE  # the log can't be read
    return next((code for kind, code in _CODES if isinstance(error, kind)), UNEXPECTED)


def _tell(code: str, message: str, exit: int, as_json: bool) -> int:
    if as_json:
        told = json.dumps({"error": {"code": code, "message": message, "exit": exit}})
        print(told, file=sys.stderr)
    else:
        print(f"doxa: {code}: {escaped(message)}", file=sys.stderr)
    return exit


def _usage(error: Any, command: str | None) -> str:
    if getattr(error, "option_name", None) == "--as-of":
        return (
            "--as-of is refused: say --valid-at (when it applied in the world) and --known-at "
            "(what had been recorded by then)"
        )
    message: str = error.format_message()
    if message.startswith("No such option: -") and not message.startswith("No such option: --"):
        message = f"{message} (a value that begins with a dash comes after --)"
    if message == "Missing option '--valid-at'.":
        message = "Missing option '--valid-at', e.g. --valid-at now."
    where = " ".join(filter(None, ("doxa", command)))
    if error.ctx is not None and error.ctx.parent is not None:
        where = error.ctx.command_path
    return (
        f"{message} See {where} --help"
        if message[-1:] in ".?"
        else f"{message}; see {where} --help"
    )


def _keys_first(args: list[str]) -> list[str]:
    """The arguments with the option that all commands share before the command, where the group
    looks for it."""
    first: list[str] = []
    rest: list[str] = []
    left = iter(args)
    for arg in left:
        if arg == "--":
            return [*first, *rest, arg, *left]
        if arg == "--keys":
            value = [*islice(left, 1)]
            if not value:
                return [arg]  # the group says what is missing
            first += [arg, *value]
        else:
            (first if arg.startswith("--keys=") else rest).append(arg)
    return [*first, *rest]


class Commands(TyperGroup):
    """The group of all commands, which turns errors into exit codes."""

    as_json = False  # whether errors are told as JSON

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Lists the commands under their headings."""
        headings: dict[str, list[tuple[str, Any]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            headings.setdefault(command.rich_help_panel, []).append((name, command))
        limit = formatter.width - 6 - max(len(name) for name in self.commands)
        for heading, commands in headings.items():
            with formatter.section(heading):
                formatter.write_dl([(name, c.get_short_help_str(limit)) for name, c in commands])

    def main(self, args: Any = None, *positional: Any, **options: Any) -> Any:
        """Runs a command line and exits."""
        given = [*sys.argv[1:]] if args is None else [*args]
        self.as_json = "--json" in given
        options["standalone_mode"] = False
        try:
            code = super().main(_keys_first(given), *positional, **options)
        except _Usage as error:
            code = _tell("usage", _usage(error, self._named(given)), CALLER, self.as_json)
        except typer.Abort:
            code = INTERRUPTED
        raise SystemExit(code if isinstance(code, int) else DONE)

    def _named(self, given: list[str]) -> str | None:
        """The command that a command line names."""
        return next((word for word in _keys_first(given) if word in self.commands), None)

    def invoke(self, ctx: Any) -> Any:
        """Runs one command; its return value is the exit code."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
            return code
        except DoxaError as error:
            return _tell(error.code, str(error), _code(error), self.as_json)
        except BrokenPipeError:
            _give_up_stdout()
            return PIPE_CLOSED
        except KeyboardInterrupt:
            return INTERRUPTED
        except (typer.Exit, typer.Abort, _Usage):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _FULL:
                _give_up_stdout()
                message = f"the output can't be written: {error.strerror}; what was recorded stays"
                return _tell("storage", message, DAMAGE, self.as_json)
            traceback.print_exc()
            message = "a mistake in doxa itself; please report it with the lines above"
            return _tell("unexpected", message, UNEXPECTED, self.as_json)


def _give_up_stdout() -> None:
    """Nobody reads what is left: it is not to fail again as the process ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
