"""The example notebook runs from its first cell to its last, and shows what it should."""

from __future__ import annotations

import re
from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "census.ipynb"


@pytest.mark.filterwarnings("ignore")  # of the kernel's own packages
def test_the_example_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    html = " ".join(
        output["data"].get("text/html", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "data" in output
    )
    for part in ("Schema of", "Release:", "Report:", "Verdict: yes", "Status:"):
        assert part in html, part
    assert re.search(r"measuring", html)  # the last stage that the bar has shown


def test_it_carries_no_output() -> None:
    """What is committed is what people read, not what somebody's machine has said."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)
