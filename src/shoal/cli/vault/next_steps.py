"""What a person can do next: publish, or first do away with what stands in the way."""

from __future__ import annotations

from shoal.cli.screen import screen
from shoal.vault.facts import Status


def show_obstacles(stands: Status) -> None:
    """Why the vault may not be published as it is, if so."""
    if stands.publishable:
        return
    screen.print("[bold red]✗[/] It may not be published as it is:")
    for obstacle in stands.obstacles:
        screen.print(f"  - {obstacle.rstrip('.')}.", markup=False)


def show_unpublished(stands: Status, name: str) -> None:
    """After a change: nobody outside knows of it yet."""
    if stands.publishable:
        line = f"Nothing of this is published until: shoal publish {name} -o FILE"
        screen.print(line, soft_wrap=True, markup=False)
    show_obstacles(stands)
