"""Release: a published table in the holder's hands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import InternalError
from shoal.release.manifest import rounded
from shoal.release.write import check_target, write_release

Integer = TypeVar("Integer", bound=np.integer)


class Release:
    """A generalized, shuffled, verified table.

    `table` and `manifest` are what the recipient gets. `labels` (the group of each input row, in input order) and the
    exact measures stay with the holder.

    Guarantee: `table` passed the independent verifier for `k` before this object existed. Labels are never printed,
    pickled or written.
    """

    def __init__(
        self,
        table: pa.Table,
        *,
        manifest: dict[str, object],
        labels: NDArray[np.int32],
        order: NDArray[np.int64],
        measures: dict[str, float],
        source: str | None = None,
    ) -> None:
        self.table = table
        self.manifest = manifest
        self._labels: NDArray[np.int32] | None = labels
        self._order: NDArray[np.int64] | None = order  # which input row each published row was
        self._measures: dict[str, float] | None = measures
        self._source = source

    @property
    def k(self) -> int:
        return int(self.manifest["k"])  # type: ignore[call-overload]  # the manifest is JSON

    @property
    def labels(self) -> NDArray[np.int32]:
        """The group of each input row, in input order. The holder's secret: whoever has it can undo the shuffle."""
        return self._held(self._labels)

    def trace(self, rows: Sequence[int] | NDArray[np.integer]) -> pa.Table:
        """The published form of these input rows (counted from 0), in this order. For the holder's eyes only."""
        order = self._held(self._order)
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        return self.table.take(pa.array(places[np.asarray(rows)]))

    def _held(self, secret: NDArray[Integer] | None) -> NDArray[Integer]:
        if secret is None:
            raise InternalError("what links rows to records stays with the holder: this copy does not have it.")
        return secret

    def measures(self, public: bool = False) -> dict[str, float]:
        """What was lost. `public=True`: what the manifest says, to four digits, for anybody to see."""
        if self._measures is None or public:
            published: dict[str, float] = dict(self.manifest["measures"])  # type: ignore[call-overload]
            return published
        return dict(self._measures)

    def write(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the table as `.csv` or `.parquet`, and its manifest beside it (`….manifest.json`)."""
        path = Path(path)
        check_target(path, force=force, source=self._source)
        write_release(self.table, self.manifest, path, force=force)
        return path

    def __repr__(self) -> str:
        loss = rounded(self.measures(public=True)["il_share"])
        return (
            f"<Release: {self.table.num_rows} rows, k = {self.k}, "
            f"{self.manifest['equivalence_classes']} equivalence classes, loss {loss:.1%}>"
        )

    def __getstate__(self) -> dict[str, Any]:
        # A pickle may travel: it carries what the recipient may have, and nothing else.
        return {**self.__dict__, "_labels": None, "_order": None, "_measures": None, "_source": None}
