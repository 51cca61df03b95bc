"""shoal on Apache Spark: tables that no single machine holds (docs/spark.md). Needs the extra `spark`, and Java.

`anonymize` makes a release, `verify` and `measure` look at one, `into_vault` applies the micro-batches of a stream to a
vault. What is done with each part of a table is in `shoal.regions`; here is what brings the parts to where it is done.

| file | |
| --- | --- |
| `anonymizing.py` | the whole of it: values → codes → regions → groups → rounds → release → verified |
| `values.py` | the different values of every column and their counts: code books, distributions |
| `encoding.py` | rows to codes, on the executors |
| `cutting.py` | regions: a sample, cuts, exact counts |
| `grouping.py` | groups in every region, and rounds |
| `releasing.py` | published rows, in an order that tells nothing |
| `faults.py` | what executors find wrong, said here |
| `parcels.py` | how rows travel: those that go from one task to one part, as one value |
| `stores.py` | files and stores that Spark reads and writes |
| `kernels.py` | compiled kernels travel to the executors: none of them compiles |
| `verifying.py`, `measuring.py` | from released rows alone |
| `streaming.py` | Structured Streaming into a vault |
| `sessions.py` | what must be there: PySpark, Java |
"""

from __future__ import annotations

from shoal.spark.sessions import needs_pyspark

needs_pyspark()

from shoal.spark.anonymizing import anonymize  # noqa: E402
from shoal.spark.measuring import class_sizes, measure  # noqa: E402
from shoal.spark.sessions import session  # noqa: E402
from shoal.spark.streaming import into_vault  # noqa: E402
from shoal.spark.verifying import verify  # noqa: E402

__all__ = ["anonymize", "class_sizes", "into_vault", "measure", "session", "verify"]
