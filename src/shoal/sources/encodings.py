"""How the text of a file is written: UTF-8 with or without a mark, UTF-16, or Windows' Latin-1 (CP1252).

A file says little of its encoding, so nothing is taken for Latin-1 that may be damaged UTF-8: a file in which some
characters are good UTF-8 is UTF-8, and so is one whose other bytes are no Western text. Who knows better says so.
"""

from __future__ import annotations

import codecs
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from shoal.errors import SchemaError

UTF8 = "utf-8"
WESTERN = "cp1252"
WESTERN_NAMES = (WESTERN, "iso8859-1", "iso8859-15")
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
BLOCK = 1 << 20
GOOD = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}",
)
HIGH = re.compile(rb"[\x80-\xff]+")
UNUSED = re.compile(rb"[\x81\x8d\x8f\x90\x9d\x00]")  # by CP1252, or by any text
LONGEST_RUN = 3  # of letters that are not ASCII: more of them are another alphabet, or no text


def checked_encoding(name: object, source: str | None = None) -> str:
    """The encoding that somebody names, if it is one of text."""
    try:
        if isinstance(name, str) and name and "\0" not in name and isinstance("".encode(name), bytes):
            return codecs.lookup(name).name
    except LookupError:
        pass
    raise SchemaError(
        'encoding must name how text is written, as in "utf-8", "cp1252" or "utf-16".', file=source, values=[name]
    )


def marked(start: bytes) -> str | None:
    """The encoding that the first bytes of a file tell; None if they do not."""
    for mark, name in MARKS.items():
        if start.startswith(mark):
            return name
    pairs = min(len(start), 4096) // 2 * 2
    if pairs >= 8:  # every other byte of Western text in UTF-16 is zero
        first, second = start[:pairs:2].count(0), start[1:pairs:2].count(0)
        if max(first, second) > 0.8 * pairs / 2 and min(first, second) < 0.1 * pairs / 2:
            return "utf-16-be" if first > second else "utf-16-le"
    return None


def is_western(blocks: Iterable[bytes]) -> bool:
    """Whether text that is not all ASCII is CP1252 rather than UTF-8, whole or damaged."""
    good = bad = 0
    rest = b""
    for block in itertools.chain(blocks, [b""]):
        data = rest + block
        cut = max(len(data) - 4, 0) if block else len(data)
        while cut < len(data) and 0x80 <= data[cut] < 0xC0:  # inside a character
            cut += 1
        data, rest = data[:cut], data[cut:]
        runs = HIGH.findall(GOOD.sub(b" ", data))
        if UNUSED.search(data) or any(len(run) > LONGEST_RUN for run in runs):
            return False
        good += len(GOOD.findall(data))
        bad += sum(map(len, runs))
    return bad > 0 and 20 * good <= bad


def is_plainly_utf8(blocks: Iterable[bytes]) -> bool:
    """Whether text has characters beyond ASCII, and every one of them is good UTF-8.

    Western text in CP1252 is never so: each of its umlauts would have to stand beside the right sign of another kind.
    """
    decoder = codecs.getincrementaldecoder(UTF8)()
    beyond = False
    try:
        for block in blocks:
            decoder.decode(block)
            beyond = beyond or not block.isascii()
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return beyond


def blocks_of(stream: BinaryIO) -> Iterator[bytes]:
    while block := stream.read(BLOCK):
        yield block


def decoded(data: bytes) -> str:
    """A small file as text. Raises UnicodeDecodeError."""
    found = marked(data)
    if found is None and is_western(iter([data])):
        found = WESTERN
    return data.decode(found or UTF8)


class AsUtf8(io.RawIOBase):
    """A stream of text in some encoding, read as UTF-8. Raises UnicodeDecodeError where it is not in that encoding."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]  # a writable buffer, as RawIOBase has it
        while not self._ready and not self._ended:
            block = self._stream.read(BLOCK)
            self._ended = not block
            self._ready = self._decoder.decode(block, final=self._ended).encode("utf-8", "surrogatepass")
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        self._stream.close()
        super().close()
