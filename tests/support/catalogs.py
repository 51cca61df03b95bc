"""Catalogs where the tables of tests are too small to have any."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from shoal.boxes.changes import new_grouping
from shoal.boxes.group_tree.catalog import ALWAYS, NEVER

WISHES = st.sampled_from([NEVER, ALWAYS])


def catalogs(wish: int) -> AbstractContextManager[Any]:
    """Meanwhile every new grouping has a catalog always, or never."""
    assert new_grouping.__kwdefaults__ is not None
    return patch.dict(new_grouping.__kwdefaults__, catalog=wish)
