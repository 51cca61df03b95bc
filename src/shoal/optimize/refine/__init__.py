"""Refining: local search on the group tree, the engine of the method and of the maintainer `shoal`.

Four kinds of steps, each taken only if the total loss falls and every group that it touches still has what is asked:

- **move**: a record goes to the best of all groups, out of a group that can do without it;
- **dissolve**: each record of a group goes to the best of all others, and the group is no more;
- **split**: a group of 2k becomes two, as in maintenance (the loss cannot rise: both boxes lie in the old one);
- **pool**: a group and its nearest neighbours are partitioned anew among themselves (`pool.py`): first by moves and
  swaps from what they are, then from nothing, with a first seed by chance; the best is kept.

Maintenance has a fifth, **refill**: a group that has too few records and neighbours that have enough for all are a pool
that is made from nothing. The loss may rise, but less than where the group is dispersed.

A pool that gave nothing is not tried again before one of its groups has changed; then there is less to do in every
sweep. Steps end with everything in its place: whoever stops between two of them has a valid partition.

Where no pool gains anything any more, a pool may be allowed to end with a little more loss, if its groups are others
than before (threshold accepting): what its neighbours gain by that is more, after a while.

Guarantee: the loss never rises (but for a refill, and for what a pool is allowed), and groups that had what is asked
still have it, after every step. A run ends with the least loss that it has seen between two sweeps.
"""
