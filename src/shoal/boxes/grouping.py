"""Grouping: records in groups that change, as kernels see it: who is where, the boxes, the group tree over them, what
is asked of every group and what a box costs. A kernel takes it first, and asks it.

This file says what there is; `changes.py` makes one, and changes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type
from shoal.boxes.costs import CostTables
from shoal.compiling.structs import Struct, struct
from shoal.privacy.rules import Rules

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Row = Any  # of a structured array: its fields have names
Rows = NDArray[np.void]

FAN = 8  # children of a node, groups of a leaf
IN_A_BUCKET = 4  # groups, unless there is no column left to part them by

NODE = row_type(
    [
        ("count", np.int32),  # children
        ("parent", np.int32),  # −1: none. Of a node that is not in use: the next one
        ("n_cuts", np.int32),
        ("level", np.int32),
        ("built", np.int32),  # groups below it when it was built
        ("changes", np.int32),  # groups that came or went since
    ]
)
LEAF = row_type([("count", np.int32), ("parent", np.int32)])  # the same of a leaf, which has groups
SUMMARY = row_type(
    [("loss", np.float64), ("n_records", np.int64)]
)  # of a group; of a child: the smallest of its groups'
CUT = row_type(  # how one part of a node was divided: see `divide.py`
    [
        ("usual", np.float64),
        ("part", np.int32),
        ("kind", np.int32),
        ("column", np.int32),
        ("at", np.int32),
        ("offsets", np.int32, (3,)),
    ]
)
POSITION = row_type([("leaf", np.int32), ("bucket", np.int32)])  # of a group: −1 and 0 if it has none
ENTRY = row_type([("key", np.int64), ("child", np.int64)])  # of the catalog's hash table
BUCKET = row_type(
    [
        ("losses", np.float64, (IN_A_BUCKET,)),
        ("count", np.int32),
        ("next", np.int32),  # a further bucket; 0: none
        ("groups", np.int32, (IN_A_BUCKET,)),
    ]
)
TREE_STATE = row_type(
    [
        ("n_nodes", np.int64),  # how many have been in use
        ("n_leaves", np.int64),
        ("free_node", np.int64),  # the first of those that are not in use any more; −1: none
        ("free_leaf", np.int64),
        ("depth", np.int64),  # the most that a node has had
        ("stale", np.int64),  # the node below which all should be built anew; −1: none
        ("reshapes", np.bool_),  # boxes change so much that a change counts like a group that comes or goes
        ("catalog", np.int64),  # whether there is a catalog: see `catalog.py`
        ("wish", np.int64),  # whether there shall be one
        ("edition", np.int64),  # of the chains that it was made by
        ("n_trie_nodes", np.int64),
        ("n_buckets", np.int64),
        ("missed", np.int64),  # searches that have gone without it since it is stale
    ]
)
STATE = row_type([("n_spare", np.int64)])


@struct
class Members(Struct):
    """Which records a group has, as lists that a record leaves and joins in no time."""

    labels: Ints  # the group of each record; −1 if it is in none
    heads: Ints  # of each group: its first record, −1 if it has none
    nexts: Ints  # of each record: the next of its group, −1 at the end
    previous: Ints


@struct
class Groups(Struct):
    """All groups, dead ones with size 0."""

    lo: Ints
    hi: Ints
    sizes: Longs
    losses: Floats  # per record


@struct
class GroupTree(Struct):
    """Nodes, the root first, and leaves. A child is a node (its number) or a leaf (−1 − its number)."""

    nodes: Rows  # NODE
    children: Ints  # (nodes, FAN)
    cuts: Rows  # (nodes, FAN) of CUT: how its groups were divided into parts
    slots: Ints  # (nodes, FAN): which child each part is; −1: it has no groups
    unions: Ints  # (nodes, FAN, 2, columns): lo and hi of each child
    widths: Floats  # (nodes, FAN, 2, columns): the narrowest and the widest box in each child
    least: Rows  # (nodes, FAN) of SUMMARY
    leaves: Rows  # LEAF
    members: Ints  # (leaves, FAN): groups
    boxes: Ints  # (leaves, FAN, 2, columns): of each group
    facts: Rows  # (leaves, FAN) of SUMMARY
    positions: Rows  # POSITION, of each group
    entries: Rows  # ENTRY: the catalog's hash table, and
    buckets: Rows  # BUCKET: what it leads to
    state: Rows  # TREE_STATE, one


@struct
class Grouping(Struct):
    """Everything."""

    codes: Ints
    members: Members
    groups: Groups
    tree: GroupTree
    costs: CostTables
    k: int
    rules: Rules
    spare: Ints  # a stack of group numbers that are not in use
    retry: Longs  # of each group: how many records it must have before it is split; 2k, or more after a refusal
    state: Rows  # STATE, one
