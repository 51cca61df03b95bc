"""What the commands over a vault share: their arguments and options, and how a vault is opened and named."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

import shoal
from shoal.addresses import may_be_address
from shoal.cli.files import file_path, table_place
from shoal.cluster import ALL_MEASURES, METHODS
from shoal.errors import ParameterError
from shoal.maintain import MAINTAINERS

SECRET_VARIABLE = "SHOAL_KEY_SECRET"  # noqa: S105  # the name of the variable
WAIT = 10.0


def _place(text: str) -> str:
    if text == ":memory:":
        raise typer.BadParameter("a vault in memory would be gone when the command ends. Name a file.")
    return text


VaultPlace = Annotated[
    str,
    typer.Argument(metavar="VAULT", parser=_place, help="The vault: a file, or postgresql://USER@HOST/DATABASE."),
]
NewVault = Annotated[
    str,
    typer.Argument(
        metavar="VAULT", parser=_place, help="Where to make it: a file, or postgresql://USER@HOST/DATABASE."
    ),
]
Rows = Annotated[
    str, typer.Argument(metavar="FILE", parser=table_place, help="The records, in a file or a table of a database.")
]
Keys = Annotated[
    str, typer.Argument(metavar="FILE", parser=table_place, help="A table with the key column; it may have more.")
]
Copy = Annotated[Path, typer.Argument(metavar="FILE", parser=file_path, help="The copy: a vault in one file.")]
Number = Annotated[int, typer.Argument(metavar="N", help="The number of the release, see `shoal releases`.")]
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", parser=file_path, help="Where to write: .csv or .parquet.")
]
MaybeOutput = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", parser=file_path, help="Where to write: .csv or .parquet."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")]

BatchId = Annotated[
    str | None,
    typer.Option("--batch-id", metavar="NAME", help="What the batch is called: one that was applied is not again."),
]
Again = Annotated[bool, typer.Option("--again", help="Apply the batch although it has been applied already.")]
IgnoreUnknown = Annotated[
    bool, typer.Option("--ignore-unknown", help="Pass over deletes of keys that no record has, and count them.")
]

Method = Annotated[
    str | None, typer.Option(help=f"How the first groups are found: {', '.join(METHODS)}. Default: the maintainer's.")
]
Measure = Annotated[str, typer.Option(help=f"What is lost least of: {', '.join(ALL_MEASURES)}.")]
Maintainer = Annotated[str, typer.Option(help=f"How groups follow changes: {', '.join(MAINTAINERS)}.")]
Republication = Annotated[
    str | None,
    typer.Option(
        help="What is made of releases that follow others: audit (refuse what gives somebody away), safe (make "
        "such that never do; newcomers may wait), none (each is looked at alone)."
    ),
]
MaxHold = Annotated[
    str | None,
    typer.Option(
        "--max-hold", metavar="N|DAYSd", parser=str, help="With safe: how many releases, or days (30d), somebody waits."
    ),
]
Vacancies = Annotated[
    str | None,
    typer.Option(help="With safe: how newcomers take the places of people who have left: single, pairs, off."),
]
Seed = Annotated[int | None, typer.Option(help="Repeat random choices; the order of published rows is always new.")]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Try everything, change nothing, and say what would happen.")]
Wait = Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for another writer.")]
SecretFile = Annotated[
    Path | None,
    typer.Option(
        "--key-secret-file",
        metavar="FILE",
        parser=file_path,
        help=f"The secret with which keys are hashed; or in the variable {SECRET_VARIABLE}.",
    ),
]


def hold(given: str | None) -> int | str | None:
    """Releases are a number."""
    return int(given) if given is not None and given.isascii() and given.isdigit() else given


def opened(where: str, *, wait: float = WAIT, secret: bytes | None = None) -> shoal.Vault:
    """The vault; to be used in a `with`. Only those who name records by their keys need the secret."""
    return shoal.Vault.open(where, key_secret=secret, wait=wait)


def key_secret(file: Path | None) -> bytes | None:
    """The secret as bytes, from the file or else from the environment, without the newline that editors add."""
    if file is None:
        given = os.environ.get(SECRET_VARIABLE)
        secret, source = None if given is None else os.fsencode(given), SECRET_VARIABLE
    else:
        secret, source = _bytes(file), str(file)
    if secret is None:
        return None
    secret = secret.removesuffix(b"\n").removesuffix(b"\r")
    if not secret:
        raise ParameterError("the secret for the keys is empty.", file=source)
    return secret


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as problem:
        raise ParameterError(
            f"the secret for the keys cannot be read: {problem.strerror or type(problem).__name__}.", file=str(file)
        ) from None


def named(where: str) -> str:
    """The vault in a command that a person can type; of a URL nothing, for there may be a password in it."""
    return "VAULT" if may_be_address(where) else shlex.quote(where)


def moment(stamp: str) -> str:
    """A time stamp (ISO, UTC) as people read it."""
    return f"{stamp[:16].replace('T', ' ')} UTC"


def near(file: str | None) -> str:
    """A path from here, where that is shorter."""
    if file is None:
        return ""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
