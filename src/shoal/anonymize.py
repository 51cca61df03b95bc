"""The one-shot job: read → encode → cluster → recode → verify."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shoal.cluster import DEFAULT_METHOD, check_parameters, cluster
from shoal.fit import warn_of_keys, warn_of_outliers
from shoal.privacy import warn_of_several_records
from shoal.privacy.requirements import Alpha, Diversity, PerColumn, Requirements
from shoal.progress import SILENT, Progress
from shoal.records.encode import encode
from shoal.records.reading import read_for
from shoal.release import Release
from shoal.release.making import released
from shoal.schema import Schema
from shoal.withholding import check_suppress, withhold
from shoal.workers import checked, using


def anonymize(
    data: object,
    schema: Schema | str | Path | Mapping[str, object],
    *,
    k: int,
    l: PerColumn | None = None,  # noqa: E741  # the interface's name
    t: PerColumn | None = None,
    diversity: Diversity | None = None,
    c: float | None = None,
    alpha: Alpha | None = None,
    method: str = DEFAULT_METHOD,
    measure: str = "il",
    seed: int | None = None,
    optimize: str | None = None,
    suppress: float = 0.0,
    bounds: bool = False,
    strict: bool = False,
    progress: Progress = SILENT,
    workers: int | None = None,
    effort: str | None = None,
    max_seconds: float | None = None,
    relaxed: bool | None = None,
    cut: str | None = None,
    class_penalty: float | None = None,
    start_share: float | None = None,
    split_share: float | None = None,
    restarts: int | None = None,
    integer_split: bool | None = None,
    mi_weight: float | None = None,
    rescale: bool | None = None,
    **others: object,
) -> Release:
    """Publish a table so that every record looks like at least k − 1 others.

    >>> import shoal
    >>> people = {"age": [30, 31, 40, 41], "sex": ["f", "f", "m", "m"], "ill": ["flu", "gout", "flu", "gout"]}
    >>> schema = {
    ...     "age": {"role": "quasi-identifier", "type": "numeric"},
    ...     "sex": {"role": "quasi-identifier", "type": "categorical"},
    ...     "ill": {"role": "sensitive"},
    ... }
    >>> release = shoal.anonymize(people, schema, k=2, l=2, method="mondrian")
    >>> sorted(set(release.table["age"].to_pylist()))
    ['[30..31]', '[40..41]']

    Where the schema says whose record it is (role `person`), k people look alike, and ℓ counts people too.

    What a group gives away of the sensitive columns is bounded by `l` (with `diversity`: "frequency", the default,
    "entropy", "distinct" or "recursive", which needs `c`), `t` and `alpha`; each is a number for all sensitive columns
    or one per column: `l={"diagnosis": 3}`; `alpha` may name values: `alpha={"diagnosis": {"HIV": 0.2}}`. All that are
    given hold together; docs/privacy.md explains them.

    `data` is a path, a table of a database, a frame or a list of dicts (docs/schema.md lists them all); `schema` a
    Schema, the path of one, or a dict. `method` is how groups are found, with its own options:

    - "shoal" (the default): `effort` ("fast", "balanced", "thorough"), `max_seconds`
    - "mondrian": `relaxed`, `cut` ("best" or "median")
    - "k-member": `class_penalty`
    - "sequential": `start_share`, `split_share`, `restarts`, `integer_split`, `mi_weight`
    - "agglomerative": none
    - "hilbert": `rescale`

    `measure` is what it tries to lose least of: "il" (the default), "lm", "tree", "mi", and for "shoal" and
    "sequential" also "pmi"; docs/measures.md explains them. `seed` makes the grouping (not
    the order of the rows) repeatable; `optimize` ("refine" or "breaking") lowers the loss afterwards; `suppress` is the
    share of records that may be withheld where that saves the others more than it costs, each counted as a row of
    nothing but `*`; `bounds` adds `_lo` and `_hi` columns beside numbers and dates; `strict` refuses columns that would
    act as keys, where otherwise a warning says so. `workers`: how many threads work side by side (all cores, if
    unsaid); the groups are the same for any number.

    Guarantee: the release has passed `shoal.verify` for k and all that was asked. If it had not, VerificationError is
    raised instead.
    """
    named = {
        "effort": effort, "max_seconds": max_seconds, "relaxed": relaxed, "cut": cut, "class_penalty": class_penalty,
        "start_share": start_share, "split_share": split_share, "restarts": restarts, "integer_split": integer_split,
        "mi_weight": mi_weight, "rescale": rescale,
    }  # fmt: skip
    options = {**{name: value for name, value in named.items() if value is not None}, **others}
    check_parameters(k, method, measure, options, seed, optimize)
    suppress, workers = check_suppress(suppress, measure), checked(workers)
    k = int(k)
    if not isinstance(schema, Schema):
        schema = Schema.load(schema)
    requirements = Requirements(k, l, t, diversity, c, alpha)
    rules = requirements.rules(schema)
    with using(workers):
        progress.stage("reading")
        table, file = read_for(schema, data)
        progress.stage("encoding")
        records = encode(table, schema, file)
        del table
        warn_of_several_records(records)
        warn_of_keys(records, strict=strict)
        warn_of_outliers(records)
        partition = cluster(
            records,
            k,
            rules,
            method=method,
            measure=measure,
            seed=seed,
            progress=progress,
            options=options,
            optimize=optimize,
        )
        kept = None
        if suppress:
            kept, partition = withhold(records, partition, suppress, measure=measure, seed=seed, progress=progress)
        given = {"optimize": optimize, "suppress": suppress or None}
        return released(
            records,
            partition,
            requirements,
            kept=kept,
            method=method,
            measure=measure,
            bounds=bounds,
            progress=progress,
            options={**options, **{name: value for name, value in given.items() if value is not None}},
            file=file,
        )
