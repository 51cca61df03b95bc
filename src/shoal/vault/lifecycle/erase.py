"""The receipt of an erasure: what is left of people who are erased, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from shoal.errors import ShoalError, Unfinished
from shoal.vault.facts import Changed, Entry, Erased, Logged
from shoal.vault.releases.log import BACKUP
from shoal.vault.state.republication import SAFE
from shoal.vault.store import tables
from shoal.vault.store.events import current_user
from shoal.vault.store.rows import now

PUBLISHED = "What was published of them is with its recipients: the vault cannot reach files that were given away."
LABELS = (
    "What a class looked like is kept as long as somebody else is left of it, though an end of an interval may have "
    "been theirs."
)
GHOSTS = (
    "What releases showed of them beside the quasi-identifiers stays as rows that are nobody's (ghosts), and keyed "
    "hashes of their keys, or persons, say which rows were theirs: without them, releases to come would tell of them. "
    "With republication none the vault keeps neither."
)
EARLIER_GHOSTS = (
    "What earlier releases, which were safe together, showed of people beside the quasi-identifiers stays as rows that "
    "are nobody's (ghosts): they are rebuilt from these, though the vault keeps none for releases to come."
)
DOMAINS = (
    "The ends of a domain that the schema does not declare may be theirs until the next epoch: shoal rebase measures "
    "anew."
)
COPIES = "Backups hold them as they were: remove those, or make new ones in their place."
OUTSIDE = "File system snapshots, the server's own logs and copies that shoal did not make are for you to look after."
PAGES = "Old copies of pages may still hold them: shoal compact rewrites the vault."


def any_ghost(connection: sa.Connection) -> bool:
    """Whether a place says what somebody had, though nobody holds it."""
    places = tables.places
    ghost = places.c.holder.is_(None), places.c.carried.is_not(None)
    return connection.scalar(sa.select(places.c.id).where(*ghost).limit(1)) is not None


def unfinished(changed: Changed, problem: ShoalError, found: Erased | None, where: str) -> Unfinished:
    """The records are deleted, and then something failed. `found`: the receipt, if one can be made."""
    many = "1 record is" if changed.deleted == 1 else f"{changed.deleted} records are"
    why = problem.message.partition(";")[0].rstrip(".")  # what a writer is told besides is of a batch that fails
    error = Unfinished(
        f"{many} deleted, in version {changed.version}, but compacting the vault has failed: {why}. Old copies of its "
        "pages may still hold them.",
        hint="Erase them again with --ignore-unknown (in Python, ignore_unknown=True), or compact the vault.",
        file=where,
    )
    error.receipt = None if found is None else found.facts()
    return error


def _safe_releases(history: Sequence[Entry]) -> list[str]:
    """Releases that show places: they can be made again, so that no row of theirs counts as erased."""
    numbers = [str(entry.number) for entry in history if entry.republication == SAFE]
    if not numbers:
        return []
    which = f"Release {numbers[0]} is" if len(numbers) == 1 else f"Releases {', '.join(numbers)} are"
    return [f"{which} safe together with others, and may show them besides: whose a row was is not counted there."]


def receipt(
    changed: Changed,
    before: Sequence[Entry],
    after: Sequence[Entry],
    log: Sequence[Logged],
    domains: Mapping[str, object],
    records: int,
    *,
    keeps_places: bool,
    has_ghosts: bool,
    compacted: bool,
) -> Erased:
    """`before` and `after`: the history. `domains`: those that the epoch took from its records.

    `keeps_places`: releases are held against each other. Those that are safe together show places, which stay.
    `has_ghosts`: some place still says what somebody had, whatever is made of releases now.
    """
    known = {entry.number: entry.erased for entry in before}
    releases: list[dict[str, Any]] = [
        {
            "release": entry.number,
            "published": entry.published,
            "rows": entry.erased - known.get(entry.number, 0),
            "file": entry.file,
        }
        for entry in after
        if entry.erased > known.get(entry.number, 0)
    ]
    backups = [{"at": one.at, "file": one.file} for one in log if one.what == BACKUP]
    ghosts = [GHOSTS] if keeps_places and after else [EARLIER_GHOSTS] if has_ghosts else []
    remains = [PUBLISHED, *_safe_releases(after), LABELS, *ghosts] if releases or ghosts else []
    remains += [DOMAINS] if domains else []
    remains += [COPIES] if backups else []
    remains += [OUTSIDE] if compacted else [PAGES, OUTSIDE]
    return Erased(
        at=now(),
        who=current_user(),
        version=changed.version,
        erased=changed.deleted,
        ignored=changed.ignored,
        records=records,
        releases=releases,
        backups=backups,
        compacted=compacted,
        remains=remains,
        dry_run=changed.dry_run,
    )
