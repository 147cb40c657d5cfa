"""What an import of a history did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from doxa.engine.words import counted

__all__ = ["GitImport", "KeptOut", "SetAside"]


@dataclass(frozen=True, slots=True)
class SetAside:
    """A version of a file of which nothing counts: the commit, the path there, and why."""

    commit: str
    path: str
    reason: str

    def as_dict(self) -> dict[str, str]:
        """It as a JSON object."""
        return {"commit": self.commit, "path": self.path, "reason": self.reason}

    def __str__(self) -> str:
        return f"{self.commit[:12]} {self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class KeptOut:
    """A cell whose value is rejected: the commit, the id that its claim would have had, and the
    ids of the rejections. What it says is kept nowhere."""

    commit: str
    id: str
    rejections: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """It as a JSON object."""
        return {"commit": self.commit, "id": self.id, "rejections": list(self.rejections)}

    def __str__(self) -> str:
        return f"{self.commit[:12]} {self.id}: kept out by {', '.join(self.rejections)}"


@dataclass(frozen=True, slots=True)
class GitImport:
    """What an import did or, in a dry run, would do: of the commits that it has ``seen`` it has
    ``written`` those that touch a file, with cells ``added``, ``corrected`` and ``withdrawn``.

    ``set_aside`` are versions that can't be taken as what was meant, ``kept_out`` cells with a
    rejected value, ``restamped`` counts the commits whose date could not be their time of
    recording. It went on from the commit ``resumed_from``, and came to ``head``.
    """

    name: str
    workspace: str
    head: str
    resumed_from: str | None
    seen: int
    written: int
    added: int
    corrected: int
    withdrawn: int
    restamped: int
    set_aside: tuple[SetAside, ...]
    kept_out: tuple[KeptOut, ...]
    paths: dict[str, str]
    events: int
    revision: int
    dry_run: bool

    @property
    def unchanged(self) -> bool:
        """Whether there was nothing to record."""
        return not self.events

    def as_dict(self) -> dict[str, Any]:
        """The import as a JSON object."""
        found = {name: getattr(self, name) for name in self.__slots__}
        found["set_aside"] = [each.as_dict() for each in self.set_aside]
        found["kept_out"] = [each.as_dict() for each in self.kept_out]
        return found

    def __str__(self) -> str:
        head = (
            f"{counted(self.seen, 'commit')} seen, {self.written} written: "
            f"{counted(self.added, 'cell')} added, "
            f"{self.corrected} corrected, {self.withdrawn} withdrawn; "
            f"{counted(self.restamped, 'commit')} restamped, "
            f"{counted(len(self.set_aside), 'version')} set aside, "
            f"{counted(len(self.kept_out), 'cell')} "
            "kept out"
        )
        return "\n".join([head, *map(str, self.set_aside), *map(str, self.kept_out)])
