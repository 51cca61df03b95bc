"""What becomes of a file on its way: bytes that flip, ends that are missing, other encodings, other files."""

from __future__ import annotations

import random
from collections.abc import Callable

Mutation = Callable[[bytes, random.Random], bytes]

STRANGE = [b"\0", b"\r", b"\n", b"\x1b[31m", b"\x7f", b"\x1a", b'"', b"'", b",", b";", b"\t", b"\\", b"\xff", b"\xc3",
           "\ufeff".encode(), "\u202e".encode(), "\u2028".encode(), b"{", b"[", b"]", b"#", b"="]  # fmt: skip
WORDS = [b"", b"NaN", b"inf", b"-inf", b"1e309", b"-1e300", b"9" * 400, b"0x1F", b"1_000", b"null", b"true", b"*", b"?",
         b"[1..2]", b"9999-99-99", b"0000-00-00", b"-0", b"x" * 70_000, "İß\u0301🐟".encode()]  # fmt: skip


def _somewhere(content: bytes, chance: random.Random) -> int:
    return chance.randrange(len(content) + 1)


def flip(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 5, 50])):
        changed[chance.randrange(len(changed))] ^= chance.randrange(1, 256)
    return bytes(changed)


def cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.choice([0, 1, _somewhere(content, chance), len(content) - 1])]


def behead(content: bytes, chance: random.Random) -> bytes:
    return content[chance.choice([1, 3, _somewhere(content, chance)]) :]


def strange(content: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice([1, 1, 4])):
        at = _somewhere(content, chance)
        content = content[:at] + chance.choice(STRANGE) * chance.choice([1, 1, 1, 30]) + content[at:]
    return content


def reword(content: bytes, chance: random.Random) -> bytes:
    """Another word between two separators."""
    at = _somewhere(content, chance)
    first = max(content.rfind(mark, 0, at) for mark in (b",", b"\n", b'"', b" ", b";")) + 1
    last = min((place for mark in (b",", b"\n", b'"', b";") if (place := content.find(mark, at)) >= 0), default=at)
    return content[:first] + chance.choice(WORDS) + content[max(first, last) :]


def recode(content: bytes, chance: random.Random) -> bytes:
    text = content.decode("utf-8", "replace") + "é"
    return text.encode(chance.choice(["utf-16", "utf-16-le", "latin-1", "utf-8-sig", "cp1252", "utf-32"]), "replace")


def reline(content: bytes, chance: random.Random) -> bytes:
    """Lines that are missing, twice there, in another order, or ended in another way."""
    lines = content.split(b"\n")
    at = chance.randrange(len(lines))
    changes: list[Callable[[], list[bytes]]] = [
        lambda: lines[:at] + lines[at + 1 :],
        lambda: [*lines[: at + 1], *lines[at:]],
        lambda: chance.sample(lines, len(lines)),
        lambda: [line + b"\r" for line in lines],
        lambda: [line + b"\n" for line in lines],
        lambda: [*lines, *[b"," * 200] * 3],
    ]
    return b"\n".join(chance.choice(changes)())


MUTATIONS: tuple[Mutation, ...] = (flip, cut, behead, strange, reword, reword, recode, reline)
