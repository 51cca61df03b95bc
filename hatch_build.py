"""What a build does that pyproject.toml cannot say: a wheel takes compiled kernels along (tools/build_wheel.py)."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "SHOAL_KERNELS"  # the environment variable that says where they are


class Kernels(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get(FOLDER)
        if folder and version == "standard":
            build_data["force_include"][folder] = "shoal/kernels"
            build_data["pure_python"], build_data["infer_tag"] = False, True
