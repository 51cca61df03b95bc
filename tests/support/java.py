"""Java, which tests of Spark need: without it they are skipped loudly, and in CI they fail."""

from __future__ import annotations

import os

import pytest

from shoal.errors import InputError
from shoal.spark.sessions import needs_java


def java_or_skip() -> None:
    try:
        needs_java()
    except InputError:
        if os.environ.get("CI"):
            pytest.fail("Java is not installed, and CI must not skip the tests of Spark: see tools/java.sh")
        pytest.skip("JAVA IS NOT INSTALLED: NOTHING THAT NEEDS SPARK WAS TESTED (see tools/java.sh)")
