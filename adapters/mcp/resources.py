"""Views, claims and registered texts under addresses, for hosts that attach them to a prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, quote, unquote

from pydantic import ValidationError

from doxa.adapters.mcp import reading
from doxa.adapters.mcp.arguments import Viewing, Why
from doxa.adapters.mcp.desk import NOTICE, Desk
from doxa.adapters.mcp.tools import Failed, failure
from doxa.engine import events as ev
from doxa.engine.errors import CallerError, UnknownTarget
from doxa.engine.graph import ARTEFACT, entity
from doxa.engine.rendering import named, quoted

__all__ = ["TEMPLATES", "Listed", "Resources", "Template", "address"]

PAGE: Final = 100  # resources in one listing
TEXT: Final = "text/plain"
_ADDRESS: Final = re.compile(r"doxa://(view|claim|artefact)/([^?#]*)(?:\?([^#]*))?")
_VIEW_KEYS: Final = ("known_at", "subject", "predicate", "cursor", "workspace")
_ID_KEYS: Final = ("valid_at", "known_at", "workspace")


class Template(NamedTuple):
    """A kind of address."""

    pattern: str
    name: str
    title: str
    description: str


class Listed(NamedTuple):
    """One resource in a listing."""

    uri: str
    name: str
    title: str
    description: str


TEMPLATES: Final = (
    Template(
        "doxa://view/{valid_at}{?known_at,subject,predicate,cursor}",
        "view",
        "What is held",
        "The claims held at valid_at (ISO 8601, or now), as known at known_at (a time or a "
        "revision; left out: the newest), of one subject and predicate if given; in pages.",
    ),
    Template(
        "doxa://claim/{id}{?valid_at,known_at}",
        "claim",
        "A claim, and why it stands as it does",
        "The claim with that id, its standing (left out: now), and what is behind it.",
    ),
    Template(
        "doxa://artefact/{id}{?valid_at,known_at}",
        "artefact",
        "A registered summary or citation",
        "The words of a registered text, if it may be used at the view (left out: now).",
    ),
)


class Resources:
    """What can be read of a ledger by address."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    @property
    def templates(self) -> list[Template]:
        """The kinds of addresses; with a workspace, where the server is not bound to one."""
        if self.desk.workspace is not None:
            return list(TEMPLATES)
        return [one._replace(pattern=one.pattern[:-1] + ",workspace}") for one in TEMPLATES]

    def page(self, cursor: str | None) -> tuple[list[Listed], str | None]:
        """Some resources, and where the next page begins: the present view, and the registered
        texts of the workspace and the shared one, in the order of their registration."""
        start = 0
        if cursor is not None:
            if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
                raise Failed(f"cursor {cursor!r:.80} is none that a listing gave; leave it out")
            start = int(cursor)
        try:
            found = list(islice(self._listed(), start, start + PAGE + 1))
        except Exception as error:
            raise failure(error, "resources/list") from None
        return found[:PAGE], str(start + PAGE) if len(found) > PAGE else None

    def _listed(self) -> Iterator[Listed]:
        yield Listed("doxa://view/now", "now", "What is held now", "The claims held now.")
        view = self.desk.view_at(self.desk.workspace or "")
        registry, graph = self.desk.ledger._registry_of(view), view.graph
        for row in registry.in_sight(view):
            id = graph.id_of(entity(ARTEFACT, row))
            kind = "summary" if graph.a_summary[row] else "citation"
            yield Listed(address("artefact", id), id, f"{kind} {id}", f"A registered {kind}.")

    def read(self, uri: str) -> str:
        """The text at an address. Raises `Failed`."""
        parts = _ADDRESS.fullmatch(uri)
        if parts is None:
            raise Failed(
                f"unknown_resource: {uri!r:.200} is no address here; they look like "
                f"{', '.join(one.pattern for one in self.templates)}"
            )
        kind, rest, query = parts.groups()
        try:
            return self._readers[kind](self, _decoded(rest), _options(query or ""))
        except ValidationError as error:
            raise Failed(f"invalid_arguments: {error.errors()[0]['msg']}") from None
        except Exception as error:
            raise failure(error, "resources/read") from None

    def _view(self, valid_at: str, options: dict[str, str]) -> str:
        _check_keys(options, _VIEW_KEYS, self.desk)
        return reading.view(
            self._at(options), Viewing.model_validate({**options, "valid_at": valid_at})
        )[1]

    def _claim(self, id: str, options: dict[str, str]) -> str:
        _check_keys(options, _ID_KEYS, self.desk)
        return reading.why(self._at(options), Why.model_validate({**options, "id": id}))[1]

    def _artefact(self, id: str, options: dict[str, str]) -> str:
        _check_keys(options, _ID_KEYS, self.desk)
        desk = self._at(options)
        view = desk.view(Why.model_validate({**options, "id": id}))
        number = view.find(id)
        if number < 0 or number & 7 != ARTEFACT:
            raise UnknownTarget(f"{id!r:.200} is no registered text that is known at this view")
        event = view.payload(view.graph.position_of(number))
        (judged,) = desk.ledger.judge([id], view)
        assert isinstance(event, ev.Artefact)
        head = f"{NOTICE} The {event.TYPE} {named(id)} may"
        if judged.eligible:
            return f"{head} be used:\n{quoted(event.text)}"
        about = f" {named(judged.about)}" if judged.about else ""
        standing = f" ({judged.standing})" if judged.standing else ""
        reason = f"{judged.reason}{about}{standing}"
        return f"{head} not be used: {reason}. Its words are withheld; doxa_why says more."

    def _at(self, options: dict[str, str]) -> Desk:
        """The desk, for the workspace that an address names."""
        place = options.pop("workspace", None)
        return self.desk if place is None else self.desk.at(place)

    _readers: Final[dict[str, Callable[[Resources, str, dict[str, str]], str]]] = {
        "view": _view,
        "claim": _claim,
        "artefact": _artefact,
    }


def address(kind: str, id: str) -> str:
    """The address of something by its id, whatever is in that."""
    plain = quote(id, safe="")
    return f"doxa://{kind}/{plain.replace('.', '%2E') if set(id) == {'.'} else plain}"


def _decoded(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise CallerError(f"{text!r:.80} is not UTF-8, percent-encoded") from None


def _options(query: str) -> dict[str, str]:
    """What stands behind the question mark."""
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), errors="strict"
        )
    except ValueError as error:
        raise CallerError(f"?{query!r:.80} can't be read: {error}") from None
    options = dict(pairs)
    if len(options) < len(pairs):
        raise CallerError(f"?{query!r:.80} says a thing twice")
    return options


def _check_keys(options: dict[str, str], keys: tuple[str, ...], desk: Desk) -> None:
    known = keys if desk.workspace is None else keys[:-1]
    for name in options:
        if name not in known:
            raise CallerError(f"an address takes no {name!r:.40}; it takes {', '.join(known)}")
