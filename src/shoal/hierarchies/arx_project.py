"""ARX's projects (.deid): what each column is, and its hierarchy, as far as they are stored in the open.

A project is a ZIP archive. `input/definition.xml` says role and type of each column, `input/hierarchies` has their
hierarchies. What is in Java's own format (privacy models, utility measures, results) is not read, and said so.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from shoal.errors import HierarchyError, SchemaError
from shoal.hierarchies.declared import DeclaredTree, from_bytes

DEFINITION = "definition.xml"
LARGEST = 64 << 20  # bytes of a part: a definition is small, a hierarchy has a row per value
ROLES = {
    "QUASIIDENTIFYING": "quasi-identifier",
    "IDENTIFYING": "identifier",
    "INSENSITIVE": "insensitive",
    "SENSITIVE": "sensitive",
}
TYPES = {"integer": "numeric", "decimal": "numeric", "date": "date", "date/time": "date"}
# Java's letters for dates, as far as days are written with them.
JAVA = [("yyyy", "%Y"), ("yy", "%y"), ("MMMM", "%B"), ("MMM", "%b"), ("MM", "%m"), ("dd", "%d"), ("HH", "%H"),
        ("mm", "%M"), ("ss", "%S")]  # fmt: skip


@dataclass
class Project:
    """Columns as a schema has them; hierarchies by column; what could not be taken over, in words."""

    columns: dict[str, dict[str, object]] = field(default_factory=dict)
    trees: dict[str, DeclaredTree] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_project(path: Path) -> Project:
    """What a project says of its columns."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, str(path))
    except FileNotFoundError:
        raise SchemaError("the project does not exist.", file=str(path)) from None
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, ValueError):
        pass
    raise SchemaError("is not a project of ARX, or is damaged.", file=str(path))


def _read(archive: zipfile.ZipFile, file: str) -> Project:
    names = archive.namelist()
    definition = next((name for name in ("input/" + DEFINITION, DEFINITION) if name in names), None)
    if definition is None:
        raise SchemaError(
            "the project does not say what its columns are: it was saved before they got their types.",
            hint="Open it in ARX, give every column a type, and save it again.",
            file=file,
        )
    folder = definition.removesuffix(DEFINITION)
    project = Project()
    for assignment in _xml(_part(archive, definition, file), file):
        told = {_plain(child.tag): (child.text or "").strip() for child in assignment}
        if told.get("name"):
            _column(project, told, archive, folder, file)
    if not project.columns:
        raise SchemaError("the project names no columns.", file=file)
    if "input/config.dat" in names or "input/config.xml" in names:
        project.notes.append("privacy models and settings of the project are not taken over: say k and the rest anew")
    return project


def _column(project: Project, told: dict[str, str], archive: zipfile.ZipFile, folder: str, file: str) -> None:
    name = told["name"]
    kind = re.sub(r"[^A-Z]", "", told.get("type", "").upper()).removesuffix("ATTRIBUTE")
    column: dict[str, object] = {"role": ROLES.get(kind, "identifier")}
    if kind not in ROLES:
        project.notes.append(f"column {name!r} has a type that is not known here: it is an identifier")
    if column["role"] in ("quasi-identifier", "sensitive"):
        column["type"] = TYPES.get(told.get("datatype", "").lower(), "categorical")
        form = _date_form(told.get("format", ""))
        if column["type"] == "date" and form is not None:
            column["format"] = form
    if told.get("ref") and column["role"] in ("quasi-identifier", "sensitive"):
        _hierarchy(project, name, column, told, archive, folder + told["ref"], file)
    if told.get("max", "All") not in ("All", ""):
        project.notes.append(
            f"column {name!r} may be generalized up to level {told['max']} in ARX; here there is no limit"
        )
    if "microaggregationfunction" in told:
        project.notes.append(f"column {name!r} is aggregated in ARX; here it is generalized")
    project.columns[name] = column


def _hierarchy(
    project: Project,
    name: str,
    column: dict[str, object],
    told: dict[str, str],
    archive: zipfile.ZipFile,
    part: str,
    file: str,
) -> None:
    if part not in archive.namelist():
        project.notes.append(f"the hierarchy of column {name!r} is not in the project")
        return
    try:
        project.trees[name] = from_bytes(_part(archive, part, file), f"{file}/{part}")
    except HierarchyError as error:
        project.notes.append(f"the hierarchy of column {name!r} cannot be used: {error.message}")
        return
    column["type"] = "categorical"  # ARX's labels are texts, whatever the values are
    column.pop("format", None)
    least = told.get("min", "All")
    if column["role"] == "quasi-identifier" and least.isdigit() and int(least):
        column["min_level"] = int(least)


def _part(archive: zipfile.ZipFile, name: str, file: str) -> bytes:
    if archive.getinfo(name).file_size > LARGEST:
        raise SchemaError(f"{name} of the project is too large to be what it should be.", file=file)
    return archive.read(name)


def _xml(content: bytes, file: str) -> ET.Element:
    """The root of a document without declarations of its own: those can be made to grow without end."""
    if b"<!DOCTYPE" not in content and b"<!ENTITY" not in content:
        try:
            return ET.fromstring(content)  # noqa: S314  # without declarations there is nothing to expand
        except ET.ParseError:
            pass
    raise SchemaError(f"{DEFINITION} of the project cannot be read.", file=file)


def _plain(tag: str) -> str:
    return tag.rpartition("}")[2].lower()


def _date_form(java: str) -> str | None:
    form = java
    for letters, sign in JAVA:
        form = form.replace(letters, sign)
    return None if not form or re.search(r"(?<!%)[A-Za-z]", form) or form == "%Y-%m-%d" else form
