"""A LightRAG that needs no network: what its model answers is written down."""

from __future__ import annotations

import hashlib
import logging
import re
from pathlib import Path
from typing import Any

import numpy as np
from lightrag import LightRAG
from lightrag.utils import EmbeddingFunc, Tokenizer

KEYWORDS = '{"high_level_keywords": ["leads"], "low_level_keywords": ["Acme", "Ann", "Bob"]}'
# The words of a text, and what the model finds in it.
SAID = {
    "Ann was appointed": ("Ann", "Ann leads Acme as CEO."),
    "Bob replaced Ann": ("Bob", "Bob leads Acme as CEO."),
    "press release about Ann": ("Ann", "Ann leads Acme as CEO."),
}
TEXTS = {
    "doc-a": ("a2024.txt", "Acme press release 2024: Ann was appointed CEO of Acme."),
    "doc-b": ("b2026.txt", "Acme press release 2026: Bob replaced Ann as CEO of Acme."),
    "doc-c": (
        "c2026.txt",
        "Correction 2026: the press release about Ann was withdrawn by Acme.",
    ),
}


class Bytes:
    """A tokenizer that downloads nothing."""

    def encode(self, content: str) -> list[int]:
        return list(content.encode())

    def decode(self, tokens: list[int]) -> str:
        return bytes(tokens).decode(errors="replace")


async def embed(texts: list[str], **_: Any) -> Any:
    found = np.full((len(texts), 64), 0.001)
    for row, text in enumerate(texts):
        for word in re.findall(r"\w+", text.lower()):
            found[row, int(hashlib.md5(word.encode()).hexdigest(), 16) % 64] += 1
    return found


async def model(prompt: str, system_prompt: str | None = None, **_: Any) -> str:
    if "high_level_keywords" in f"{prompt}{system_prompt}":
        return KEYWORDS
    name, leads = next((said for words, said in SAID.items() if words in prompt), (None, None))
    if name is None:
        return "<|COMPLETE|>"
    return "\n".join(
        [
            f"entity<|#|>Acme<|#|>organization<|#|>Acme is a company led by {name}.",
            f"entity<|#|>{name}<|#|>person<|#|>{name} is the CEO of Acme.",
            f"relation<|#|>{name}<|#|>Acme<|#|>leads,ceo<|#|>{leads}",
            "a line that is no record",
            "<|COMPLETE|>",
        ]
    )


async def opened(folder: Path, **options: Any) -> Any:
    """A LightRAG with the three texts in it."""
    for name in ("lightrag", "nano-vectordb"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    rag = LightRAG(
        working_dir=str(folder),
        llm_model_func=model,
        embedding_func=EmbeddingFunc(embedding_dim=64, func=embed),
        tokenizer=Tokenizer("bytes", Bytes()),
        entity_extract_max_gleaning=0,
        **options,
    )
    await rag.initialize_storages()
    files, texts = zip(*TEXTS.values(), strict=True)
    await rag.ainsert(list(texts), ids=list(TEXTS), file_paths=list(files))
    return rag
