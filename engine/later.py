"""Attributes that are made when they are first asked for, and then are like any other.

An object whose attributes are still to come is of a class of its own, with a descriptor for each;
once all are there it is of its own class again, so that work on many of them pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["complete", "put_off"]

_WAITING = "_waiting"  # by name: what makes the attribute


class _Later:
    """Makes an attribute; the value is put into the object, where it is found before this."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, of: Any, owner: type) -> Any:
        if of is None:
            return self
        make = vars(of).get(_WAITING, {}).get(self.name)
        if make is None:  # another thread has just made it, or it never was
            try:
                return vars(of)[self.name]
            except KeyError:
                raise AttributeError(self.name, name=self.name, obj=of) from None
        return vars(of).setdefault(self.name, make())  # of two threads, one gives it to both


_classes: dict[tuple[type[object], frozenset[str]], type[object]] = {}


def _awaiting(own: type[object], names: frozenset[str]) -> type[object]:
    """The class of objects of another class that wait for attributes."""
    found = _classes.get((own, names))
    if found is None:
        later = {"__module__": own.__module__, **{name: _Later(name) for name in names}}
        found = _classes[own, names] = type(own.__name__, (own,), later)
    return found


def put_off(of: object, makers: Mapping[str, Callable[[], object]]) -> None:
    """Takes attributes from an object that nobody else has yet, to be made when they are asked
    for. Making one again must give the same."""
    if not makers:
        return
    for name in makers:
        del vars(of)[name]
    vars(of)[_WAITING] = dict(makers)
    of.__class__ = _awaiting(type(of), frozenset(makers))


def complete(of: object) -> None:
    """Makes what is still to come of an object. For the one thread that changes it."""
    makers = vars(of).get(_WAITING)
    if makers is None:
        return
    for name in makers:
        getattr(of, name)
    of.__class__ = type(of).__mro__[1]
    del vars(of)[_WAITING]
