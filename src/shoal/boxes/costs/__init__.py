"""Costs: what a cell, and a box, costs under a measure. `kernels.py` is for kernels, and loads Numba."""

from shoal.boxes.costs.tables import MEASURES, CostTables, box_costs, column_costs, cost_tables, same_costs

__all__ = ["MEASURES", "CostTables", "box_costs", "column_costs", "cost_tables", "same_costs"]
