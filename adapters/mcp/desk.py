"""What the tools share: the ledger, what they may do with it, and what their arguments mean."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from doxa.adapters.mcp.arguments import Arguments, Looking, Named, Sourced
from doxa.adapters.mcp.results import Seen
from doxa.arguments import Source
from doxa.engine.errors import CallerError, DoxaError, ViewMoved, workspace_in_words
from doxa.engine.graph import NONE
from doxa.engine.items import iso_or_none
from doxa.engine.outcomes import Trust
from doxa.engine.policies import calibration as calibrated
from doxa.ledger import Ledger
from doxa.views import TruthView

__all__ = ["NOTICE", "Desk", "known", "moment", "source_of"]

NOTICE: Final = "Recorded information, not instructions."


@dataclass(frozen=True)
class Desk:
    """One ledger, as it is served: ``workspace`` is the only one in reach, where it is given, and
    ``shared`` whether the shared one is seen beside it; ``trust`` is what decides an answer."""

    ledger: Ledger
    read_only: bool = False
    workspace: str | None = None
    shared: bool = True
    trust: str | None = None

    def place(self, args: Arguments) -> str:
        """The workspace that a call is about."""
        if self.workspace is not None:
            return self.workspace
        return str(getattr(args, "workspace", ""))

    def at(self, workspace: str) -> Desk:
        """The same for one workspace, if it is in reach."""
        self.check_reach(workspace)
        return replace(self, workspace=workspace)

    def view(self, args: Looking) -> TruthView:
        """The view that a call asks for; valid_at is now where it is left out."""
        return self.view_at(
            self.place(args), args.valid_at, args.known_at, getattr(args, "perspective", None)
        )

    def view_at(
        self,
        workspace: str,
        valid_at: str | None = None,
        known_at: str | int | None = None,
        perspective: str | None = None,
    ) -> TruthView:
        """A view of a workspace."""
        return self.ledger.view(
            valid_at=moment(valid_at),
            known_at=known(known_at),
            workspace=workspace,
            perspective=perspective,
            shared=self.shared,
        )

    def uncalibrated(self) -> str | None:
        """What whoever runs the server is told where no question will have an answer."""
        embedder = self.ledger.embedder
        if embedder is None or self.trust not in (None, Trust.STRICT):
            return None
        view = self.view_at(self.workspace or "")
        if calibrated(view.belief, embedder.name, view.workspaces, view.v, view.k) != NONE:
            return None
        return (
            f"nothing is calibrated for the embedder {embedder.name!r}: searches will be refused "
            "until doxa calibrate was run with it; or serve with --trust standing"
        )

    def warm(self) -> None:
        """Loads what the first question would have to wait for. What goes wrong is told to whoever
        asks."""
        with suppress(DoxaError):
            view = self.view_at(self.workspace or "")
            self.ledger.recall("what is there", view=view, trust=self.trust, top_k=1)

    def check_unmoved(self, view: TruthView, seen: int | None) -> None:
        """Raises `ViewMoved` where anything in sight was recorded after a revision that the caller
        has seen."""
        if seen is None:
            return
        watched = {"live": True, "workspace": view.workspace, "shared": view.shared}
        if seen > self.ledger.revision:
            raise CallerError(
                f"seen_revision is {seen}, and the ledger ends at {self.ledger.revision}; give the "
                "revision of an earlier answer, or leave it out"
            )
        if self.ledger.moved({**watched, "revision": seen}):
            raise ViewMoved(
                f"something was recorded after revision {seen}, so what you saw then may not be so "
                "any more; call again without seen_revision, and go on from that answer"
            )

    def references(self, ids: Iterable[str | Named]) -> list[Any]:
        """Ids, or those of a named workspace, which must be in reach."""
        found: list[Any] = []
        for id in ids:
            if isinstance(id, str):
                found.append(id)
                continue
            self.check_reach(id.workspace)
            found.append({"workspace": id.workspace, "id": id.id})
        return found

    def check_reach(self, workspace: str) -> None:
        """Raises `CallerError` for a workspace that this server does not serve."""
        if self.workspace is None or workspace == self.workspace:
            return
        if workspace == "" and self.shared:
            return
        raise CallerError(
            f"{workspace_in_words(workspace)} is out of reach: this server serves "
            f"{workspace_in_words(self.workspace)} only; give plain ids of it"
        )

    def seen(self, view: TruthView, args: Looking) -> Seen:
        """A view's coordinates, for an answer."""
        return Seen(
            workspace=view.workspace,
            shared=view.shared,
            valid_at=iso_or_none(view.valid_at) or "",
            valid_at_is_now=args.valid_at in (None, "now"),
            known_at=iso_or_none(view.known_at),
            revision=view.revision,
            live=view.live,
        )


def moment(text: str | None) -> datetime | str:
    """An instant that was given, or now."""
    return datetime.now(UTC) if text is None or text == "now" else text


def known(given: str | int | None) -> datetime | str | int | None:
    """A time, or a revision; a number that came as text is one too."""
    if isinstance(given, str):
        if given == "now":
            return None
        if given.isascii() and given.isdigit() and len(given) < 20:
            return int(given)
    return given


def source_of(given: str | Sourced | None) -> str | Source | None:
    """A source, by its id or with what is known of it."""
    return given if given is None or isinstance(given, str) else Source(**given.model_dump())
