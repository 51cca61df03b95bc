"""The version, in the one place that the build reads."""

__version__ = "0.1.0"
