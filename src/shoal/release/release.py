"""Release: a published table in the holder's hands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.addresses import A_PATH, may_be_address
from shoal.errors import InternalError, OutputError, ParameterError, one_of
from shoal.files import drafting
from shoal.measures import Report
from shoal.privacy import Rule
from shoal.release.manifest import Manifest
from shoal.release.notebook import release_html
from shoal.release.spreadsheets import for_spreadsheets
from shoal.release.write import check_target, write_release
from shoal.sources.extras import needed

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
        public: Report,
        labels: NDArray[np.int32] | None = None,
        order: NDArray[np.int64] | None = None,
        holder: Callable[[], Report] | None = None,
        sources: Sequence[str] = (),
        notes: Sequence[str] = (),
        number: int | None = None,
        loss: float | None = None,
    ) -> None:
        self.table = table
        self.manifest = manifest
        self.number = number  # in the history of its vault
        self.loss = loss  # of a vault's: on the domains of its epoch, as the history and `diff` have it
        self._labels = labels
        self._order = order  # which input row each published row was
        self._public = public
        self._holder = holder  # called when it is first asked for
        self._sources = sources  # the files that it was made from
        self.notes = list(notes)  # what the holder should know of it; not published

    @property
    def k(self) -> int:
        return Manifest.from_json(self.manifest).k

    @property
    def rules(self) -> list[Rule]:
        """What every class satisfies besides k."""
        return list(Manifest.from_json(self.manifest).rules)

    @property
    def labels(self) -> NDArray[np.int32]:
        """The group of each input row, in input order; −1: it was withheld.

        The holder's secret: whoever has it can undo the shuffle.
        """
        return self._held(self._labels)

    def groups_of_rows(self) -> NDArray[np.int32]:
        """The group of each published row. The holder's secret as well."""
        return self._held(self._labels)[self._held(self._order)]

    def trace(self, rows: Sequence[int] | NDArray[np.integer]) -> pa.Table:
        """The published form of these input rows (counted from 0), in this order. For the holder's eyes only.

        Of a row that was withheld there is none, and this is an error.
        """
        order = self._held(self._order)
        row_of = np.full(len(self._held(self._labels)), -1, np.int64)
        row_of[order] = np.arange(len(order))
        wanted = row_of[np.asarray(rows)]
        if (wanted < 0).any():
            raise ParameterError("not all of these rows were published.", hint="`labels` is −1 for those withheld.")
        return self.table.take(pa.array(wanted))

    def _held(self, secret: NDArray[Integer] | None) -> NDArray[Integer]:
        if secret is None:
            raise InternalError("what links rows to records stays with the holder: this copy does not have it.")
        return secret

    def measures(self, public: bool = False, *, by: str = "total") -> dict[str, Any]:
        """What was lost: `{"il": …, "lm": …, …}`; `shoal.measures.MEANINGS` says what each means.

        The holder's view has the exact losses and those that need the originals; `public=True` what anybody can tell
        from the release, which is what the manifest says (and all that a pickled release can tell). The holder's are
        computed when they are first asked for, which takes a while for a large table. `by="share"`: as a
        share of the worst case; `by="column"`: per column, as an average per row.
        """
        report = self.report(public=public)
        views: dict[str, dict[str, Any]] = {"total": report.totals, "share": report.shares, "column": report.columns}
        if by not in views:
            raise ParameterError(one_of("by", by, views))
        return dict(views[by])

    def report(self, *, public: bool = False) -> Report:
        """All measures with their shares, columns, and what could not be told."""
        if public or self._holder is None:
            return self._public
        return self._holder()

    def write(self, path: str | Path, *, force: bool = False, neutralize_formulas: bool = False) -> Path:
        """Write the table as `.csv` or `.parquet`, and its manifest beside it (`….manifest.json`).

        `neutralize_formulas`: texts of a CSV that a spreadsheet would run get an apostrophe before them.
        """
        return self._write(path, force=force, neutralize_formulas=neutralize_formulas)

    def _write(
        self,
        path: str | Path,
        *,
        force: bool,
        neutralize_formulas: bool,
        drafts: Callable[[Path], AbstractContextManager[str]] = drafting,
    ) -> Path:
        if may_be_address(path):
            raise OutputError("a release is written to a file, and this looks like the URL of a database.", hint=A_PATH)
        path = Path(path)
        check_target(path, force=force, sources=self._sources)
        table, facts = for_spreadsheets(self.table, self.manifest, path, neutralize=neutralize_formulas)
        write_release(table, facts, path, force=force, drafts=drafts)
        return path

    def to_pandas(self) -> Any:
        """The published table as a DataFrame of pandas."""
        needed("pandas", None, "`to_pandas`")
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """The published table as a DataFrame of polars."""
        return needed("polars", None, "`to_polars`").from_arrow(self.table)

    def __repr__(self) -> str:
        rows, classes = self.table.num_rows, self._public.classes
        return (
            f"<Release{'' if self.number is None else f' {self.number}'}: {rows} {'row' if rows == 1 else 'rows'}, "
            f"{f'{self._public.withheld} withheld, ' if self._public.withheld else ''}k = {self.k}, "
            f"{classes} equivalence {'class' if classes == 1 else 'classes'}, "
            f"loss {self._public.shares.get('il', 0):.1%}>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the facts, and what each column has lost as bars."""
        return release_html(repr(self).strip("<>"), self._public.columns.get("il", {}), self.notes)

    def __getstate__(self) -> dict[str, Any]:
        # A pickle may travel: it carries what the recipient may have, and nothing else.
        own: dict[str, Any] = {
            "_labels": None,
            "_order": None,
            "_holder": None,
            "_sources": (),
            "notes": [],
            "loss": None,
        }
        return {**self.__dict__, **own}
