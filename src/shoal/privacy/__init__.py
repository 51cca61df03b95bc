"""Privacy: what a group must satisfy. k and rules (`requirements.py`), bound to records (`privacy.py`), and the one
protocol that kernels ask: may this record join, leave; may these merge, split? (`counts.py`)

Modules with kernels (`kernels.py`, `tally.py`, `counts.py`) are loaded on demand, because they load Numba.
"""

from shoal.privacy.people import warn_of_several_records
from shoal.privacy.privacy import GroupFacts, Privacy
from shoal.privacy.requirements import DIVERSITIES, MODELS, Rule, check_k, make_rules

__all__ = ["DIVERSITIES", "MODELS", "GroupFacts", "Privacy", "Rule", "check_k", "make_rules", "warn_of_several_records"]
