"""What `status` says, `publish` does and `verify` finds agree while the mix of the sensitive values turns over."""

from __future__ import annotations

from typing import Any

import pytest

import shoal
from tests.support.drifting import drift
from tests.support.vault_places import Place


def test_a_vault_stays_publishable_while_its_values_turn_over(place: Place) -> None:
    schema, first, batches = drift("equal", records=180)
    asked: dict[str, Any] = {"l": 2, "t": 0.4, "diversity": "distinct"}
    where = place()
    with shoal.Vault.create(where, schema, k=3, data=first, seed=1, republication="none", **asked):
        pass
    for start in range(0, 30, 10):
        with shoal.Vault.open(where) as vault:  # a new process goes on where the last one stopped
            for batch in batches[start : start + 10]:
                vault.apply(batch)
                assert vault.status().publishable
            assert shoal.verify(vault.publish().table, schema, 3, **asked).ok
    with shoal.Vault.open(where) as vault:
        assert vault.check().ok
        assert not set(vault.export()["ill"].to_pylist()) & set("abcde")


KINDS: dict[str, tuple[dict[str, object], list[Any], Any]] = {  # a column, values that many have, and one person's own
    "texts": ({}, ["a", "b", "c"], "own"),
    "numbers": ({"type": "numeric"}, [10, 20, 30], 25),
    "fractions": ({"type": "numeric"}, [1.5, 2.5, 3.5], 9.25),
    "the largest numbers": ({"type": "numeric"}, [2**60, 2**60 + 2, 2**60 + 4], 2**60 + 3),
    "bins": ({"type": "numeric", "bins": [15, 25, 35]}, [10, 20, 30], 40),
    "dates": ({"type": "date"}, ["2024-01-01", "2024-02-01", "2024-03-01"], "2024-05-01"),
    "a hierarchy": ({"hierarchy": {"x": ["a", "b"], "y": ["c", "own"]}}, ["a", "b", "c"], "own"),
    "prefixes": ({"type": "prefix"}, ["111", "112", "221"], "229"),
    "prefixes, all equally far": ({"type": "prefix", "distance": "equal"}, ["111", "112", "221"], "229"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_that_nobody_has_any_more_is_part_of_the_reference(kind: str) -> None:
    column, common, own = KINDS[kind]
    schema = shoal.Schema(
        columns={
            "id": {"role": "key"},
            "age": {"role": "quasi-identifier", "type": "numeric", "domain": [0, 100]},
            "ill": {"role": "sensitive", **column},
        }
    )
    people = [{"id": str(i), "age": 20 + i // 2, "ill": common[i % 3]} for i in range(24)]
    people += [{"id": "own", "age": 50, "ill": own}]
    with shoal.Vault.create(":memory:", schema, data=people, k=2, t=0.9, seed=1) as vault:
        vault.publish()
        vault.delete(["own"])
        assert vault.audit(including_next=True).releases == 2
        vault.update([{"id": "0", "age": 20, "ill": common[1]}])
        vault.publish(accept_findings=True)
        assert vault.audit().releases == 2
        assert vault.check().ok
