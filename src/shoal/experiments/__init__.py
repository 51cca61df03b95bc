"""Experiments: what was measured, and how to measure it again."""
