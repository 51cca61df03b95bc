"""What a new schema changes, column by column, and what each change needs. Nothing is done here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from shoal.errors import SchemaError
from shoal.records.changes import key_of
from shoal.schema import PUBLISHED, Column, Role, Schema
from shoal.vault.facts import SchemaStep
from shoal.vault.state.schema_json import schema_facts

NOTHING, REMEASURING, NEW_EPOCH = "nothing", "re-measuring", "a new epoch"
NEEDS = (NOTHING, REMEASURING, NEW_EPOCH)  # from the least to the most

# How values are read: what is there stays as it is.
READING = {"on_unknown", "format", "missing", "decimal", "thousands"}
MEASURING = {"weight", "domain", "hierarchy", "bins", "distance"}  # what cells cost, or how far apart values are


def plan_of(old: Schema, new: Schema, renamed: Mapping[str, str]) -> list[SchemaStep]:
    """The changes, in the order of the new schema, then what is dropped. `renamed`: new names by old ones.

    A hierarchy that is not what it was needs re-measuring if no published cell changes: that is for the records to say.
    """
    _check(old, new, renamed)
    before = {renamed.get(name, name): name for name in old.columns}
    facts, known = schema_facts(new)["columns"], schema_facts(old)["columns"]
    steps: list[SchemaStep] = []
    for name, column in new.columns.items():
        if name not in before:
            needs = REMEASURING if column.role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE) else NOTHING
            steps.append(SchemaStep(name, f"a new column, {column.role}", needs))
            continue
        if before[name] != name:
            steps.append(SchemaStep(name, f"{before[name]!r} renamed", NOTHING))
        if facts[name] != known[before[name]]:
            steps.append(_changed(name, old.columns[before[name]], column))
    for name, column in old.columns.items():
        if renamed.get(name, name) not in new.columns:
            needs = REMEASURING if column.role == Role.QUASI_IDENTIFIER else NOTHING
            steps.append(SchemaStep(name, f"dropped, {column.role}", needs))
    if any(getattr(old, name) != getattr(new, name) for name in ("missing", "header", "encoding", "sheet")):
        steps.append(SchemaStep("", "how files are read", NOTHING))
    return steps


def _changed(name: str, old: Column, new: Column) -> SchemaStep:
    differing = {known.name for known in fields(Column) if known.init and known.name != "hierarchy"}
    differing = {field for field in differing if getattr(old, field) != getattr(new, field)}
    if old.grower != new.grower:
        differing.add("hierarchy")
    if "role" in differing and Role.IDENTIFIER in (old.role, new.role) and new.role != Role.IDENTIFIER:
        raise SchemaError(
            f"column {name!r} was an identifier: the vault has never kept it.",
            hint="Bring it as a new column, by another name.",
            column=name,
        )
    needs = NEW_EPOCH
    if differing <= READING:
        needs = NOTHING
    elif differing <= READING | MEASURING:
        needs = REMEASURING
    return SchemaStep(name, f"another {', '.join(sorted(differing)) or 'description'}", needs)


def most_needed(steps: list[SchemaStep]) -> str:
    return max((step.needs for step in steps), key=NEEDS.index, default=NOTHING)


def _check(old: Schema, new: Schema, renamed: Mapping[str, str]) -> None:
    for before, after in renamed.items():
        if before not in old.columns or after not in new.columns or before in new.columns or after in old.columns:
            raise SchemaError(
                f"column {before!r} cannot be renamed to {after!r}.",
                hint="The old name stands in the vault's schema alone, the new one in the new schema alone.",
                file=new.source,
            )
    for what, role in (("key", Role.KEY), ("person", Role.PERSON)):
        if [renamed.get(name, name) for name in old.names(role)] != new.names(role):
            raise SchemaError(f"the column of the {what} stays so as long as the vault does.", file=new.source)
    if key_of(old) != key_of(new):
        raise SchemaError(f"the key is {key_of(old)!r}, and keeps its name.", file=new.source)
    if not new.quasi_identifiers:
        raise SchemaError(
            "the new schema has no quasi-identifier: there would be nothing to anonymize.", file=new.source
        )


def new_columns(steps: list[SchemaStep], new: Schema) -> list[str]:
    """The columns that need values for the records that there are."""
    added = [step.column for step in steps if step.change.startswith("a new column")]
    return [name for name in added if new.columns[name].role in PUBLISHED]
