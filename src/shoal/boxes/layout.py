"""How the arrays of the group tree are laid out: what stands at which place of them."""

from __future__ import annotations

# In `nodes` and `leaves`: how many children, or groups; the parent (−1: none), or the next free one of those that are
# in use no more. In `nodes` also how many cuts, how deep, how many groups when it was planted, how many changes since.
COUNT, ABOVE, STEPS, LEVEL, BUILT, CHANGES = 0, 1, 2, 3, 4, 5
LO, HI = 0, 1  # in `unions` and `boxes`
NARROWEST, WIDEST = 0, 1  # in `widths`
LOSS, SIZE = 0, 1  # in `least` and `facts`
LEAF, HOME = 0, 1  # in `places`: the leaf that a group is in (−1: none), and its drawer in the catalog (0: none)

# In `state`:
NODES, LEAVES = 0, 1  # how many have been in use
FREE_NODE, FREE_LEAF = 2, 3  # the first of those that are in use no more; −1: none
DEPTH = 4  # the most that a node has had
WORN = 5  # the node below which all should be planted anew; −1: none
RESHAPES = 6  # whether boxes change so much that a change counts like a group that comes or goes
CATALOG, WISH = 7, 8  # whether there is a catalog, and whether there shall be one: see `catalog.py`
EDITION = 9  # of the chains that it was made by
SHELVES, DRAWERS = 10, 11  # how many it has
MISSED = 12  # how many searches have gone without it since it is stale
STATES = 13
