"""Settings for all tests, and a PostgreSQL for those that need one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.support")  # before it is imported: its asserts tell what they compared

from tests.support.postgres import Server, programs  # noqa: E402

# Kernels compile during the first example of a test: a deadline per example would measure the compiler.
settings.register_profile(
    "shoal", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("shoal")

# What a developer's shell says of its terminal, its language and its Python, and a server's does not. Tests that need
# some of it say so themselves.
for name in ("COLUMNS", "LINES", "TERM", "LANG", "LC_ALL", "FORCE_COLOR", "NO_COLOR", "PYTHONUNBUFFERED"):
    os.environ.pop(name, None)


def pytest_configure(config: pytest.Config) -> None:
    # Not in pyproject.toml: there it would import shoal before coverage looks.
    config.addinivalue_line("filterwarnings", "ignore::shoal.ShoalWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "slow" in item.keywords and "timeout" not in item.keywords:
            item.add_marker(pytest.mark.timeout(3600))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line per slow part with its time: `make test-all` is long, and this says why."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, [])]
    slow = [report for report in reports if "slow" in report.keywords and report.when == "call"]
    for report in sorted(slow, key=lambda report: -report.duration):
        terminalreporter.write_line(f"{report.duration:7.1f} s  {report.nodeid}")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """One server per test process: with pytest-xdist each worker has its own."""
    binaries = programs()
    if binaries is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is not installed, and CI must not skip its tests: see tools/postgres.sh")
        pytest.skip("POSTGRESQL IS NOT INSTALLED: NOTHING THAT NEEDS IT WAS TESTED (see tools/postgres.sh)")
    server = Server(binaries)
    yield server
    server.stop()


@pytest.fixture
def postgres_url(postgres_server: Server) -> str:
    """A fresh, empty database."""
    return postgres_server.create_database()
