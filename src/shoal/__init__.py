"""shoal keeps a published table k-anonymous while the table behind it keeps changing."""

from typing import TYPE_CHECKING

from shoal import datasets, workers
from shoal.anonymize import anonymize
from shoal.audit import FileAudit, audit
from shoal.compare import Comparison, compare
from shoal.errors import (
    AuditError,
    BatchError,
    DataError,
    Doubtful,
    HierarchyError,
    InputError,
    InternalError,
    OutputError,
    ParameterError,
    SchemaError,
    ShoalError,
    ShoalWarning,
    Unchanged,
    Unfinished,
    VaultBusy,
    VaultError,
    VerificationError,
)
from shoal.hierarchies import Hierarchy
from shoal.measures import Report, measure
from shoal.progress import Progress
from shoal.release import Release
from shoal.schema import Column, Role, Schema
from shoal.sources.reading import read
from shoal.verify import Verdict, verify
from shoal.version import __version__

if TYPE_CHECKING:
    from shoal.vault.vault import Vault

__all__ = [
    "AuditError",
    "BatchError",
    "Column",
    "Comparison",
    "DataError",
    "Doubtful",
    "FileAudit",
    "Hierarchy",
    "HierarchyError",
    "InputError",
    "InternalError",
    "OutputError",
    "ParameterError",
    "Progress",
    "Release",
    "Report",
    "Role",
    "Schema",
    "SchemaError",
    "ShoalError",
    "ShoalWarning",
    "Unchanged",
    "Unfinished",
    "Vault",
    "VaultBusy",
    "VaultError",
    "Verdict",
    "VerificationError",
    "__version__",
    "anonymize",
    "audit",
    "compare",
    "datasets",
    "measure",
    "read",
    "verify",
    "workers",
]


def __getattr__(name: str) -> object:
    """`shoal.Vault` loads SQLAlchemy: when it is asked for, and not before."""
    if name == "Vault":
        from shoal.vault.vault import Vault

        return Vault
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
