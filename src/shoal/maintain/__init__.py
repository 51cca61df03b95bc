"""Maintenance: a partition that follows its data. One file per maintainer; this one knows their names.

A maintainer's module is loaded when it is asked for, because its kernels load Numba.
"""

from __future__ import annotations

from typing import NamedTuple


class Maintainer(NamedTuple):
    """What is known of a maintainer without loading it."""

    module: str
    engine: str  # the class in it
    summary: str
    method: str  # the static method that makes the first groups
    keeps_rules: bool = True  # or k records alone


MAINTAINERS: dict[str, Maintainer] = {
    "shoal": Maintainer(
        module="shoal.maintain.shoal",
        engine="Shoal",
        summary="as i3m, then refine what was touched and its neighbours, so that the loss does not drift",
        method="shoal",
    ),
    "i3m": Maintainer(
        module="shoal.maintain.i3m",
        engine="I3M",
        summary="join the group that costs least, split at 2k, disperse below k (Truta & Campan 2007)",
        method="k-member",
    ),
    "similar-b-tree": Maintainer(
        module="shoal.maintain.similar_b_tree",
        engine="SimilarBTree",
        summary="join the first group whose sphere has the record, split the near from the far (similar-B-tree)",
        method="mondrian",
        keeps_rules=False,
    ),
}
DEFAULT_MAINTAINER = "shoal"
