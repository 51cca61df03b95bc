"""k-member: every choice has the value of a full scan (Byun et al. 2007, Figure 5)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.boxes.costs import MEASURES, cost_tables
from shoal.cluster import Task, cluster
from shoal.cluster.k_member import cluster_with
from shoal.privacy import Privacy
from shoal.progress import SILENT
from shoal.records.encode import encode
from tests.reference.clustering import distance, group_loss
from tests.support.costs import cell_cost
from tests.support.tables import MadeTable, tables


@settings(max_examples=150)
@given(
    made=tables(min_rows=3),
    k=st.integers(2, 6),
    measure=st.sampled_from(MEASURES),
    penalty=st.sampled_from([0.0, 0.0, 0.3, 2.0]),
    seed=st.integers(0, 100),
)
def test_every_choice_is_that_of_a_full_scan(made: MadeTable, k: int, measure: str, penalty: float, seed: int) -> None:
    records = encode(made.table, made.schema)
    k, mutual = min(k, made.rows), measure == "mi"
    tables_of_costs = cost_tables(records.books, measure)
    task = Task(records, measure, tables_of_costs, Privacy.only_k(k, made.rows), np.random.default_rng(seed), SILENT)
    labels = records.passthrough["pay"].to_numpy().astype(np.int32)
    work = cluster_with(task, labels, penalty)
    codes = [tuple(row) for row in records.codes.tolist()]

    def cost(j: int, lo: int, hi: int) -> float:
        return float(cell_cost(tables_of_costs, j, lo, hi))

    free = set(range(made.rows))
    last = int(np.random.default_rng(seed).integers(made.rows))
    groups: list[list[int]] = []
    for chosen in work.chosen.tolist():
        if len(groups) < made.rows // k or len(groups[-1]) < k:
            if not groups or len(groups[-1]) == k:
                far = {i: distance(codes[last], codes[i], cost, mutual) for i in free}
                assert far[chosen] == pytest.approx(max(far.values()))
                groups.append([])
            else:
                inside = [codes[i] for i in groups[-1]]
                counts = Counter(labels[i] for i in groups[-1])
                common = {label for label, count in counts.items() if count == max(counts.values())}
                added = {
                    i: group_loss([*inside, codes[i]], cost, mutual) + penalty * (labels[i] not in common) for i in free
                }
                assert added[chosen] == pytest.approx(min(added.values()))
            groups[-1].append(chosen)
            last = chosen
        else:
            grown = {
                g: group_loss([*(codes[i] for i in group), codes[chosen]], cost, mutual)
                - group_loss([codes[i] for i in group], cost, mutual)
                for g, group in enumerate(groups)
            }
            g = int(work.labels[chosen])
            assert grown[g] == pytest.approx(min(grown.values()))
            groups[g].append(chosen)
        free.remove(chosen)
    assert not free
    for g, group in enumerate(groups):
        assert k <= len(group) < 2 * k
        assert {int(work.labels[i]) for i in group} == {g}


def test_labels_must_be_there() -> None:
    table = pa.table({"q": [1, 2, 3, 4], "ill": ["a", None, "b", "a"]})
    schema = shoal.Schema(columns={"q": {"role": "quasi-identifier", "type": "numeric"}, "ill": {"role": "sensitive"}})
    options = {"class_penalty": 1.0}
    with pytest.raises(shoal.ParameterError, match="1 of 'ill' are missing"):
        cluster(encode(table, schema), 2, method="k-member", options=options)
    alone = replace(encode(table, schema), schema=shoal.Schema(columns={"q": schema.columns["q"]}))
    with pytest.raises(shoal.ParameterError, match="needs a sensitive column"):
        cluster(alone, 2, method="k-member", options=options)
    with pytest.raises(shoal.ParameterError, match="at least 0"):
        cluster(encode(table, schema), 2, method="k-member", options={"class_penalty": -1.0})


def test_a_penalty_keeps_labels_together() -> None:
    schema = shoal.datasets.adult_schema()
    table = shoal.datasets.adult("test", complete=True).slice(0, 3000)
    plain = shoal.anonymize(table, schema, k=10, method="k-member", seed=1).measures()
    penal = shoal.anonymize(table, schema, k=10, method="k-member", seed=1, class_penalty=1.0).measures()
    assert penal["cm"] < 0.8 * plain["cm"]
    assert penal["il"] < 1.5 * plain["il"]
