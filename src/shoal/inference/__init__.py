"""A first guess at a schema, and why: from names, values, how many there are, and gaps between them.

It errs on the side of caution: what nothing is known of is proposed as a quasi-identifier. A person has to look it
over; the TOML that it writes says of each column why it got its role, and how sure that is.
"""

from shoal.inference.columns import ACTS_LIKE_A_KEY, NEARLY_UNIQUE, Guess, Sure
from shoal.inference.identifying import Identifying, identifying
from shoal.inference.proposal import Proposal
from shoal.inference.proposing import propose
from shoal.inference.values import Values, values_of

__all__ = [
    "ACTS_LIKE_A_KEY",
    "NEARLY_UNIQUE",
    "Guess",
    "Identifying",
    "Proposal",
    "Sure",
    "Values",
    "identifying",
    "propose",
    "values_of",
]
