"""Settings for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Kernels compile during the first example of a test: a deadline per example would measure the compiler.
settings.register_profile(
    "shoal", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("shoal")
