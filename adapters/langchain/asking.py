"""What all that asks a ledger has in common: its settings as fields, and the times of a call."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from langchain_core.runnables import ConfigurableFieldSpec
from langchain_core.runnables.config import ensure_config
from pydantic import BaseModel, PrivateAttr, model_validator

from doxa.adapters.answering import settings
from doxa.adapters.judging import Sieve

__all__ = ["SPECS", "TIMES", "Asking", "configured", "times_of"]

TIMES: Final = ("valid_at", "known_at")
SPECS: Final = [
    ConfigurableFieldSpec(
        id="valid_at",
        annotation=Any,
        name="valid_at",
        description="When it applied in the world; now, where it is left out.",
        is_shared=True,
    ),
    ConfigurableFieldSpec(
        id="known_at",
        annotation=Any,
        name="known_at",
        description="What had been recorded by then; the newest, where it is left out.",
        is_shared=True,
    ),
]


def configured(config: Any = None) -> dict[str, Any]:
    """What is configurable in this run: of its own configuration, or of the chain or agent that it
    is part of."""
    return dict(ensure_config(config).get("configurable") or {})


def times_of(config: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """The times of a call: those that it names, or else those that are configured for its run."""
    run = configured(config)
    return {
        name: run.get(name) if named.get(name) is None else named[name]  # 0 is a revision
        for name in TIMES
    }


class Asking(BaseModel):
    """Settings of a `Sieve`, as fields; it is made of them when they are known."""

    ledger: Any
    """An open ledger, or the path of one, which is opened when it is first asked."""
    valid_at: Any = None
    known_at: Any = None
    workspace: str = ""
    perspective: str | None = None
    shared: bool = True
    archived: bool = False
    keys: Any = None
    _made: Sieve = PrivateAttr()

    @model_validator(mode="before")
    @classmethod
    def _all_known(cls, given: Any) -> Any:
        """Raises `CallerError` for a field that there is not."""
        from doxa.arguments import refuse_unknown

        names = given if isinstance(given, Mapping) else ()
        if unknown := {name: None for name in names if name not in cls.model_fields}:
            bases = [base for base in cls.__mro__ if base.__module__.startswith("langchain")]
            theirs = {name for base in bases for name in getattr(base, "model_fields", ())}
            ours = [name for name in cls.model_fields if name not in theirs]
            refuse_unknown(unknown, cls.__name__, ", ".join(ours))
        return given

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._made = Sieve(**self._chosen())

    def _chosen(self) -> dict[str, Any]:
        names = [field.name for field in dataclasses.fields(Sieve)]
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    @property
    def _sieve(self) -> Sieve:
        """The sieve of these settings: another one where somebody has changed them, or a copy."""
        chosen, made = self._chosen(), self._made
        if any(getattr(made, name) is not value for name, value in chosen.items()):
            self._made = made = Sieve(**chosen)
        return made

    def close(self) -> None:
        """Closes the ledger where only its path was given; the next call opens it again."""
        self._sieve.close()

    def __getstate__(self) -> dict[Any, Any]:
        settings(self._sieve)  # refuses an open ledger
        state = super().__getstate__()
        private = {**(state["__pydantic_private__"] or {})}
        private["_made"] = dataclasses.replace(self._sieve)  # not opened
        return {**state, "__pydantic_private__": private}
