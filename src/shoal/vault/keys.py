"""Keys that even the vault does not know: with a secret, it stores keyed BLAKE2 hashes of keys and persons.

The secret stays outside. Whoever has the vault without it cannot tell whose a record is, nor test a guess.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from shoal.errors import DataError, ParameterError, VaultError
from shoal.records.changes import ChangeBatch
from shoal.schema import Role, Schema
from shoal.sources.normalize import as_text

SHORTEST = 16
LONGEST = hashlib.blake2b.MAX_KEY_SIZE


class KeyHash:
    """Hashes with one secret."""

    def __init__(self, secret: str | bytes) -> None:
        if not isinstance(secret, str | bytes | bytearray):
            raise ParameterError(f"a key secret is a text or bytes. Got {type(secret).__name__} instead.")
        given = secret.encode() if isinstance(secret, str) else bytes(secret)
        if len(given) < SHORTEST:
            raise ParameterError(
                f"a key secret has at least {SHORTEST} bytes; this one has {len(given)}.",
                hint="Make one with: python -c 'import secrets; print(secrets.token_hex(32))'.",
            )
        self._secret = given if len(given) <= LONGEST else hashlib.blake2b(given).digest()

    def of(self, text: str, role: Role = Role.KEY) -> str:
        return self._begun(str(role))(text)

    def check(self) -> str:
        """Tells later whether it is the same secret."""
        return self._begun("check")("")

    def _begun(self, person: str) -> Callable[[str], str]:
        """The hash of a text. What is the same for all of them, the block with the secret, is hashed once."""
        begun = hashlib.blake2b(key=self._secret, digest_size=16, person=person.encode())

        def hashed(text: str) -> str:
            one = begun.copy()
            one.update(text.encode())
            return one.hexdigest()

        return hashed

    def table(self, table: pa.Table, schema: Schema) -> pa.Table:
        """The same table with hashes for keys and persons."""
        for role in (Role.KEY, Role.PERSON):
            for name in schema.names(role):
                if name in table.column_names:
                    texts = as_text(name, table[name], schema.missing).to_pylist()
                    hashed = self._begun(str(role))
                    hashes = pa.array([None if text is None else hashed(text) for text in texts], pa.string())
                    table = table.set_column(table.column_names.index(name), name, hashes)
        return table

    def batch(self, batch: ChangeBatch) -> ChangeBatch:
        try:
            return replace(batch, table=self.table(batch.table, batch.schema))
        except DataError:  # a column that cannot be read: the check of the batch says so, with everything else
            return batch


def right_secret(secret: str | bytes | None, check: str | None, where: str) -> KeyHash | None:
    """The hash of a vault whose check is this; None if none was given, or the vault has its keys as they are."""
    if secret is None:
        return None
    hashing = KeyHash(secret)
    if check is None:
        raise VaultError("this vault stores keys as they are: it was made without a key secret.", file=where)
    if not hmac.compare_digest(hashing.check(), check):
        raise VaultError("this is not the key secret of the vault.", file=where)
    return hashing
