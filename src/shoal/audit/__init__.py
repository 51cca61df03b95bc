"""The audit: what several releases of one table say together, and none of them alone.

The attacker has every release; knows everybody's quasi-identifiers, who was in the table when, and (the worst case)
in which equivalence class of each release. An *atom* is a set of people whom no release tells apart: they have the same
class, or are absent, in every one. What follows from the published counts is about unions of atoms.

- `history.py`: what the attacker has
- `equations.py`, `rows.py`: which sets of people have counts that follow from those of the classes
- `difference.py`, `surplus.py`, `uniform.py`, `intersection.py`, `linking.py`: the attacks
- `changes.py`, `kinds.py`: who has changed, was away, or left with a value
- `doubt.py`: what is undecided; `verdict.py`: what is found, in words
- `files.py`: the same of release files alone (`released.py`, `traces.py`, `label_boxes.py`, `between_files.py`), and of
  a population that is placed into their classes (`population.py`, `placing.py`, `of_people.py`)

It shares no code with what makes releases. Guarantee: if the audit of a history is ok, every atom has what is asked of
a class, and so has every union of atoms: whatever the releases say together, one table with an equivalence class for
each atom says, and that table is as anonymous as a release must be. Who knows besides who has changed can rule out no
value that this table leaves to somebody (`changes.py`).
"""

from __future__ import annotations

from shoal.audit.files import FileAudit, audit
from shoal.audit.history import History, Shown
from shoal.audit.kinds import UNDECIDED
from shoal.audit.verdict import Audit, Finding, audit_history

__all__ = ["UNDECIDED", "Audit", "FileAudit", "Finding", "History", "Shown", "audit", "audit_history"]
