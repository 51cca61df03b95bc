"""shoal keeps a published table k-anonymous while the table behind it keeps changing."""

from shoal import datasets
from shoal.anonymize import anonymize
from shoal.compare import Comparison, compare
from shoal.errors import (
    BatchError,
    DataError,
    HierarchyError,
    InputError,
    InternalError,
    OutputError,
    ParameterError,
    SchemaError,
    ShoalError,
    ShoalWarning,
    Unchanged,
    VaultBusy,
    VaultError,
    VerificationError,
)
from shoal.hierarchies import Hierarchy
from shoal.measures import Report, measure
from shoal.progress import Progress
from shoal.records.reading import read
from shoal.release import Release
from shoal.schema import Column, Role, Schema
from shoal.vault import Vault
from shoal.verify import Verdict, verify
from shoal.version import __version__

__all__ = [
    "BatchError",
    "Column",
    "Comparison",
    "DataError",
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
    "Vault",
    "VaultBusy",
    "VaultError",
    "Verdict",
    "VerificationError",
    "__version__",
    "anonymize",
    "compare",
    "datasets",
    "measure",
    "read",
    "verify",
]
