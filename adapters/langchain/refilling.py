"""One question to another retriever, asked for more until enough of it may be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from langchain_core.vectorstores import VectorStoreRetriever

from doxa.adapters.judging import LeftOut, Sieve, Sifting
from doxa.adapters.langchain.documents import as_found
from doxa.engine.errors import CallerError
from doxa.engine.registry import Reason

if TYPE_CHECKING:
    from doxa.views import TruthView

__all__ = ["MOST", "Search", "check_number"]

MOST: Final = 1_000  # documents that are asked for, at most, to end with k
_OWN_K: Final = 4  # what a vector store brings where nobody says a number
_FETCHED: Final = 20  # and how many it looks at for diversity


def check_number(value: Any, name: str) -> int | None:
    """A number of documents, or none. Raises `CallerError`."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise CallerError(f"{name} is {value!r:.60}; give a whole number, 1 or more, or None")


class Search:
    """What the other retriever is asked, and what its documents come to, at one view that is
    captured when the first have arrived.

    With ``k``, a vector store's retriever is asked for twice as many, and again, until k of them
    may be believed or it has no more; so is another one where ``k_key`` names the argument of its
    ``invoke`` that is the number. Any other is asked once.
    """

    def __init__(
        self,
        retriever: Any,
        sieve: Sieve,
        times: tuple[Any, Any],
        k: int | None,
        k_key: str | None,
        search: dict[str, Any],
    ) -> None:
        self.sieve, self.times = sieve, times
        self.k = check_number(k, "k")
        self.of = retriever if isinstance(retriever, VectorStoreRetriever) else None
        self.key = "k" if k_key is None and self.of is not None else k_key
        self.search = search
        given = {**(self.of.search_kwargs if self.of is not None else {}), **search}
        own = given.get(self.key) or (0 if self.of is None else _OWN_K)
        self.number = max(self.k or 0, own)
        self.fetched = given.get("fetch_k") or _FETCHED
        self.view: TruthView | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """What the other one's ``invoke`` is given besides the question."""
        if self.k is None or self.key is None:
            return self.search
        asked = {**self.search, self.key: self.number}
        if self.of is not None and self.of.search_type == "mmr":
            asked["fetch_k"] = max(self.fetched, self.number)
        return asked

    def step(self, documents: Any) -> Sifting | None:
        """Judges what was brought: what it came to, or none where more is to be asked for. Raises
        `ViewMoved` where the truth moved meanwhile."""
        if not isinstance(documents, list | tuple):
            raise CallerError(
                f"the retriever brought a {type(documents).__name__} where a list of Documents is "
                "expected"
            )
        found = as_found(documents)
        if self.view is None:
            self.view = self.sieve.view(*self.times)
        sifting = self.sieve.sift(found, self.view)
        enough = self.k is None or self.key is None or len(sifting.kept) >= self.k
        if enough or len(found) < self.number or self.number >= MOST:
            return self._done(sifting)
        self.number = min(2 * self.number, MOST)
        return None

    def _done(self, sifting: Sifting) -> Sifting:
        self.sieve.still(sifting.view)
        if self.k is None or len(sifting.kept) <= self.k:
            return sifting
        beyond = tuple(
            LeftOut(one.found, str(Reason.BEYOND_TOP_K), f"k is {self.k}")
            for one in sifting.kept[self.k :]
        )
        return Sifting(sifting.view, sifting.kept[: self.k], sifting.left_out + beyond)
