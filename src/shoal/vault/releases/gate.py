"""The gate: a release that would say, together with those before, what none of them says alone is not published."""

from __future__ import annotations

import json

import sqlalchemy as sa

from shoal.audit import Audit
from shoal.errors import AuditError, ParameterError
from shoal.progress import Progress
from shoal.vault.releases.audited import audit_vault
from shoal.vault.releases.history import last_release
from shoal.vault.releases.prepare import Publication
from shoal.vault.store import tables
from shoal.vault.store.rows import as_json

WAYS_ON = (
    "Publish so that this never happens: shoal publish VAULT --republication safe (newcomers may wait). "
    "Or give it away all the same: --accept-findings. "
    "Or never ask again, if only one release is ever in anybody's hands: --republication none."
)


def hold_against_history(
    connection: sa.Connection, where: str, publication: Publication, progress: Progress, *, accept: bool
) -> None:
    """Raise AuditError if the audit finds anybody, unless that is accepted: then the manifest says so.

    The first release is never refused: there is nothing that it could be held against.
    """
    if last_release(connection) is None:
        return
    found = audit_vault(connection, where, progress, publication)
    if found.ok:
        return
    if not accept:
        raise AuditError(_refusal(found), hint=WAYS_ON, file=where)
    told = {"people": found.people_exposed, "undecided": found.undecided}
    release, row = publication.release, publication.row
    republication = {**release.manifest["republication"], "accepted_findings": told}
    release.manifest = {**release.manifest, "republication": republication}
    row["manifest"] = as_json(json.loads(as_json(release.manifest)))


def refuse_leaving_safe(connection: sa.Connection, where: str) -> None:
    """Releases that are safe together stay so, unless a new epoch begins that says otherwise."""
    places = tables.places
    if connection.scalar(sa.select(places.c.id).where(places.c.until.is_(None), places.c.since > 0).limit(1)) is None:
        return
    raise ParameterError(
        "the releases of this vault are safe together; one that is made otherwise would undo that.",
        hint="To begin anew all the same: shoal rebase VAULT --break-guarantee.",
        file=where,
    )


def _refusal(found: Audit) -> str:
    exposed = "; ".join(reason.rstrip(".") for reason in found.reasons)
    return f"the release was not published: together with those before it says what none of them says alone. {exposed}."
