"""Regions: a table cut into parts that are worked on apart, and what mends the borders between them (docs/spark.md).

1. **Cut**: along Mondrian's cuts, found on a sample of the records, until no part is larger than asked (`cuts.py`).
   A part that is too small, or lacks what is asked, joins a neighbour (`joining.py`, from counts alone: `asked.py`).
2. **Group** every region by itself, with the same kernels as a whole table (`work.py`).
3. **Rounds**: the *groups* are divided anew, along cuts at random that have other borders, and refined inside the new
   parts. Most of what a border costs is gained back in two or three rounds (`rounds.py` tells when to stop).

Nothing here knows who carries the parts from one place to another: `shoal.spark` does it for tables that no machine
holds, `rounds.in_regions` for one that is in memory.

Guarantee: the groups have what is asked after the second step, and after every round. They depend on the records, the
arguments and the seed, never on the order of the records or on who worked on which part.
"""
