"""The command line. Every command is one call of the library: `shoal anonymize` calls `shoal.anonymize`, and so on."""

from shoal.cli.app import main

__all__ = ["main"]
