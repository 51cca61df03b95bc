"""Attacks on what shoal promises about durability: processes killed and calls failing at every point, damaged files,
broken inputs. `python -m tests.torture` does them all; docs/reliability.md tells what came of it.
"""
