"""What may be the address of a database, well written or not, and so hold a password: it is never shown.

A path may have an @ in it, and a colon. What has a scheme, or a colon before an @ where a URL has its user and
password, is taken for an address; `./` before it says that it is a path.
"""

from __future__ import annotations

import re

ADDRESS = re.compile(
    r"""
      .*://                          # any scheme
    | \s*postgre\w*\s*[:+]           # postgresql:user@host
    | \s*postgre.*:.*@               # postgres//user:password@host
    | [a-z][\w+.-]+:/+[^@]*@         # mysql:/user:password@host, as a path has it
    | [^/]*//[^/@]*:[^@]*@           # scheme//user:password@host
    | [^/@]+:[^@]*@                  # user:password@host
    | (.*[\s&?;])?(ssl)?pass(word|wd|file)?\s*=   # host=… password=…, as libpq has it
    | (.*\s)?(host|hostaddr|dbname|user|service)\s*=.*\s
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
STORE = re.compile(
    r"(hdfs|viewfs|s3a?|gs|abfss?|wasbs?|dbfs|file)://[^:@]*(:\d+)?(@[^:@]*)?(/.*)?", re.IGNORECASE | re.DOTALL
)
HIDDEN = "(a URL)"
A_PATH = "Of a file with such a name, write ./ before it."


def may_be_address(given: object) -> bool:
    """Whether this may be a URL with a password in it."""
    return ADDRESS.match(str(given)) is not None


def is_store(given: object) -> bool:
    """Whether this is a place that Spark may know, and holds no password."""
    return STORE.fullmatch(str(given)) is not None


def without_addresses(text: str, words: list[str]) -> str:
    """A text that may quote these words, without those that may be addresses."""
    for word in sorted(words, key=len, reverse=True):
        attached = word[2:] if re.match(r"-[A-Za-z]", word) else ""  # -kVALUE
        for part in (word, word.partition("=")[2], attached):
            if part and may_be_address(part):
                text = text.replace(repr(part), HIDDEN).replace(part, HIDDEN)
    return text
