"""The audit: what several releases of one table say together, and none of them alone.

The attacker has every release; knows everybody's quasi-identifiers, who was in the table when, and (the worst case)
in which equivalence class of each release. An *atom* is a set of people whom no release tells apart: they have the same
class, or are absent, in every one. What follows from the published counts is about unions of atoms.

- `history.py`: what the attacker has
- `equations.py`: which sets of people have counts that follow from those of the classes
- `difference.py`, `intersection.py`, `linking.py`: the attacks
- `verdict.py`: what they find, in words

It shares no code with what makes releases. Guarantee: if the audit of a history is ok, every atom has what is asked of
a class, and so has every union of atoms: whatever the releases say together, one table with an equivalence class for
each atom says, and that table is as anonymous as a release must be.
"""

from __future__ import annotations

from shoal.audit.history import History, Shown
from shoal.audit.verdict import Audit, Finding, audit_history

__all__ = ["Audit", "Finding", "History", "Shown", "audit_history"]
