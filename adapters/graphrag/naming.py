"""The ids of what an index says: made of content, so that the same content has the same id in
every run.

A claim's id does not depend on the index: what two indexes say alike is one claim, with the
evidence of both. The ids of evidence and summaries begin with the name of the index.
"""

from __future__ import annotations

import hashlib
from typing import Final

from doxa.adapters.carrying import checked_name, key

__all__ = ["Naming", "claim_id", "digest_of", "source_id"]

_SIZE: Final = 20  # hexadecimal digits


def digest_of(text: str) -> str:
    """The digest by which a document or text unit is known.

    >>> digest_of("")[:19]
    'sha256:e3b0c44298fc'
    """
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def source_id(digest: str) -> str:
    """The source that a document is, or a text unit that belongs to none."""
    return f"graphrag.document/{digest.removeprefix('sha256:')[:32]}"


def claim_id(*content: object) -> str:
    """The id of a claim that says this."""
    return f"graphrag.claim/{key(*content, size=_SIZE)}"


class Naming:
    """The ids of one index."""

    def __init__(self, index: str) -> None:
        self.index = checked_name(index, "index")
        self.prefix = f"graphrag/{self.index}/"

    def support(self, *content: object) -> str:
        """The id of a piece of evidence that says this."""
        return f"{self.prefix}{key(*content, size=_SIZE)}"

    def summary(self, kind: str, *content: object) -> str:
        """The id of a summary of a kind: ``entity``, ``relationship`` or ``report``."""
        return f"{self.prefix}{kind}/{key(*content, size=_SIZE)}"
