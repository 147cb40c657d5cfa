"""A disk as a power cut leaves it: what was flushed is there, of the rest some is and some is not.

Each file has what processes *see* (the system's cache) and what the disk *keeps*. A write is seen
at once. It is kept once the file was flushed; until then each write may have reached the disk or
not, in any order, and torn at sectors. A flush that failed has kept some of it, and what it has
not kept is lost for good, even though it is still seen and a later flush succeeds: that is what
systems do. The entries of a folder (creations, renamings, removals) are kept, in their order, once
the folder was flushed; of those since then any first part may have reached the disk. Flushing a
file keeps none of the entries that lead to it.

Nothing here touches a real file; a path is a tuple of names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Final, NamedTuple

SECTOR: Final = 512

Place = tuple[str, ...]
Image = dict[Place, bytes | None]  # what lies where; None is a folder


class Written(NamedTuple):
    """Bytes written at an offset."""

    offset: int
    data: bytes

    def onto(self, content: bytearray) -> None:
        """Applies it to a file's content; a gap is filled with zeros."""
        if len(content) < self.offset:
            content.extend(bytes(self.offset - len(content)))
        content[self.offset : self.offset + len(self.data)] = self.data

    def torn(self, random: Random, first: bool) -> Iterator[Written]:
        """Some of its sectors: the first ones, or any."""
        end = self.offset + len(self.data)
        bounds = [self.offset, *range(self.offset // SECTOR * SECTOR + SECTOR, end, SECTOR), end]
        pieces = [
            Written(a, self.data[a - self.offset : b - self.offset]) for a, b in pairwise(bounds)
        ]
        if first:
            return iter(pieces[: random.randrange(len(pieces) + 1)])
        return (piece for piece in pieces if random.random() < 0.5)


class Cut(NamedTuple):
    """A file was cut, or lengthened with zeros, to a size."""

    size: int

    def onto(self, content: bytearray) -> None:
        """Applies it to a file's content."""
        del content[self.size :]
        content.extend(bytes(self.size - len(content)))

    def torn(self, random: Random, first: bool) -> Iterator[Cut]:
        """It happens wholly, or not at all."""
        return iter([self] if random.random() < 0.5 else [])


@dataclass(slots=True, eq=False)
class File:
    """One file, whatever its name."""

    kept: bytearray = field(default_factory=bytearray)
    seen: bytearray = field(default_factory=bytearray)
    pending: list[Written | Cut] = field(default_factory=list)

    def change(self, change: Written | Cut) -> None:
        """Something was written."""
        change.onto(self.seen)
        self.pending.append(change)

    def flush(self) -> None:
        """All that was written is kept."""
        for change in self.pending:
            change.onto(self.kept)
        self.pending.clear()

    def flush_in_part(self, random: Random) -> None:
        """A flush that fails: what it does not keep now, no later one does."""
        for change in self.pending:
            if random.random() < 0.5:
                change.onto(self.kept)
        self.pending.clear()

    def after_a_cut(self, random: Random) -> bytes:
        """What a power cut now leaves of it."""
        content, mode = bytearray(self.kept), random.random()
        last = random.randrange(len(self.pending) + 1)
        for number, change in enumerate(self.pending):
            if mode < 0.15 or (mode < 0.5 and number < last):
                change.onto(content)
            elif mode < 0.5 and number == last:
                for piece in change.torn(random, first=True):
                    piece.onto(content)
            elif 0.5 <= mode < 0.8:
                for piece in change.torn(random, first=False):
                    piece.onto(content)
        missing = len(self.seen) - len(content)
        if missing > 0 and random.random() < 0.2:  # the length was kept, the bytes were not
            content += random.randbytes(missing) if random.random() < 0.5 else bytes(missing)
        return bytes(content)


@dataclass(slots=True, eq=False)
class Folder:
    """One folder, and the changes of its entries since it was flushed."""

    kept: dict[str, File | Folder] = field(default_factory=dict)
    seen: dict[str, File | Folder] = field(default_factory=dict)
    pending: list[dict[str, File | Folder | None]] = field(default_factory=list)

    def change(self, entries: dict[str, File | Folder | None]) -> None:
        """Entries came, went or were replaced, at one stroke."""
        _take(self.seen, entries)
        self.pending.append(entries)

    def flush(self) -> None:
        """All entries are kept as they are."""
        for entries in self.pending:
            _take(self.kept, entries)
        self.pending.clear()


def _take(into: dict[str, File | Folder], entries: dict[str, File | Folder | None]) -> None:
    for name, node in entries.items():
        if node is None:
            into.pop(name, None)
        else:
            into[name] = node


class Disk:
    """All files and folders below one place."""

    def __init__(self, image: Image) -> None:
        self._root = Folder()
        for place in sorted(image):
            content = image[place]
            self._folder(place[:-1]).seen[place[-1]] = (
                Folder() if content is None else File(bytearray(content), bytearray(content))
            )
        for folder in self._folders(self._root):
            folder.kept = dict(folder.seen)

    def _folders(self, folder: Folder) -> Iterator[Folder]:
        yield folder
        for node in folder.seen.values():
            if isinstance(node, Folder):
                yield from self._folders(node)

    def _folder(self, place: Place) -> Folder:
        folder = self._root
        for name in place:
            below = folder.seen[name]
            assert isinstance(below, Folder), place
            folder = below
        return folder

    def find(self, place: Place) -> File | Folder | None:
        """What is at a place now."""
        node: File | Folder | None = self._root
        for name in place:
            node = node.seen.get(name) if isinstance(node, Folder) else None
        return node

    def make(self, place: Place, *, folder: bool = False) -> File | Folder:
        """A new, empty file or folder."""
        node = Folder() if folder else File()
        self._folder(place[:-1]).change({place[-1]: node})
        return node

    def remove(self, place: Place) -> None:
        """The entry goes; whoever has the file open goes on with it."""
        self._folder(place[:-1]).change({place[-1]: None})

    def rename(self, old: Place, new: Place) -> None:
        """The entry gets another name, over what had it."""
        assert old[:-1] == new[:-1], "no file moves to another folder"
        node = self.find(old)
        self._folder(old[:-1]).change({old[-1]: None, new[-1]: node})

    def flush_folder(self, place: Place) -> None:
        """The entries of a folder are kept as they are."""
        self._folder(place).flush()

    def seen(self) -> Image:
        """What processes see; also what is left when they all die."""
        return dict(_image((), self._root, lambda folder: folder.seen, lambda f: bytes(f.seen)))

    def after_a_cut(self, random: Random) -> Image:
        """What a power cut now leaves."""

        def entries(folder: Folder) -> dict[str, File | Folder]:
            left = dict(folder.kept)
            for change in folder.pending[: random.randrange(len(folder.pending) + 1)]:
                _take(left, change)
            return left

        return dict(_image((), self._root, entries, lambda file: file.after_a_cut(random)))


def _image(place: Place, folder: Folder, entries, content) -> Iterator[tuple[Place, bytes | None]]:  # type: ignore[no-untyped-def]
    for name, node in sorted(entries(folder).items()):
        if isinstance(node, Folder):
            yield (*place, name), None
            yield from _image((*place, name), node, entries, content)
        else:
            yield (*place, name), content(node)
