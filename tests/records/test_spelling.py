"""One spelling per sensitive value: "HIV", "hiv" and "HIV" with something unseen in it are one diagnosis."""

from __future__ import annotations

import itertools
import random
import sqlite3
import unicodedata
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.privacy import Privacy, make_rules
from shoal.privacy.growing import LivePrivacy
from shoal.privacy.tables import shares_in
from shoal.records.encode import Records, encode
from shoal.records.spelling import one_spelling
from shoal.vault.state.epoch import Epoch

HIV = ["HIV", "hiv", "HIV\u200b", " hIv ", "H\u00adIV", "ＨＩＶ", "HIV\u2060", "\ufeffHiv", "HIV\ufe0f", "HI\u034fV"]
CAFE = ["café", "cafe\u0301", "CAFÉ", "Cafe\u0301\u200d"]
DIVERSITIES: list[dict[str, Any]] = [
    {"l": 2},
    {"l": 2, "diversity": "entropy"},
    {"l": 2, "diversity": "distinct"},
    {"l": 2, "diversity": "recursive", "c": 2},
]


def schema(missing: tuple[str, ...] = (), **ill: object) -> shoal.Schema:
    columns: dict[str, dict[str, object]] = {
        "q": {"role": "quasi-identifier", "type": "numeric"},
        "ill": {"role": "sensitive", **ill},
    }
    return shoal.Schema(columns=columns, missing=missing)


def records(values: list[str | None], missing: tuple[str, ...] = (), **ill: object) -> Records:
    return encode(pa.table({"q": [1] * len(values), "ill": pa.array(values, pa.string())}), schema(missing, **ill))


def different(values: list[str | None], missing: tuple[str, ...] = (), **ill: object) -> float:
    """How many values these are, by the rules; the verifier must agree."""
    made = records(values, missing, **ill)
    rules = make_rules(["ill"], l=1, diversity="distinct")
    (found,) = Privacy.of(made, 2, rules, quiet=True).facts_of(np.zeros(len(values), np.int32), 1).found[0].tolist()
    table = pa.table({"q": ["1"] * len(values), "ill": pa.array(values, pa.string())})
    verdict = shoal.verify(table, schema(missing, **ill), 2, l=1, diversity="distinct")
    assert verdict.rules[0].found == found
    return float(found)


@pytest.mark.parametrize(
    "spellings",
    [HIV, CAFE, ["a  b", "a b", "a\tb", "A\u00a0B"], ["ß", "SS", "ss"], ["non-A", "non\u2010A", "non\u2212a"]],
)
def test_spellings_of_one_value_are_one_value(spellings: list[str]) -> None:
    for ill in ({}, {"type": "categorical"}, {"type": "prefix"}, {"hierarchy": "flat"}):
        assert different([*spellings, *spellings], **ill) == 1  # type: ignore[arg-type]
        assert different([*spellings, "flu", "gout"], **ill) == 3  # type: ignore[arg-type]


def test_numbers_are_one_value_where_nothing_says_that_they_are_texts() -> None:
    spellings: list[str | None] = ["1", "1.0", "01", "+1", "1e0", " 1.", "１"]
    assert different(spellings) == 1
    assert different(["12345678901234567", "12345678901234568"]) == 2
    assert different(["1", "1.0", "01"], type="categorical") == 3
    assert different(["1", "1.0", "01"], type="numeric") == 1


def test_what_cannot_be_seen_is_missing() -> None:
    assert different([None, "", "\u200b", " ", "\u2060\u00ad"]) == 1
    assert different(["n/a", "N/A", None, "n/a\u200b", "-9.0", "-9"], missing=("n/a", "-9")) == 1
    with pytest.warns(shoal.ShoalWarning, match="2 sensitive values are missing"):
        Privacy.of(records(["\u200b", "N/A", "flu"], ("n/a",)), 2, make_rules(["ill"], l=1))


@pytest.mark.parametrize("asked", [*DIVERSITIES, {"alpha": 0.5}, {"alpha": {"ill": {"hiv": 0.5}}}])
def test_no_release_passes_its_spellings_off_as_diverse(asked: dict[str, Any]) -> None:
    table = pa.table({"q": list(range(len(HIV))), "ill": HIV})
    with pytest.raises(shoal.ParameterError, match="cannot be promised"):
        shoal.anonymize(table, schema(), k=2, **asked)
    published = pa.table({"q": ["*"] * len(HIV), "ill": HIV})
    assert not shoal.verify(published, schema(), 2, **asked).ok
    assert not shoal.verify(published, quasi_identifiers=["q"], sensitive=["ill"], k=2, **asked).ok


def test_alpha_names_a_value_in_any_spelling(recwarn: pytest.WarningsRecorder) -> None:
    made = records([*HIV[:5], "flu", "gout", "flu", "gout", "cold"])
    for name in HIV:
        rules = make_rules(["ill"], alpha={"ill": {name: 0.5}})
        assert Privacy.of(made, 2, rules).facts_of(np.zeros(10, np.int32), 1).found[0, 0] == 0.5
    assert not recwarn.list


def test_closeness_sees_one_value() -> None:
    """Half of the table has it, and so has each class: nothing is learned, however it is spelled."""
    values = ["HIV", "flu", "hiv", "flu"]
    made = records(list(values))
    facts = Privacy.of(made, 2, make_rules(["ill"], t=0.1)).facts_of(np.array([0, 0, 1, 1], np.int32), 2)
    assert facts.found[:, 0].tolist() == [0.0, 0.0]
    published = pa.table({"q": ["a", "a", "b", "b"], "ill": values})
    assert shoal.verify(published, schema(), 2, t=0.1).ok


def test_published_values_stay_as_they_are_written() -> None:
    values = ["HIV", "hiv", "flu", "Flu", "gout\u200b", "GOUT"]
    release = shoal.anonymize(pa.table({"q": [1, 2, 3, 4, 5, 6], "ill": values}), schema(), k=2, l=2)
    assert sorted(release.table["ill"].to_pylist()) == sorted(values)


def test_spellings_meet_at_the_leaf_of_a_hierarchy() -> None:
    tree: dict[str, object] = {"virus": ["HIV", "flu"], "other": ["gout", "Gout"]}
    ill: dict[str, Any] = {"hierarchy": tree, "on_unknown": "attach"}
    assert different(["HIV", "hiv", "gout", "Gout", "New", "new"], **ill) == 3
    with pytest.raises(shoal.DataError, match="not in the hierarchy"):  # the hierarchy has its own spelling
        shoal.anonymize(pa.table({"q": [1, 2], "ill": ["HIV", "hiv"]}), schema(hierarchy=tree), k=2, l=1)
    values = ["HIV", "hiv", "Gout", "new", "gout", "New"]
    rules = make_rules(["ill"], t=0.5)
    ordered = {**ill, "distance": "ordered"}
    for more in (ill, ordered):
        made = records(list(values), **more)
        facts = Privacy.of(made, 2, rules).facts_of(np.array([0, 0, 0, 1, 1, 1], np.int32), 2)
        published = pa.table({"q": ["a"] * 3 + ["b"] * 3, "ill": values})
        verdict = shoal.verify(published, schema(**more), 2, t=0.5)
        assert verdict.rules[0].found == pytest.approx(facts.found[:, 0].max())


# As vaults wrote it when every spelling was a value.
MIXED: dict[str | None, float] = {
    "HIV": 0.25,
    "hiv": 0.25,
    "flu": 0.5,
}


def test_a_reference_of_mixed_spellings_is_read_as_one_value_each() -> None:
    published = pa.table({"q": ["1"] * 4, "ill": ["HIV\u200b", "flu", "FLU", "Hiv"]})
    mixed = {str(value): share for value, share in MIXED.items()}
    assert shoal.verify(published, schema(), 2, t=0.1, reference={"ill": mixed}).rules[0].found == 0


def test_a_value_that_comes_in_another_spelling_is_the_one_that_was_there() -> None:
    live = LivePrivacy(records(["HIV\u200b", "flu", "FLU", "Hiv"]), None, 2, make_rules(["ill"], t=0.1))
    live.spread(np.arange(4), 10)
    live.count(np.array([0] * 4 + [-1] * 6, np.int32), 1)
    live.append(records(["hIV", "Asthma", "asthma"]), None, 4)
    assert live.tables.values[:7, 0].tolist() == [3, 2, 2, 3, 3, 1, 1]
    live.follow(np.arange(7))
    assert shares_in(live.tables, 0).tolist() == pytest.approx([0, 2 / 7, 2 / 7, 3 / 7])


SIGNS = st.text(st.characters(codec="utf-8"), max_size=8)


@given(text=SIGNS, numbers=st.booleans())
def test_the_spelling_of_a_spelling_is_itself(text: str, numbers: bool) -> None:
    spelled = one_spelling(text, numbers=numbers)
    assert one_spelling(spelled, numbers=numbers) == spelled
    forms: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")
    for form in forms:
        assert one_spelling(unicodedata.normalize(form, text), numbers=numbers) == spelled
    assert one_spelling(f"\u200b {text}\u2060\t", numbers=numbers) == spelled


@given(number=st.decimals(allow_nan=False, allow_infinity=False, places=3), zeros=st.integers(0, 4))
def test_a_number_has_one_spelling(number: object, zeros: int) -> None:
    text = format(number, "f")
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    longer = f"{sign}{'0' * zeros}{digits}{'0' * zeros}"
    assert one_spelling(longer, numbers=True) == one_spelling(text, numbers=True)


VAULT = shoal.Schema(
    columns={
        "id": {"role": "key"},
        "q": {"role": "quasi-identifier", "type": "numeric"},
        "ill": {"role": "sensitive"},
    }
)


def people(values: list[str], first: int = 0) -> list[dict[str, object]]:
    return [{"id": f"p{i}", "q": i, "ill": value} for i, value in enumerate(values, start=first)]


def test_a_vault_with_a_reference_in_old_spellings_goes_on(tmp_path: Path) -> None:
    values = ["HIV", "flu", "hiv", "flu", "HIV", "flu", "hiv", "flu"]
    path = tmp_path / "old.vault"
    with shoal.Vault.create(path, VAULT, republication="none", k=2, t=0.6, data=people(values)):
        pass
    _rewrite_reference(path, {"ill": MIXED})
    with shoal.Vault.open(path) as vault:
        vault.insert(people(["Hiv", "FLU", "HIV\u200b", "Flu"], first=8))
        assert vault.publish().table.num_rows == 12
        vault.delete([f"p{i}" for i in (0, 2, 4, 6)])  # "Hiv" is left, so the value is
        assert set(_reference(path)) == {"HIV", "hiv", "flu"}
        vault.delete(["p8", "p10"])  # the last who had it, in another spelling than the reference has
        names = {str(name).casefold() for name in _reference(path)}
        assert not any("hiv" in name for name in names)
        assert sum(_reference(path).values()) == pytest.approx(1)
    with shoal.Vault.open(path) as vault:
        vault.insert(people(["hiv", "hiv"], first=20))
        assert vault.check().ok


def _epoch(path: Path) -> Epoch:
    with sqlite3.connect(path) as connection:
        connection.row_factory = sqlite3.Row
        (row,) = connection.execute("SELECT * FROM epochs").fetchall()
    return Epoch.from_row(dict(row), str(path))


def _reference(path: Path) -> dict[str | None, float]:
    reference = _epoch(path).reference
    assert reference is not None
    return dict(reference["ill"])


def _rewrite_reference(path: Path, reference: dict[str, Any]) -> None:
    """What an older shoal has stored."""
    row = Epoch(**{**vars(_epoch(path)), "reference": reference}).row()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE epochs SET frozen = :frozen, sha256 = :sha256 WHERE number = :number", row)


def test_a_vault_counts_one_value_however_records_come(tmp_path: Path) -> None:
    """The same records at once or one after the other: the groups have what is asked by the verifier's count."""
    random.seed(5)
    values = [random.choice([*HIV, "flu", "FLU", "gout", "Gout "]) for _ in range(60)]
    with shoal.Vault.create(
        tmp_path / "v.vault", VAULT, republication="none", k=3, l=2, diversity="distinct", data=people(values[:30])
    ) as v:
        for start in range(30, 60, 5):
            v.insert(people(values[start : start + 5], first=start))
        release = v.publish()
        assert shoal.verify(release.table, VAULT, 3, l=2, diversity="distinct").ok
    classes: dict[str, set[str]] = {}
    for row in release.table.to_pylist():
        classes.setdefault(row["q"], set()).add(one_spelling(row["ill"], numbers=True))
    assert min(map(len, classes.values())) >= 2


def test_equal_texts_keep_their_equality() -> None:
    """The normal form joins spellings, never values that a reader would tell apart."""
    words = ["flu", "flux", "gout", "HIV-1", "HIV-2", "E10", "E11", "a b", "ab", "1E50", "1E51"]
    for a, b in itertools.combinations(words, 2):
        assert one_spelling(a, numbers=True) != one_spelling(b, numbers=True)
