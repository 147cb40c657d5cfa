"""The tools: what each is called, takes and gives, and how a call of one is answered or fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ValidationError

from doxa.adapters.mcp import arguments as args
from doxa.adapters.mcp import asking, reading, recording, texts
from doxa.adapters.mcp import results as res
from doxa.adapters.mcp.desk import Desk
from doxa.engine.errors import DamageError, DoxaError, NotALedger, StorageError, WrongKeys
from doxa.engine.outcomes import Unavailable

__all__ = ["Answered", "Failed", "Tool", "Toolbox", "failure"]

log = logging.getLogger("doxa.mcp")

Call = Callable[[Desk, Any], tuple[BaseModel, str]]

# Whose words are the operator's: they name files, and an agent can do nothing about them.
_INTERNAL: Final = (StorageError, DamageError, NotALedger, WrongKeys, Unavailable)
_TITLES: Final = "title"  # which pydantic makes of each name, and which says nothing more


class Failed(Exception):
    """A call that failed, in words for who called."""


class Answered(NamedTuple):
    """An answer as data, and as text that has all of it."""

    data: dict[str, Any]
    text: str


@dataclass(frozen=True)
class Tool:
    """One tool. ``takes_back`` is whether it takes something out of what is believed."""

    name: str
    text: texts.Text
    takes: type[args.Arguments]
    gives: type[BaseModel]
    call: Call
    records: bool = False
    takes_back: bool = False

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments: first those that are needed, the workspace last."""
        schema = dict(_plain(self.takes.model_json_schema()))
        needed = schema.get("required", ())
        properties = sorted(
            schema["properties"].items(),
            key=lambda item: (item[0] not in needed, item[0] == "workspace"),
        )
        return {**schema, "properties": dict(properties)}

    @property
    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of the answer."""
        schema = _plain(self.gives.model_json_schema(mode="serialization"))
        return dict(_merged(schema))

    @property
    def hints(self) -> dict[str, bool]:
        """How a host may treat it."""
        return {
            "read_only_hint": not self.records,
            "destructive_hint": self.takes_back,
            "idempotent_hint": not self.records,  # a call without an id records anew
            "open_world_hint": False,
        }

    def answer(self, desk: Desk, given: Mapping[str, Any]) -> Answered:
        """What a call gives. Raises `Failed`, which is all that it raises."""
        try:
            taken = self.takes.model_validate(dict(given))
            made, text = self.call(desk, taken)
        except ValidationError as error:
            raise Failed(_invalid(error, self.takes)) from None
        except Exception as error:
            raise failure(error, self.name, self.records) from None
        return Answered(made.model_dump(mode="json"), text)


_TOOLS: Final = (
    Tool("doxa_recall", texts.RECALL, args.Recalling, res.Recalled, asking.recall),
    Tool("doxa_assemble", texts.ASSEMBLE, args.Assembling, res.Context, asking.assemble),
    Tool("doxa_view", texts.VIEW, args.Viewing, res.Claims, reading.view),
    Tool("doxa_why", texts.WHY, args.Why, res.Explanation, reading.why),
    Tool("doxa_history", texts.HISTORY, args.History, res.Past, reading.history),
    Tool("doxa_diff", texts.DIFF, args.Diffing, res.Changes, reading.diff),
    Tool("doxa_reconcile", texts.RECONCILE, args.Reconciling, res.Reconciled, reading.reconcile),
    Tool("doxa_claim", texts.CLAIM, args.Claiming, res.Recorded, recording.claim, True),
    Tool("doxa_support", texts.SUPPORT, args.Supporting, res.Recorded, recording.support, True),
    Tool(
        "doxa_correct", texts.CORRECT, args.Correcting, res.Recorded, recording.correct, True, True
    ),
    Tool(
        "doxa_withdraw",
        texts.WITHDRAW,
        args.Withdrawing,
        res.Recorded,
        recording.withdraw,
        True,
        True,
    ),
)


class Toolbox:
    """The tools of one server: those that record only where it may, and with an argument for the
    workspace only where it is not bound to one."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.tools: dict[str, Tool] = {}
        for tool in _TOOLS:
            if tool.records and desk.read_only:
                continue
            takes = tool.takes if desk.workspace is not None else args.of_any_workspace(tool.takes)
            self.tools[tool.name] = Tool(**{**vars(tool), "takes": takes})

    def answer(self, name: str, given: Mapping[str, Any]) -> Answered:
        """What a call of a tool gives. Raises `Failed`."""
        tool = self.tools.get(name)
        if tool is not None:
            return tool.answer(self.desk, given)
        if any(one.name == name for one in _TOOLS):
            raise Failed(
                f"read_only: {name} records, and this server only reads; tell the person who runs "
                "it, if something is to be recorded"
            )
        raise Failed(f"unknown_tool: there is no {name!r:.80}; there are {', '.join(self.tools)}")


def failure(error: Exception, what: str, records: bool = False) -> Failed:
    """An error in words for who called; what is the operator's business goes to the log alone."""
    if isinstance(error, _INTERNAL):
        log.error("%s: %s: %s", what, error.code, error)
        return Failed(
            f"{error.code}: the ledger, or a part of it, can't be used just now; nothing that you "
            "can mend from here: tell the person who runs this server, whose log says why"
        )
    if isinstance(error, DoxaError):
        return Failed(f"{error.code}: {error}")
    log.error("%s failed", what, exc_info=error)
    again = "; it may have been recorded all the same" if records else ""
    return Failed(
        f"unexpected: a mistake in the server itself, whose log has the details{again}; call in "
        "another way, or tell the person who runs it"
    )


def _invalid(error: ValidationError, takes: type[BaseModel]) -> str:
    """What is wrong with the arguments, each by its name."""
    told = []
    for each in error.errors(include_url=False, include_context=False, include_input=False)[:5]:
        name = ".".join(str(part) for part in each["loc"]) or "arguments"
        if name == "as_of":
            told.append(
                "as_of is refused: say valid_at (when it applies in the world) and known_at (what "
                "had been recorded by then)"
            )
        elif each["type"] == "extra_forbidden":
            told.append(f"there is no {name!r:.80}; there are {', '.join(takes.model_fields)}")
        elif each["type"] == "missing":
            told.append(f"{name:.80} is missing")
        else:
            told.append(f"{name:.80}: {each['msg']}")
    return f"invalid_arguments: {'; '.join(told)}. Nothing was done; mend it and call again"


def _merged(schema: Any) -> Any:
    """A schema with its simple alternatives in one: clients check each answer against it, step by
    step."""
    if isinstance(schema, list):
        return [_merged(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _merged(value) for name, value in schema.items()}
    either = found.get("anyOf", ())
    if either and all(set(one) == {"type"} for one in either):
        del found["anyOf"]
        found["type"] = [one["type"] for one in either]
    return found


def _plain(schema: Any, properties: bool = False) -> Any:
    """A schema without the titles that are made of names; a property called title stays."""
    if isinstance(schema, dict):
        return {
            name: _plain(value, name in ("properties", "$defs") and not properties)
            for name, value in schema.items()
            if properties or name != _TITLES
        }
    return [_plain(one) for one in schema] if isinstance(schema, list) else schema
