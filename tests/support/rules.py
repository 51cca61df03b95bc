"""What is asked of made tables beside k."""

from __future__ import annotations

from shoal.privacy import Privacy, make_rules
from shoal.records.encode import Records, encode
from tests.support.tables import MadeTable


def asked_of(made: MadeTable, k: int, rules: str) -> tuple[Records, Privacy]:
    records = encode(made.table, made.schema)
    asked = make_rules(["ill", "pay"], **{"l": {"ill": 1.3}} if rules == "l" else {"t": 0.7}) if rules else ()
    return records, Privacy.of(records, k, asked, quiet=True)
