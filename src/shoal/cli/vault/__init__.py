"""The commands over a vault, a table that changes and its releases. Each is one call of `shoal.Vault`."""

from __future__ import annotations

import typer

from shoal.cli.vault import audit, care, changes, export, making, past, releases, schema_change

PANEL = "Vault: a table that changes"


def register(app: typer.Typer) -> None:
    """Add the commands in the order in which a person meets them."""
    for run in (
        making.init,
        making.status,
        changes.insert,
        changes.update,
        changes.delete,
        changes.apply,
        past.erase,
        changes.optimize,
        releases.publish,
        releases.releases,
        releases.release,
        releases.diff,
        past.log,
        audit.audit,
        export.groups,
        export.export,
        care.check,
        care.compact,
        care.rebase,
        schema_change.schema_change,
        care.backup,
        care.restore,
    ):
        app.command(run.__name__.replace("_", "-"), rich_help_panel=PANEL)(run)
