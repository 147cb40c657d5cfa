"""When what was recorded: the commits of a log, by position and by time."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from doxa.engine import times

if TYPE_CHECKING:
    from doxa.engine.gone import Gone

__all__ = ["Timeline"]

_NEAR: Final = 12  # commits on either side of where one is expected


class Timeline:
    """The commits of one log, each with its last position, its time, and the workspaces that it
    touched."""

    def __init__(self) -> None:
        self.position = 0
        self.recorded_at = times.NEG
        self.commit_last, self.commit_at = array("i"), array("q")
        self.revisions: dict[int, array[int]] = {}  # workspace → last positions of its commits
        self.gone: Gone | None = None  # what is known of events that were compacted
        self.compacted_at = 0  # the last event taken in that says so

    def close_commit(self, last: int, recorded_at: int, workspaces: Iterable[int]) -> None:
        """Notes the end of a commit."""
        self.position, self.recorded_at = last, recorded_at
        for ws in workspaces:
            self.revisions.setdefault(ws, array("i")).append(last)
        # the time first: a reader that finds the position finds its time too
        self.commit_at.append(recorded_at)
        self.commit_last.append(last)

    def commit_of(self, position: int) -> int:
        """The last position of the commit that holds ``position``."""
        i = bisect_right(self.commit_last, position - 1)
        return self.commit_last[i]

    def ends_commit(self, position: int) -> bool:
        """Whether a position of the log, from 1 on, is the last one of its commit. O(log commits);
        less where they are about equally long, since it is looked for first where it lies then."""
        lasts = self.commit_last
        count = high = len(lasts)
        guess = position * count // self.position
        low = guess - _NEAR
        if 0 <= low < count - 2 * _NEAR and lasts[low] < position <= lasts[guess + _NEAR]:
            high = guess + _NEAR + 1
        else:
            low = 0
        i = bisect_left(lasts, position, low, high)
        return i < count and lasts[i] == position

    def recorded_of(self, position: int) -> int:
        """When the commit that holds ``position`` was recorded."""
        return self.commit_at[bisect_right(self.commit_last, position - 1)]

    def known(self, recorded_at: int) -> int:
        """The last position recorded at or before an instant; 0 where there is none."""
        # while a commit is added, its time is there before its position
        i = bisect_right(self.commit_at, recorded_at, 0, len(self.commit_last))
        return self.commit_last[i - 1] if i else 0

    def revision(self, workspace: int, upto: int) -> int:
        """The last position, up to ``upto``, of the last commit that touched a workspace."""
        lasts = self.revisions.get(workspace)
        if not lasts:
            return 0
        i = bisect_right(lasts, upto)
        return lasts[i - 1] if i else 0
