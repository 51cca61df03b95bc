"""Another schema, and what places and past records say.

What releases have shown stays as it was, by the names that it had; by their new names those who publish and audit find
it. Columns that come are another matter: nobody says what the people who have left would have there, and cohorts were
formed without them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

import sqlalchemy as sa

from shoal.errors import ParameterError
from shoal.vault.lifecycle.schema_shown import Shown
from shoal.vault.releases.placed import last_safe_version
from shoal.vault.state.passthrough import encode
from shoal.vault.state.save import Saving
from shoal.vault.store import tables
from shoal.vault.store.queries import chunks


def refuse_unsafe(connection: sa.Connection, where: str) -> None:
    """Raise ParameterError if places that some release shows are for the next one to show, too."""
    places = tables.places
    shown = places.c.until.is_(None), places.c.since <= last_safe_version(connection)
    if connection.scalar(sa.select(places.c.id).where(*shown).limit(1)) is None:
        return
    raise ParameterError(
        "the releases of this vault are safe together, and with this schema those to come would not be with those "
        "before: it brings a sensitive or insensitive column, or a new epoch.",
        hint="To begin anew all the same: shoal rebase VAULT --break-guarantee, then shoal schema-change.",
        file=where,
    )


def rename_in_past(saving: Saving, copied: Mapping[str, str], shown: Mapping[str, Shown]) -> None:
    """What places and past records say, by new names as well (`copied`: the old name of each).

    `shown`: of each name that is dropped, who was shown with it. Nothing stays of it elsewhere.
    """
    connection, places, past = saving.connection, tables.places, tables.past_records
    if not copied and not shown:
        return
    rows = [
        (number, renamed(text, copied, [name for name, one in shown.items() if number not in one.places]))
        for some in chunks(connection, places, ("id", "carried"), places.c.carried.is_not(None))
        for number, text in zip(*some, strict=True)
    ]
    saving.store.update(connection, places, ("id", "carried"), rows)
    rows = [
        (number, renamed(text, copied, [name for name, one in shown.items() if number not in one.records]))
        for some in chunks(connection, past, ("id", "carried"))
        for number, text in zip(*some, strict=True)
    ]
    saving.store.update(connection, past, ("id", "carried"), rows)


def renamed(text: str, copied: Mapping[str, str], without: Collection[str]) -> str:
    """Stored values by new names as well, and without some."""
    values = json.loads(text)
    values |= {new: values.get(old) for new, old in copied.items()}
    return encode({name: value for name, value in values.items() if name not in without})
