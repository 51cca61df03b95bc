"""Everything that a user can do, once, on real tables: run by tests that count what is compiled meanwhile."""

EVERYTHING = """
import sys, warnings
from pathlib import Path
import numpy as np, pyarrow as pa, shoal
from shoal.cluster import METHODS
from shoal.maintain import MAINTAINERS
warnings.simplefilter("ignore")
folder = Path(sys.argv[1])
adult, schema = shoal.datasets.adult("train").slice(0, 1200), shoal.datasets.adult_schema()
census, census_schema = shoal.datasets.census(600, 3), shoal.datasets.census_schema()
for method, known in METHODS.items():
    for measure in known.measures:
        rows = 200 if measure == "pmi" else 1200
        shoal.anonymize(adult.slice(0, rows), schema, k=5, method=method, measure=measure, seed=1)
    shoal.anonymize(adult, schema, k=5, method=method, l=1.1, t=0.5, seed=1)
    shoal.anonymize(census, census_schema, k=5, method=method, l={"diagnosis": 2}, diversity="distinct", suppress=0.02)
for optimize in ("refine", "breaking"):
    shoal.anonymize(adult, schema, k=5, method="mondrian", optimize=optimize, seed=1)
shoal.anonymize(shoal.datasets.adult("train").slice(0, 6000), schema, k=10, seed=1)
whose = pa.array([str(row // 2) for row in range(600)])
people = shoal.Schema(columns={**census_schema.columns, "whose": shoal.Column(role="person")})
shoal.anonymize(census.append_column("whose", whose), people, k=3, l={"diagnosis": 1.5}, seed=1)
release = shoal.anonymize(census, census_schema, k=5, seed=1)
file = release.write(folder / "release.csv")
shoal.verify(file, census_schema, 5)
shoal.measure(file, census_schema, population=census)
shoal.compare(adult.slice(0, 500), schema, k=[5], methods=["mondrian", "shoal"])
number = shoal.Column(role="quasi-identifier", type="numeric")
for rows, columns, k in ((2, 1, 2), (6, 1, 3), (12, 1, 2), (9, 2, 9), (40, 3, 4)):  # hardly any groups, or one
    tiny = pa.table({str(j): [(7 * i + j) % 10 for i in range(rows)] for j in range(columns)})
    ill = pa.array(["flu" if i % 2 else "gout" for i in range(rows)])
    tiny = tiny.append_column("id", pa.array(range(rows))).append_column("ill", ill)
    named = {"id": shoal.Column(role="key"), "ill": shoal.Column(role="sensitive")}
    tiny_schema = shoal.Schema(columns={**{str(j): number for j in range(columns)}, **named})
    for method, known in METHODS.items():
        for measure in known.measures:
            shoal.anonymize(tiny, tiny_schema, k=k, method=method, measure=measure, seed=1)
        shoal.anonymize(tiny, tiny_schema, k=k, l=1.0, method=method, suppress=0.2, optimize="refine", seed=1)
    for maintainer in MAINTAINERS:  # from nothing, and back to nothing
        with shoal.Vault.create(":memory:", tiny_schema, k=k, maintainer=maintainer) as vault:
            vault.insert(tiny)
            vault.optimize()
            vault.delete(tiny["id"])
            vault.insert(tiny)
for maintainer, known in MAINTAINERS.items():
    rules = {"l": {"diagnosis": 1.5}} if known.keeps_rules else {}
    with shoal.Vault.create(folder / f"{maintainer}.vault", census_schema, k=4, data=census.slice(0, 400),
                            republication="none", maintainer=maintainer, **rules) as vault:
        vault.insert(census.slice(400, 150))
        vault.publish(folder / f"{maintainer}-1.csv")
        vault.delete(census["person_id"].slice(0, 120))
        vault.update(census.slice(150, 50))
        vault.optimize()
        vault.publish(folder / f"{maintainer}-2.csv")
        vault.rebase(k=5)
    with shoal.Vault.open(folder / f"{maintainer}.vault") as vault:
        vault.insert(census.slice(550, 50))
"""
