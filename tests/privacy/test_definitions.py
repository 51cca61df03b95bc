"""Privacy models: the definitions' own examples."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shoal
from shoal.privacy import Privacy, Rule, make_rules
from tests.support.sensitive import ASKED, found, records

pytestmark = pytest.mark.versions

DISEASES = {
    "respiratory": {
        "respiratory infection": ["flu", "pneumonia", "bronchitis"],
        "vascular lung diseases": ["pulmonary edema", "pulmonary embolism"],
    },
    "digestive": {
        "stomach diseases": ["gastric ulcer", "gastritis", "stomach cancer"],
        "colon diseases": ["colitis", "colon cancer"],
    },
}

# Machanavajjhala et al. 2007, Figure 3: a 3-diverse table of inpatients.
INPATIENTS = "heart viral cancer cancer  cancer heart viral viral  heart viral cancer cancer".split()
CLASSES = [0] * 4 + [1] * 4 + [2] * 4


def test_the_examples_of_l_diversity() -> None:
    made = records(INPATIENTS)
    assert found(made, CLASSES, l=2, diversity="distinct") == [3, 3, 3]
    assert found(made, CLASSES, l=2, diversity="entropy") == pytest.approx([2 * math.sqrt(2)] * 3)  # the paper's 2.8
    assert found(made, CLASSES, l=2) == [2, 2, 2]
    # Counts 2, 1, 1: recursive (c, 2) for c > 2 / 2, (c, 3) for c > 2 / 1.
    assert found(made, CLASSES, l=2, diversity="recursive", c=3) == [1, 1, 1]
    assert found(made, CLASSES, l=3, diversity="recursive", c=3) == [2, 2, 2]


def test_recursive_diversity_is_strict() -> None:
    made = records(["a", "a", "b", "c"])
    for c, fine in ((2.0, False), (2.01, True)):
        privacy = Privacy.of(made, 2, make_rules(["ill"], l=3, diversity="recursive", c=c))
        assert privacy.facts_of(np.zeros(4, np.int32), 1).fine.all() == fine


# Li, Li & Venkatasubramanian 2007, Tables 3 and 5: salaries in thousands, and diseases.
SALARIES = [3, 4, 5, 6, 11, 8, 7, 9, 10]
ILLNESSES = "gastric ulcer;gastritis;stomach cancer;gastritis;flu;bronchitis;bronchitis;pneumonia;stomach cancer".split(
    ";"
)
TABLE_5 = [0, 2, 0, 1, 1, 1, 2, 0, 2]


def test_the_examples_of_t_closeness() -> None:
    """D[{3, 4, 5}, Q] = 0.375 and D[{6, 8, 11}, Q] = 0.167 in the paper; diseases by hand, in its hierarchy."""
    made = records(SALARIES, type="numeric")
    assert found(made, [0, 0, 0, 1, 2, 2, 2, 2, 2], t=1)[0] == pytest.approx(0.375, abs=5e-4)
    in_thirds = found(made, TABLE_5, t=1)
    assert in_thirds[1] == pytest.approx(1 / 6)
    assert max(in_thirds) == pytest.approx(1 / 6)
    ill = records(ILLNESSES, hierarchy=DISEASES)
    # At the root 1/9, 2/9 and 1/9 change sides; below, 2/9, 1/9 and 1/9 move a third of the way, on either side.
    assert found(ill, TABLE_5, t=1) == pytest.approx([7 / 27, 8 / 27, 5 / 27])


def test_closeness_of_categories_is_half_the_difference() -> None:
    made = records(["a", "b", "c", "d"])
    assert found(made, [0, 0, 1, 1], t=1) == pytest.approx([0.5, 0.5])


def test_alpha_bounds_all_values_or_one() -> None:
    """Wong et al. 2006: (0.5, 2)-anonymity with respect to one value leaves the others alone."""
    made = records(["HIV", "flu", "flu", "flu", "HIV", "HIV"])
    groups = [0, 0, 0, 0, 1, 1]
    assert found(made, groups, alpha=0.5) == [0.75, 1.0]
    assert found(made, groups, alpha={"ill": {"HIV": 0.5}}) == [0.25, 1.0]
    assert found(made, groups, alpha={"ill": {"flu": 0.5}}) == [0.75, 0.0]


def test_numbers_in_bins_are_one_value() -> None:
    values = [100, 101, 102, 5000, 99_000]
    assert found(records(values, type="numeric"), [0] * 5, l=2, diversity="distinct") == [5]
    assert found(records(values, type="numeric", bins=[1000, 10_000]), [0] * 5, l=2, diversity="distinct") == [3]
    days = [f"2024-0{month}-01" for month in range(1, 6)]
    assert found(records(days, type="date", bins=["2024-03-01"]), [0] * 5, l=2, diversity="distinct") == [2]


def test_missing_is_a_value_of_its_own_and_said_so() -> None:
    with pytest.warns(shoal.ShoalWarning, match="2 sensitive values are missing"):
        assert found(records(["a", None, None, "b"]), [0] * 4, l=2) == [2]


def test_rules_survive_a_manifest() -> None:
    for asked in ASKED:
        for made in make_rules(["ill"], **asked):
            assert Rule.from_facts(made.facts()) == made
