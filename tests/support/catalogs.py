"""Catalogs where the tables of tests are too small to have any."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from shoal.boxes.catalog import ALWAYS, NEVER
from shoal.boxes.group_tree import new_group_tree

WISHES = st.sampled_from([NEVER, ALWAYS])


def catalogs(wish: int) -> AbstractContextManager[Any]:
    """Meanwhile every new tree has a catalog always, or never."""
    assert new_group_tree.__kwdefaults__ is not None
    return patch.dict(new_group_tree.__kwdefaults__, catalog=wish)
