"""What clients give: JSON objects, and what some of them make of lists, objects and nothing."""

from __future__ import annotations

import json
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator

__all__ = ["Given"]


class Given(BaseModel):
    """What is given as a JSON object: an unknown key is refused, not dropped."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _as_meant(cls, given: Any) -> Any:
        """Some clients send null for what they leave out, and lists and objects as the text of
        their JSON; that is understood where no text can be meant."""
        if not isinstance(given, dict):
            return given
        found = {}
        for name, value in given.items():
            field = cls.model_fields.get(name)
            if field is None or field.is_required():
                found[name] = value
            elif value is not None:
                found[name] = _meant(value, field.annotation)
        return found


def _meant(value: Any, annotation: Any) -> Any:
    """A value, or what its text says in JSON where a list or an object is wanted; a text alone
    where there may be several is the one of them."""
    if isinstance(value, str) and _admits(annotation, list):
        read = _read(value, "[")
        value = read if isinstance(read, list) else [value]
    if _admits(annotation, BaseModel):
        if isinstance(value, list):
            return [_read(one, "{") for one in value]
        return _read(value, "{")
    return value


def _read(value: Any, opening: str) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith(opening):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _admits(annotation: Any, kind: type) -> bool:
    """Whether a list, or a model, is among what an annotation allows."""
    if get_origin(annotation) is kind:
        return True
    if isinstance(annotation, type):
        return issubclass(annotation, kind)
    return any(_admits(one, kind) for one in get_args(annotation))
