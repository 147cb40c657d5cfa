"""Arrays in one file, to be mapped again: written whole or not at all, and checked when read.

Layout: `_HEAD` (magic, length and CRC of the directory, CRC of the rest), the directory (JSON: what
the file says of itself, and each array's place, type and length), and the arrays, each at a
multiple of 64 bytes, in the machine's byte order.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from doxa.engine.whole import put

__all__ = ["Unfit", "load", "save"]

Arrays = dict[str, npt.NDArray[Any]]

_MAGIC: Final = b"doxa-arrays"
_HEAD: Final = struct.Struct("<11sIII")
_ALIGN: Final = 64


class Unfit(Exception):
    """A file that is not what was written, or not of this machine."""


def save(path: Path, about: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Writes arrays, and JSON about them, under another name and renames that. Raises `OSError`."""
    sections: list[tuple[memoryview | bytes, bytes]] = []
    places, at = {}, 0
    for name, values in arrays.items():
        data = np.ascontiguousarray(values).data.cast("B") if values.size else b""
        places[name] = (at, values.dtype.str, values.size)
        sections.append((data, bytes(-len(data) % _ALIGN)))
        at += len(data) + len(sections[-1][1])
    whole = {"about": about, "order": sys.byteorder, "size": at, "arrays": places}
    directory = json.dumps(whole).encode()
    start = _start(len(directory))
    crc = 0
    for data, padding in sections:
        crc = zlib.crc32(padding, zlib.crc32(data, crc))
    put(
        path,
        [
            _HEAD.pack(_MAGIC, len(directory), zlib.crc32(directory), crc),
            directory,
            bytes(start - _HEAD.size - len(directory)),
            *(part for section in sections for part in section),
        ],
    )


def _start(directory: int) -> int:
    """Where the arrays begin behind a directory of so many bytes."""
    return -(-(_HEAD.size + directory) // _ALIGN) * _ALIGN


def load(path: Path) -> tuple[dict[str, Any], Arrays]:
    """What a file says of itself, and its arrays, mapped, not to be written to. All of it is read
    once. Raises `Unfit` for what is not as it was written, and `OSError`."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < _HEAD.size:
            raise Unfit("it is cut off")
        mapped = memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
    magic, length, crc_directory, crc = _HEAD.unpack(mapped[: _HEAD.size])
    text = bytes(mapped[_HEAD.size : _HEAD.size + length])
    if magic != _MAGIC or zlib.crc32(text) != crc_directory:
        raise Unfit("it is not as it was written")
    directory = json.loads(text)
    rest = mapped[_start(length) :]
    if directory["order"] != sys.byteorder or len(rest) != directory["size"]:
        raise Unfit("it is of another machine, or cut off")
    if zlib.crc32(rest) != crc:
        raise Unfit("it is not as it was written")
    arrays = {
        name: np.frombuffer(rest, dtype, size, at) if size else np.empty(0, dtype)
        for name, (at, dtype, size) in directory["arrays"].items()
    }
    return directory["about"], arrays
