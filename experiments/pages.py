"""The pages: one for each paper, and one with every claim. They are made from the measurements alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments import results
from experiments.study import Paper, Row, Study, Verdict
from shoal.progress import SILENT, Progress
from shoal.report.charts import save_chart

INDEX = "README.md"
Measured = tuple[Study, list[Row]]


def write_pages(papers: Sequence[Paper], folder: Path, progress: Progress = SILENT) -> list[Path]:
    """Figures and pages of all that has been measured in a folder; the files that were written."""
    written: list[Path] = []
    for paper in papers:
        for study in paper.studies:
            rows = results.read(folder, study)
            if not rows:
                continue
            written.append(folder / f"{study.name}.csv")
            progress.stage(f"drawing {study.title}")
            for figure in study.figures:
                save_chart(figure.draw(rows), folder / f"{figure.name}.svg")
                written.append(folder / f"{figure.name}.svg")
    for name, text in pages(papers, folder).items():
        results.replace_file(folder / name, text)
        written.append(folder / name)
    return [*written, folder / results.ABOUT]


def pages(papers: Sequence[Paper], folder: Path) -> dict[str, str]:
    """The text of each page, by the name of its file."""
    measured = []
    for paper in papers:
        studies = [(study, rows) for study in paper.studies if (rows := results.read(folder, study))]
        if studies:
            measured.append((paper, studies))
    texts = {f"{paper.name}.md": _page(paper, studies, folder) for paper, studies in measured}
    left = [f"{study.title} ({paper.name})" for paper in papers for study in paper.studies]
    done = [f"{study.title} ({paper.name})" for paper, studies in measured for study, _ in studies]
    return {**texts, INDEX: _index(measured, [title for title in left if title not in done], folder)}


def judged(papers: Sequence[Paper], folder: Path) -> list[dict[str, str]]:
    """Every claim of what has been measured, and what the measurements say of it."""
    found = []
    for paper in papers:
        for study in paper.studies:
            rows = results.read(folder, study)
            for claim in study.claims if rows else ():
                said, words = claim.judge(rows)
                facts = {"paper": paper.name, "where": claim.where, "claim": claim.text}
                found.append({**facts, "verdict": str(said), "measured": words})
    return found


def _page(paper: Paper, studies: Sequence[Measured], folder: Path) -> str:
    known = results.about(folder)
    parts = [f"# {paper.title}", paper.introduction.strip(), *_trial(known)]
    for study, rows in studies:
        parts += [f"## {study.title}", study.setting.strip()]
        parts += [f"![{figure.caption}]({figure.name}.svg)\n\n{figure.caption}" for figure in study.figures]
        if study.table is not None:
            parts.append(study.table(rows))
        parts.append(f"All measurements: [{study.name}.csv]({study.name}.csv). {_measured_on(known, study)}")
        if study.claims:
            lines = ["| claim | where | | measured |", "| --- | --- | --- | --- |"]
            for claim in study.claims:
                found, words = claim.judge(rows)
                why = f" {claim.why}" if claim.why and found is not Verdict.HOLDS else ""
                lines.append(f"| {claim.text} | {claim.where} | **{found}** | {words}{why} |")
            parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _index(measured: Sequence[tuple[Paper, Sequence[Measured]]], left: Sequence[str], folder: Path) -> str:
    known = results.about(folder)
    lines = ["| claim | paper | where | |", "| --- | --- | --- | --- |"]
    counts = {ours: dict.fromkeys(Verdict, 0) for ours in (False, True)}
    for paper, studies in measured:
        for study, rows in studies:
            for claim in study.claims:
                found, _ = claim.judge(rows)
                counts[claim.is_ours][found] += 1
                shown = claim.chart or (study.figures[0].name if study.figures else "")
                link = f"[{claim.where}]({shown}.svg)" if shown else f"[{claim.where}]({study.name}.csv)"
                lines.append(f"| {claim.text} | [{paper.name}]({paper.name}.md) | {link} | **{found}** |")
    theirs, ours = (", ".join(f"{count} × {found}" for found, count in each.items()) for each in counts.values())
    parts = [
        "# The papers' experiments, measured again",
        "The methods of shoal come from four papers. Every figure and table that they report on Adult is measured here "
        "with this implementation, in the papers' settings, and with the method `shoal` beside theirs; what one of "
        "them leaves as a conjecture is tested. The pages are made by `make papers` from the measurements "
        "beside them, and say on what machine, when and with what code those were made. Times depend on the machine; "
        "compare them with each other." + _other_kernels(known),
        *_trial(known),
        "\n".join(f"- [{paper.title}]({paper.name}.md)" for paper, _ in measured),
        *(["Not measured here yet: " + "; ".join(left) + "."] if left else []),
        "## Every claim",
        f"Of the papers' claims: {theirs}. Of those that we add (*ours*): {ours}. A verdict is a rule in code, applied "
        "to the measurements; the papers' own pages say what was measured, and why where it differs.",
        "\n".join(lines),
    ]
    return "\n\n".join(parts) + "\n"


def _trial(known: results.About) -> list[str]:
    return ["A quick run with small sizes: read it as a trial."] if known.quick else []


def _other_kernels(known: results.About) -> str:
    codes = {facts.get("kernels") for machines in known.machines.values() for facts in machines}
    if len(codes) < 2:
        return ""
    return (
        " Not all were made with the same kernels: methods may have changed in between, and lose a little more or less."
    )


def _measured_on(known: results.About, study: Study) -> str:
    """The machine and the day; several, where a run was interrupted."""
    found = []
    for facts in known.machines.get(study.name, []):
        code = f"shoal {facts['shoal']}" + (f", kernels {facts['kernels']}" if "kernels" in facts else "")
        found.append(f"{facts['machine']} ({facts['system']}, Python {facts['python']}, {code}), {facts['date']}")
    return f"Measured on one core of {'; then of '.join(found)}." if found else ""
