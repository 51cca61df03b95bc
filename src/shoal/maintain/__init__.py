"""Maintenance: a partition that follows its data. One file per maintainer; this one knows their names.

A maintainer's module is imported when it is asked for, because its kernels load Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from shoal.maintain.engine import Engine
    from shoal.maintain.live import LivePartition


class Maintainer(NamedTuple):
    """What is known of a maintainer without loading it."""

    engine: Callable[[LivePartition], Engine]
    summary: str
    method: str  # the static method that makes the first groups
    keeps_rules: bool = True  # or k records alone


def _shoal(live: LivePartition) -> Engine:
    from shoal.maintain.shoal import Shoal

    return Shoal(live)


def _i3m(live: LivePartition) -> Engine:
    from shoal.maintain.i3m import I3M

    return I3M(live)


def _similar_b_tree(live: LivePartition) -> Engine:
    from shoal.maintain.similar_b_tree import SimilarBTree

    return SimilarBTree(live)


MAINTAINERS: dict[str, Maintainer] = {
    "shoal": Maintainer(
        engine=_shoal,
        summary="as i3m, then refine what was touched and some of the rest, so that the loss does not drift",
        method="shoal",
    ),
    "i3m": Maintainer(
        engine=_i3m,
        summary="join the group that costs least, split at 2k, disperse below k (Truta & Campan 2007)",
        method="k-member",
    ),
    "similar-b-tree": Maintainer(
        engine=_similar_b_tree,
        summary="join the first group whose sphere has the record, split the near from the far (similar-B-tree)",
        method="mondrian",
        keeps_rules=False,
    ),
}
DEFAULT_MAINTAINER = "shoal"
