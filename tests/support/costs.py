"""What cells and boxes cost, as Python may ask: in the package only kernels do."""

from __future__ import annotations

from shoal.boxes.costs import kernels
from shoal.compiling import entered

cell_cost = entered(kernels.cell_cost)
box_cost = entered(kernels.box_cost)
