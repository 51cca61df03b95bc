"""The gate: a release that would say, together with those before, what none of them says alone is not published."""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa

from shoal.audit import UNDECIDED, Audit
from shoal.cohorts.places import TAINTED
from shoal.errors import AuditError, ParameterError
from shoal.progress import Progress
from shoal.release.manifest import Manifest
from shoal.vault.releases.audited import audit_vault
from shoal.vault.releases.history import accepted_findings, last_release
from shoal.vault.releases.placed import last_safe_version
from shoal.vault.releases.prepare import Publication
from shoal.vault.store import tables
from shoal.vault.store.rows import as_json

WAYS_ON = (
    "To publish what gives nobody away, now and later (newcomers may wait): shoal publish VAULT --republication safe. "
    "To give this away: --accept-findings. "
    "If only one release is ever in anybody's hands: --republication none."
)
FORGOTTEN = (
    "What earlier releases showed of people who have left is not kept (since a rebase, a new column, or releases that "
    "were looked at alone). To make all releases from now on safe together, though not with those before: "
    "shoal publish VAULT --republication safe --accept-findings. "
    "To give this away: --accept-findings. "
    "If only one release is ever in anybody's hands: --republication none."
)


def hold_against_history(
    connection: sa.Connection, where: str, publication: Publication, progress: Progress, *, accept: bool
) -> None:
    """Raise AuditError if somebody comes out, unless that is accepted: then the manifest says so.

    The first release is never refused: there is nothing that it could be held against. If all sets of people whom
    the releases tell apart have what is asked of a class, and places say all (`Republication.doubtful`), nobody comes
    out, and nothing else is looked at. (Whom earlier releases give away, as was accepted, is not asked about again.)
    """
    placement = publication.placement
    if last_release(connection) is None or placement is None:
        return
    accepted = _has_accepted(connection)
    if not placement.told_apart and not placement.choice.doubtful and not accepted:
        return
    found = audit_vault(connection, where, progress, publication)
    if not placement.told_apart and found.ok:
        return
    asked_before = accepted and not placement.told_apart and not placement.with_past
    if asked_before and not _says_more(found, audit_vault(connection, where, progress)):
        return
    people = found.people_exposed
    undecided = max(found.undecided, placement.told_apart - people)
    if not accept:
        forgotten = (placement.places.tainted == TAINTED).any()
        ways_on = FORGOTTEN if forgotten else WAYS_ON
        refused = AuditError(_refusal(found, people, undecided), hint=ways_on, file=where)
        refused.people = people or undecided
        raise refused
    told = {"people": people, "undecided": undecided}
    release, row = publication.release, publication.row
    manifest = Manifest.from_json(release.manifest)
    more = {**manifest.more, "republication": {**manifest.more["republication"], "accepted_findings": told}}
    release.manifest = replace(manifest, more=more).to_json()
    row["manifest"] = as_json(release.manifest)


def _has_accepted(connection: sa.Connection) -> bool:
    """Whether some release was published although people come out by it, or may."""
    releases = tables.releases
    manifests = connection.scalars(sa.select(releases.c.manifest).where(releases.c.done.is_(True))).all()
    return any(map(accepted_findings, manifests))


def _says_more(found: Audit, before: Audit) -> bool:
    """Whether one more release gives away anybody, or leaves anybody in doubt, whom those before do not."""
    (now, now_open), (then, then_open) = _who(found), _who(before)
    if found.people_exposed > before.people_exposed or found.undecided > before.undecided:
        return True
    return not now <= then or not now_open <= then_open | then


def _who(audit: Audit) -> tuple[set[str], set[str]]:
    """The keys of those who come out, and of those who may."""
    rows = [] if audit.people_found is None else audit.people_found.to_pylist()
    out = {row["key"] for row in rows if row["attack"] != UNDECIDED}
    return out, {row["key"] for row in rows} - out


def refuse_leaving_safe(connection: sa.Connection, where: str) -> None:
    """Releases that are safe together stay so, unless a new epoch begins that says otherwise."""
    places = tables.places
    shown = places.c.until.is_(None), places.c.since <= last_safe_version(connection)
    if connection.scalar(sa.select(places.c.id).where(*shown).limit(1)) is None:
        return
    raise ParameterError(
        "the releases of this vault are safe together; one that is made otherwise would undo that.",
        hint="To begin anew all the same: shoal rebase VAULT --break-guarantee.",
        file=where,
    )


def _refusal(found: Audit, people: int, undecided: int) -> str:
    """What would come out, and of how many people."""
    worst = found.worst
    if not people or worst is None:
        who = f"of {_count(undecided)} it cannot be ruled out that they come out: they are told apart from others"
        return f"the release was not published: together with those before, {who}."
    more = f" (and perhaps {undecided} more)" if undecided else ""
    return (
        f"the release was not published: together with those before it gives away {_count(people)}{more}; "
        f"{worst.in_words()}."
    )


def _count(people: int) -> str:
    return "1 person" if people == 1 else f"{people} people"
