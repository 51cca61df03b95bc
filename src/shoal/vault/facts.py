"""What a vault tells: small facts about what it holds and has done. None of them carries a key or a value."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from shoal.views import counted, facts_html


@dataclass(frozen=True, repr=False)
class Fact:
    def facts(self) -> dict[str, Any]:
        """For a program."""
        return asdict(self)

    def in_words(self) -> str:
        """In a line."""
        said = (f"{name} {value}" for name, value in asdict(self).items() if isinstance(value, int | float | str))
        return ", ".join(said)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.in_words()}>"

    def _repr_html_(self) -> str:
        """For notebooks."""
        return facts_html(repr(self).strip("<>"), self.facts())


@dataclass(frozen=True, repr=False)
class Changed(Fact):
    """What a batch has done, or would do (`dry_run`)."""

    version: int  # the vault's version afterwards
    inserted: int
    updated: int
    deleted: int
    groups: int  # that have changed, come or gone
    moved: int  # records that are in another group than before, or have come
    dry_run: bool = False
    ignored: int = 0  # deletes of keys that no record has

    def in_words(self) -> str:
        return (
            f"{'would be ' if self.dry_run else ''}{self.inserted} inserted, {self.updated} updated, {self.deleted} "
            f"deleted; {counted(self.groups, 'group')} changed, {counted(self.moved, 'record')} moved; version "
            f"{self.version}"
        )


@dataclass(frozen=True, repr=False)
class Replaced(Changed):
    """What a full extract has changed, or would change."""

    rows: int = 0  # of the extract
    unchanged: int = 0  # that say what the records are already
    too_many_deleted: bool = False  # it would be refused (`dry_run`)


@dataclass(frozen=True, repr=False)
class Optimized(Fact):
    """The loss before and after."""

    version: int
    before: float
    after: float
    dry_run: bool = False


@dataclass(frozen=True, repr=False)
class Status(Fact):
    """How a vault stands."""

    vault: str  # where it is; a password is never shown
    version: int
    epoch: int
    records: int
    groups: int
    smallest: int | None  # the smallest group: records, or people where they are counted
    counted: str  # "records" or "people"
    k: int
    rules: list[str]
    measure: str
    maintainer: str
    loss: float  # by the measure, in total
    publishable: bool
    obstacles: list[str]
    outside: dict[str, float]  # of each column: the share of records that lie outside the epoch's domain
    notes: list[str]  # what the steward should know, in words
    last_release: int | None
    last_published: str | None
    changes_since: int  # batches since the last release
    inserted_since: int
    updated_since: int
    deleted_since: int
    source_position: str | None
    keys_hashed: bool
    republication: str  # none, audit or safe: what is made of releases that follow others
    max_hold: int | str | None  # of safe: how long somebody waits at most
    vacancies: str  # of safe: single, pairs or off
    waiting: int  # of safe: records that the last release does not show
    ghosts: int  # of safe: published rows that nobody holds any more
    size: int | None  # bytes on disk, where that can be told
    drift: float | None = None  # the loss, × that of starting again, if an estimate was asked for and there is one

    def in_words(self) -> str:
        release = "no release yet" if self.last_release is None else f"release {self.last_release}"
        since = f", {counted(self.changes_since, 'batch', 'batches')} since" if self.last_release is not None else ""
        state = "publishable" if self.publishable else f"not publishable: {'; '.join(self.obstacles)}"
        return (
            f"{counted(self.records, 'record')} in {counted(self.groups, 'group')}, k = {self.k}, loss {self.loss:.4g} "
            f"({self.measure}), {state}, {release}{since}"
        )


@dataclass(frozen=True, repr=False)
class Entry(Fact):
    """A release in the history."""

    number: int
    version: int
    epoch: int
    published: str  # when, UTC
    rows: int
    classes: int
    smallest_class: int
    k: int
    loss: float
    file: str | None  # where it was written to
    sha256: str
    erased: int  # rows of people who have been deleted since: they cannot be rebuilt
    republication: str  # none, audit or safe
    accepted: int  # people who come out by it and those before, or may: known and accepted when it was published


@dataclass(frozen=True, repr=False)
class Logged(Fact):
    """Something that was done to a vault."""

    at: str  # UTC
    who: str | None  # the user of the system; None: not known
    what: str  # create, apply, replace, erase, optimize, rebase, schema-change, publish, backup
    version: int  # of the vault, when it had been done
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    records: int | None = None  # afterwards
    release: int | None = None  # its number
    batch_id: str | None = None  # as the holder calls it
    file: str | None = None  # of a release or a backup


@dataclass(frozen=True, repr=False)
class Diff(Fact):
    """What two releases have in common. The holder's: whoever counts who came and went learns about them."""

    before: int
    after: int
    rows_before: int
    rows_after: int
    stayed: int
    joined: int  # an updated record leaves, and joins as it is now
    left: int
    moved: int  # of those who stayed: they look different
    classes_before: int
    classes_after: int
    classes_kept: int  # the same values and the same size
    classes_changed: int  # the same values, another size
    classes_gone: int
    classes_new: int
    loss_before: float
    loss_after: float

    def in_words(self) -> str:
        return (
            f"release {self.before} to {self.after}, {self.stayed} stayed, {self.joined} joined, {self.left} left, "
            f"{self.moved} moved; {counted(self.classes_kept, 'class', 'classes')} kept, {self.classes_changed} "
            f"changed, {self.classes_gone} gone, {self.classes_new} new"
        )


@dataclass(frozen=True, repr=False)
class Checked(Fact):
    """What a look at everything has found."""

    ok: bool
    problems: list[str]
    records: int
    releases: int
    looked_at: list[str] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class Compacted(Fact):
    """Bytes on disk before and after, where they can be told."""

    before: int | None
    after: int | None
    dry_run: bool = False


@dataclass(frozen=True, repr=False)
class Erased(Fact):
    """A receipt: who was asked to be forgotten is, and what is left elsewhere. It names nobody."""

    at: str  # UTC
    who: str | None
    version: int
    erased: int  # records
    ignored: int  # keys that no record had
    records: int  # that are left
    releases: list[dict[str, Any]]  # that show them: number, when it was published, rows of theirs, file
    backups: list[dict[str, Any]]  # made before, as far as the log knows: when, and which file
    compacted: bool  # whether old copies of pages are gone, too
    remains: list[str]  # what is left where, in words
    dry_run: bool = False


@dataclass(frozen=True, repr=False)
class SchemaStep(Fact):
    """One change of a schema."""

    column: str
    change: str  # in words
    needs: str  # nothing, re-measuring or a new epoch


@dataclass(frozen=True, repr=False)
class SchemaChanged(Fact):
    """What another schema has changed, or would change."""

    version: int
    epoch: int
    steps: list[SchemaStep]
    needs: str  # the most that any step needs
    records: int
    groups: int
    moved: int  # records that are in another group than before
    loss_before: float
    loss: float
    dry_run: bool = False


@dataclass(frozen=True, repr=False)
class Rebased(Fact):
    """A new epoch."""

    version: int
    epoch: int
    records: int
    groups: int
    loss: float
    dry_run: bool = False
