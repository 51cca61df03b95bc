"""What a vault stores, table by table. SQLite and PostgreSQL have the same.

Versions count batches: the vault's version goes up by one with every batch of changes, and a release is what the
records were at a version. An interval `since … until` holds the versions from `since` on and before `until`.

Format 3 (2: no `republication`, `places`, `waiting` and `formers`, no `events`, and no `who`, `batch_id` and `content`
of a batch; 1: no `uid`, `commits` and `drafts`, no index of memberships by group). A change of this file is a new
format: raise FORMAT, and add a step to `lifecycle/migrations.py`.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

from shoal.files import VAULT

FORMAT = 3
APPLICATION = VAULT  # SQLite keeps it in the file's header

COMPACT: dict[str, Any] = {"sqlite_with_rowid": False}  # SQLite keeps rows in the primary key itself
LARGE = {"rows_at_once": 16}  # rows of megabytes

metadata = MetaData()

# One row: which vault this is, and where it stands.
vault = Table(
    "vault",
    metadata,
    Column("id", Integer, primary_key=True),  # 1
    Column("format", Integer, nullable=False),  # of these tables
    Column("created", Text, nullable=False),  # UTC
    Column("uid", Text),  # tells this vault from its copies
    Column("commits", BigInteger),  # how many there have been: see head.py
    Column("version", BigInteger, nullable=False),  # of the last batch
    Column("epoch", Integer, nullable=False),
    Column("next_id", BigInteger, nullable=False),  # of records; no number is used twice
    Column("next_values", Text, nullable=False),  # JSON: the same for the values of each quasi-identifier, in an epoch
    Column("key_check", Text),  # tells whether a key secret is the right one; null: keys are stored as they are
    Column("source_position", Text),  # how far a source has been followed; opaque
    Column("republication", Text),  # JSON: what is made of releases that follow others, see state/republication.py
    Column("sums", Text, nullable=False),  # JSON: a checksum for each part of the tables, see parts.py
    Column("sha256", Text, nullable=False),  # of this row
)

# What records are held to, and what is frozen as long as it is (docs/vault.md: epochs).
epochs = Table(
    "epochs",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("version", BigInteger, nullable=False),  # the first batch of the epoch
    Column("schema", Text, nullable=False),  # JSON: roles, types, hierarchies
    Column("settings", Text, nullable=False),  # JSON: k, rules, measure, maintainer, method, seed
    Column("layout", Text, nullable=False),  # JSON: order of the published columns; types of the passthrough columns
    Column("frozen", Text, nullable=False),  # JSON: domains; the reference distribution of t-closeness
    Column("sha256", Text, nullable=False),  # of all above
)

# The values of quasi-identifiers. A value has one number in its column as long as somebody has it.
dictionary = Table(
    "dictionary",
    metadata,
    Column("name", Text, primary_key=True),  # the quasi-identifier
    Column("id", BigInteger, primary_key=True, autoincrement=False),  # 0: missing
    Column("value", Text),
    Column("frequency", BigInteger),  # how many had it when the epoch began; null: it has come since
    **COMPACT,
)

# The records as they are now: one row for each, with what it was in the last change.
records = Table(
    "records",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("key", Text, nullable=False),  # the holder's, or its keyed hash
    Column("person", Text),  # whose record it is, in the same way; null: the schema does not say
    Column("cells", LargeBinary, nullable=False),  # numbers in `dictionary`, four bytes each, little-endian
    # JSON: the passthrough columns (sensitive and insensitive), every value as text
    Column("carried", Text, nullable=False),
    Column("group_id", BigInteger, nullable=False),
    Column("since", BigInteger, nullable=False),  # the version from which on it is in this group
)

# What records were when they were published, if they have been updated since. Of deleted ones nothing is here.
past_records = Table(
    "past_records",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("key", Text, nullable=False),  # so that a delete finds all that a person was
    Column("carried", Text, nullable=False),
    Index("past_records_key", "key"),
)

# In which group a record was, if a release shows it there, and it is not there any more. Stays when it is deleted:
# numbers without values, so that a release still has as many rows as it had. Of a place (its number, negative): in
# which cohort it was.
memberships = Table(
    "memberships",
    metadata,
    Column("record_id", BigInteger, primary_key=True, autoincrement=False),
    Column("since", BigInteger, primary_key=True, autoincrement=False),
    Column("until", BigInteger, nullable=False),
    Column("group_id", BigInteger, nullable=False),
    Index("memberships_group", "group_id"),  # who else was in the group of somebody who is deleted
    **COMPACT,
)

# What groups look like from a release on, until a later one shows them otherwise: a snapshot for each release that
# shows a group otherwise than the one before. One row for a release, not for a group: there are so many of those.
classes = Table(
    "classes",
    metadata,
    Column("version", BigInteger, primary_key=True, autoincrement=False),  # of the release
    Column("base", BigInteger, nullable=False),  # the last snapshot that has all groups of its release; maybe this one
    Column("groups", LargeBinary, nullable=False),  # their numbers, eight bytes each, little-endian, rising
    Column("cells", LargeBinary, nullable=False),  # their published quasi-identifiers: an Arrow stream
    Column("checksum", BigInteger, nullable=False),  # of the row: Arrow does not read what is damaged, it crashes
    info=LARGE,
)

# What has been done, in numbers; no values.
batches = Table(
    "batches",
    metadata,
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),  # UTC
    Column("kind", Text, nullable=False),  # create, apply, replace, erase, optimize, rebase, schema-change
    Column("inserted", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False),
    Column("deleted", BigInteger, nullable=False),
    Column("records", BigInteger, nullable=False),  # afterwards, like the rest
    Column("groups", BigInteger, nullable=False),
    Column("smallest", BigInteger),
    Column("loss", Float, nullable=False),
    Column("obstacles", Text, nullable=False),  # JSON: why it cannot be published
    Column("outside", Text, nullable=False),  # JSON: of each column, the share of records outside its domain
    Column("who", Text),  # the user of the system; null: not known
    Column("batch_id", Text),  # as the holder calls it
    Column("content", Text),  # a checksum of what was given, to know it again; forgotten by `compact`
)

# What has been done that is no batch: backups, and who published. A backup is made while somebody else may write, and
# the checksums of parts are the writer's: until the next one sums it, a row has only its own digest.
events = Table(
    "events",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),  # by chance
    Column("at", Text, nullable=False),  # UTC
    Column("who", Text),
    Column("kind", Text, nullable=False),  # publish, backup
    Column("version", BigInteger, nullable=False),  # of the vault
    Column("facts", Text, nullable=False),  # JSON: numbers and files, no values
    Column("sha256", Text, nullable=False),  # of all above
    Column("summed", Boolean, nullable=False),  # whether the checksum of this part has it
)

# Whom a batch has touched: the numbers of the records that were written or removed, eight bytes each. Whoever has an
# earlier version in memory reads those. No row: too many, or forgotten by `compact`; then everything is read.
touches = Table(
    "touches",
    metadata,
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("records", LargeBinary, nullable=False),
    info=LARGE,
)

# What has been published.
releases = Table(
    "releases",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("epoch", Integer, nullable=False),
    # False: somebody is writing the file, or was when the power failed. Such a row is not in the history.
    Column("done", Boolean, nullable=False),
    Column("published", Text, nullable=False),  # UTC
    Column("shuffle_key", LargeBinary, nullable=False),  # repeats the order of the rows
    Column("manifest", Text, nullable=False),  # JSON: what the recipient was told
    Column("layout", Text, nullable=False),  # JSON, as in `epochs`
    Column("sha256", Text, nullable=False),  # of the file as it was written
    Column("content", BigInteger),  # a checksum of the rows as they were; null: a column was taken out since
    Column("rows", BigInteger, nullable=False),
    Column("classes", BigInteger, nullable=False),
    Column("smallest_class", BigInteger, nullable=False),
    Column("k", BigInteger, nullable=False),
    Column("loss", Float, nullable=False),
    Column("erased", BigInteger, nullable=False),  # rows of people who have been deleted since
    Column("file", Text),  # where it was written to
    Column("host", Text),  # on which machine
    Column("part", Text),  # the mark of temporary files that may be there; null: none
    Column("overwrites", Boolean, nullable=False),  # whether what was there before may go
    Column("republication", Text),  # none, audit, safe; null: from before there was a choice, as none
)

# Rows of releases beyond the people whom they show (docs/safe.md): a place keeps what it says when its holder leaves,
# and is a ghost then. `safe` releases show places; others show records, and places are kept for the day when a vault
# is switched to `safe`. The values of people who have been deleted are here as parts of what was published, and
# nowhere else.
places = Table(
    "places",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("cohort", BigInteger, nullable=False),  # who cannot be told apart: see docs/safe.md
    Column("holder", BigInteger),  # the number of a record; null: nobody holds it
    # JSON, as in `records`: what it says; null: what its holder says, or (with no holder) forgotten with its cohort
    Column("carried", Text),
    Column("person", BigInteger, nullable=False),  # whose it was at first: equal numbers in a cohort, one person
    # 1: earlier releases may say more of it than its cohort does; 2: somebody held it who was in a cohort before
    Column("tainted", Integer, nullable=False),
    Column("since", BigInteger, nullable=False),  # the version of the first release that shows it, in this cohort
    Column("until", BigInteger),  # the version of the first one that does not; null: none yet
    Index("places_holder", "holder"),
)

# Records that no release shows yet, because nobody is there to hide among: since which release, and when.
waiting = Table(
    "waiting",
    metadata,
    Column("record_id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("release", Integer, nullable=False),  # the first that passed it over
    Column("since", Text, nullable=False),  # UTC
)

# Who has held which place: keyed hashes of keys (and persons), so that somebody who comes back is known again.
formers = Table(
    "formers",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("hash", Text, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("moved", Integer, nullable=False),  # 1: stayed in the table with another sensitive value; 0: went away
    Index("formers_hash", "hash"),
)

# Files with originals (backups, exports) that somebody is making, or was when the process ended: whoever opens the
# vault next removes what is left of those. Not part of a copy.
drafts = Table(
    "drafts",
    metadata,
    Column("mark", Text, primary_key=True),  # of the hidden files: `.shoal-MARK.….part`
    Column("folder", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("begun", Text, nullable=False),  # UTC
)

# The columns in which rows are written, read and summed; the first is a number.
RECORD = ("id", "key", "person", "cells", "carried", "group_id", "since")
GROUP = ("id", "group_id", "since")  # of a record
PAST_RECORD = ("id", "key", "carried")
MEMBERSHIP = ("record_id", "since", "until", "group_id")
CLASSES = ("version", "base", "groups", "cells", "checksum")
VALUE = ("id", "name", "value", "frequency")
BATCH = tuple(column.name for column in batches.columns)
TOUCH = ("version", "records")
PLACE = tuple(column.name for column in places.columns)
WAITING = tuple(column.name for column in waiting.columns)
FORMER = tuple(column.name for column in formers.columns)
EVENT = tuple(column.name for column in events.columns if column.name != "summed")
RELEASE = tuple(column.name for column in releases.columns if column.name not in ("done", "part"))  # how far it is

ALL = (
    vault, epochs, dictionary, records, past_records, memberships, classes, batches, touches, events, releases, places,
    waiting, formers, drafts,
)  # fmt: skip
COPIED = tuple(table for table in ALL if table is not drafts)
