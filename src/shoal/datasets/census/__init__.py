"""A made-up census: realistic person records for any n, and a stream of changes to them.

`docs/census.md` tells the marginals and correlations that are built in. Nothing here is drawn from real people.
"""

from shoal.datasets.census.changes import census_changes
from shoal.datasets.census.people import census
from shoal.datasets.census.words import census_schema

__all__ = ["census", "census_changes", "census_schema"]
