"""The group tree: which group a record or another group joins at the least loss, without looking at each.

A query with box Q, size q and loss per record L_Q joins group g at `v = q·(L' − L_Q) + |g|·(L' − L)`, with L and L' the
group's loss per record before and after; for a record that is `L' + |g|·(L' − L)`. A node keeps of each of its children
the union of the groups' boxes, the smallest and largest width (as a cost) per column, the smallest loss and the
smallest size. With `c_j` the cost from Q to the union's interval, `m_j` and `M_j` the smallest and largest width cost,
and `e = Σ max(0, c_j − M_j)`:

    L' ≥ max(Σ max(c_j, m_j), min L + e)   and   L' − L ≥ e,   so   v ≥ q·(L'bound − L_Q) + s·e.

A node has up to eight children, a leaf up to eight groups, and what is kept of them stands side by side: among many
groups, fetching from memory is what takes the time. How a node is divided decides how many are looked at: see
`divide.py`.

Records ask the catalog first, where there is one (`catalog.py`): it knows the groups that cover a record in every
hierarchy, and what any other costs at least. Often that is enough; if not, the tree is asked for the others.

Groups may grow, shrink, die and be born: see `update.py`.

Guarantee, for costs that grow with the interval: the value found is that of a full scan over the groups that the rules
allow. Ties go to the smaller group, then to the lower number, as far as the tree comes by them.
"""
