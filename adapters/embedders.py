"""Embedders by name: a small one that runs here, and whatever a module of the user's holds."""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from doxa.adapters.extras import missing
from doxa.engine.bounded import in_short
from doxa.engine.embedding import Embedder
from doxa.engine.errors import CallerError

__all__ = ["LOCAL", "by_name", "local"]

LOCAL: Final = "wordllama-l2-supercat-256"
LONGEST: Final = 16_384  # characters of a text that are embedded
_TOGETHER: Final = 65_536  # characters at once: shorter texts are filled up to the longest
_CONFIG, _DIMENSION = "l2_supercat", 256

_Floats = npt.NDArray[np.float32]


def local() -> Embedder:
    """WordLlama: the mean of a text's token vectors, of 256 dimensions, with weights that come with
    its package. Nothing is downloaded, and nothing leaves the machine.

    Of a text the first 16,384 characters are embedded. Needs the extra ``local``; raises
    `MissingExtra` where that is missing.
    """
    if find_spec("wordllama") is None:
        raise missing("wordllama", "local", "the local embedder")
    return Embedder(LOCAL, _embed, dimension=_DIMENSION)


def _embed(texts: list[str]) -> _Floats:
    """A vector for each text, which does not depend on the texts beside it."""
    model, found = _model(), np.empty((len(texts), _DIMENSION), np.float32)
    cut = [text[:LONGEST].encode("utf-8", "replace").decode() for text in texts]
    for group in _groups([len(text) for text in cut]):
        found[group] = model([cut[at] for at in group])
    return found


def _groups(lengths: list[int]) -> Iterator[list[int]]:
    """The numbers of texts that are embedded together: such of about the same length."""
    group: list[int] = []
    for at in sorted(range(len(lengths)), key=lengths.__getitem__):
        if group and lengths[at] * (len(group) + 1) > _TOGETHER:
            yield group
            group = []
        group.append(at)
    if group:
        yield group


@cache
def _model() -> Callable[[list[str]], _Floats]:
    """The model, from the files of its package."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        import wordllama  # which sets up the logging of the whole program as it is imported
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    # It looks for its tokenizer in a folder that its package does not have, and then in its cache;
    # so its package is its cache.
    package = Path(wordllama.__file__).parent
    loaded: Any = wordllama.WordLlama.load(
        _CONFIG, cache_dir=package, dim=_DIMENSION, disable_download=True
    )
    embed: Callable[[list[str]], _Floats] = loaded.embed
    return embed


def by_name(text: str) -> Embedder:
    """The embedder that a word on the command line means: ``local``, or ``module:attribute``.

    The attribute is an `Embedder`, or a function of a list of texts that returns a vector for each;
    then the word is its name. The module is found as any other, and in the working folder. Raises
    `CallerError`.
    """
    if text == "local":
        return local()
    module, colon, attribute = text.partition(":")
    if not (module and colon and attribute):
        raise CallerError(f"{text!r:.80} is no embedder; give local, or module:attribute")
    found: Any = _imported(module, text)
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise CallerError(
                f"there is no {attribute!r:.80} in module {module!r:.80}; name a function of a "
                "list of texts, or an Embedder"
            ) from None
    if isinstance(found, Embedder):
        return found
    if not callable(found):
        raise CallerError(
            f"{text!r:.80} is of type {type(found).__name__}; name a function of a list of texts, "
            "or an Embedder"
        )
    return Embedder(text, found)


def _imported(module: str, text: str) -> ModuleType:
    here = os.getcwd()
    try:
        if here not in sys.path and "" not in sys.path:
            sys.path.append(here)
        return importlib.import_module(module)
    except Exception as error:  # a module of the user's may raise anything
        raise CallerError(
            f"the module of {text!r:.80} can't be imported: {type(error).__name__} "
            f"{in_short(str(error))}"
        ) from error
