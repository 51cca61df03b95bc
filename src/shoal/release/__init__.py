"""Releases: what is published, and nothing that helps to undo it."""

from shoal.release.release import Release

__all__ = ["Release"]
