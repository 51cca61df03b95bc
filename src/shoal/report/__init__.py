"""Charts for people: what a comparison found, and later what a release gives away."""

from shoal.report.charts import save_chart
from shoal.report.comparison import comparison_chart

__all__ = ["comparison_chart", "save_chart"]
