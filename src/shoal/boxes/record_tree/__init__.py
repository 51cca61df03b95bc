"""The record tree: which record is nearest to a box, or furthest from a record, without looking at each.

A tree over the free records; a node keeps the box around its own, and has up to eight children. Nearest: a record that
joins a box makes each interval at least `[min(lo, b), max(hi, a)]`, with `[a, b]` the node's interval; the sum of those
costs is a lower bound for every record of the node. Furthest: `[min(lo, a), max(hi, b)]` gives an upper bound. Nodes
that cannot beat the best so far are passed over. A record that is taken leaves the tree, and boxes shrink.

Where no record has a near neighbour, nothing is passed over. Then it is the columns that are not looked at: a sum ends
as soon as it cannot beat the best, whatever the columns that are left would add (`rest`).

Guarantee, for costs that grow with the interval (il, lm, tree, mi): the value of the record that is returned is that of
a full scan. Ties are broken as the tree finds them, the same way every time.

What is compared is `weight · cost(box with the record) − own(record)`: `own` is 0 but for mi, where the loss of a
record is its cost less that of the record alone.

`build.py` makes the tree and takes records out of it, `search.py` finds the nearest and the furthest, `bounds.py` finds
what records cost at least in any group.
"""
