"""The commands over a vault, a table that changes and its releases. Each is one call of `shoal.Vault`."""

from __future__ import annotations

import typer

from shoal.cli.vault import audit, care, changes, export, making, releases

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
        changes.optimize,
        releases.publish,
        releases.releases,
        releases.release,
        releases.diff,
        audit.audit,
        export.groups,
        export.export,
        care.check,
        care.compact,
        care.rebase,
        care.backup,
        care.restore,
    ):
        app.command(run.__name__, rich_help_panel=PANEL)(run)
