"""Errors of usage, as typer words them: they quote the words of the command, in which there may be anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from shoal.addresses import without_addresses
from shoal.cli.terminal import harmless

USAGE: type[Any] = typer.BadParameter.__bases__[0]  # typer may bring its own click
WORDS = "shoal.words"
FIRST_SCHEMA = "`shoal schema infer TABLE -o schema.toml` proposes one."


class Commands(TyperGroup):
    """All commands. What is wrong with how one was called is said without a password and without orders."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        words = list(args)
        with _harmless_errors(words):
            context = super().make_context(info_name, args, *rest, **more)
        context.meta[WORDS] = words
        return context

    def invoke(self, ctx: Any) -> Any:
        with _harmless_errors(ctx.meta.get(WORDS, [])):
            return super().invoke(ctx)


@contextmanager
def _harmless_errors(words: list[str]) -> Iterator[None]:
    try:
        yield
    except USAGE as error:
        error.message = harmless(without_addresses(str(error.message), words))
        if getattr(getattr(error, "param", None), "name", None) == "schema" and not error.message:
            error.message = FIRST_SCHEMA  # an option that is missing has no message of its own
        raise
