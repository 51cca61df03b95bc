"""Writes the tables of tests/inference/aside, made when the rules of `shoal schema infer` were done: a check.

python -m tools.build_inference_tables_aside [FOLDER]
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Callable
from pathlib import Path

from tools.build_inference_tables import Rows, comma, day, some

FOLDER = Path(__file__).parents[1] / "tests" / "inference" / "aside"


def survey(chance: random.Random) -> Rows:
    """A US health survey by telephone, with the short names that such surveys have."""
    rows = [
        "SEQNO _STATE IMONTH SEXVAR _AGE80 EDUCA EMPLOY1 INCOME3 MARITAL CHILDREN HTIN4 WTKG3 GENHLTH "
        "DIABETE4 SMOKE100 _RACE VETERAN3 ZIPCODE MENTHLTH".split()
    ]
    for number in range(320):
        rows.append(
            [
                f"2022{number + 1:06d}",
                some(chance, "1 2 4 5 6 8 9 12 13 17 25 36 48"),
                some(chance, [f"{month:02d}" for month in range(1, 13)]),
                some(chance, "1 2"),
                str(chance.randrange(18, 81)),
                some(chance, "1 2 3 4 5 6 9"),
                some(chance, "1 2 3 4 5 6 7 8 9"),
                some(chance, "1 2 3 4 5 6 7 8 9 10 11 77 99"),
                some(chance, "1 2 3 4 5 6 9"),
                some(chance, "0 1 2 3 4 5 99", (50, 18, 16, 8, 4, 2, 2)),
                str(round(chance.gauss(67, 4))),
                f"{chance.gauss(82, 18):.2f}",
                some(chance, "1 2 3 4 5 9"),
                some(chance, "1 2 3 4 7 9"),
                some(chance, "1 2 7 9"),
                some(chance, "1 2 3 4 5 6 7 8 9"),
                some(chance, "1 2 9", (10, 88, 2)),
                some(chance, "02139 10025 30303 60601 73301 94110"),
                str(chance.randrange(1, 31)) if chance.random() < 0.4 else "88",
            ]
        )
    return rows


def pension(chance: random.Random) -> Rows:
    """A Portuguese table of pensions: semicolons, thousands with points, commas for cents."""
    rows = [
        "num_beneficiario nif nome_completo data_nasc genero distrito concelho codigo_postal estado_civil "
        "regime data_inicio_pensao valor_mensal anos_contribuicao grau_incapacidade nacionalidade "
        "agregado_familiar".split()
    ]
    for number in range(210):
        amount = chance.lognormvariate(6.6, 0.6)
        euros, cents = int(amount), int(amount * 100) % 100
        rows.append(
            [
                f"11{number * 17 + 100003:07d}",
                f"2{chance.randrange(10**7, 10**8):08d}",
                some(chance, ["Rui Sá", "Ana Reis", "Inês Pó", "Zé Mota", "Eva Luz"]),
                day(chance, 1930, 1975, "%d-%m-%Y"),
                some(chance, "Masculino Feminino"),
                some(chance, "Lisboa Porto Braga Évora Faro"),
                some(chance, "Sintra Gaia Braga Évora Loulé Oeiras"),
                some(chance, "2710-001 4400-111 4700-030 7000-508 8100-320"),
                some(chance, "solteiro casado viúvo divorciado"),
                some(chance, "velhice invalidez sobrevivência"),
                day(chance, 1998, 2022, "%d-%m-%Y"),
                f"{euros // 1000}.{euros % 1000:03d},{cents:02d}" if euros >= 1000 else f"{euros},{cents:02d}",
                str(chance.randrange(5, 46)),
                some(chance, "0 30 45 60 80", (70, 8, 8, 8, 6)),
                some(chance, "portuguesa brasileira angolana ucraniana desconhecida"),
                some(chance, "1 2 3 4 5 6"),
            ]
        )
    return rows


def insurance(chance: random.Random) -> Rows:
    """A French insurer's claims: several rows per insured person."""
    rows = [
        "numero_sinistre numero_assure sexe annee_naissance code_postal ville date_sinistre type_sinistre "
        "montant_rembourse franchise situation_familiale csp vehicule_immatriculation puissance_fiscale "
        "bonus_malus telephone".split()
    ]
    for number in range(260):
        rows.append(
            [
                f"S{2023000 + number}",
                f"A{chance.randrange(110) + 5000}",
                some(chance, "H F"),
                str(chance.randrange(1940, 2004)),
                some(chance, "75011 69003 13001 06000 59000 01000"),
                some(chance, "Paris Lyon Marseille Nice Lille Bourg"),
                day(chance, 2023, 2023, "%d/%m/%Y %H:%M"),
                some(chance, ["vol", "bris de glace", "collision", "incendie"]),
                comma(chance.lognormvariate(7, 1), 2),
                some(chance, "0 150 300 500"),
                some(chance, ["marié", "célibataire", "veuf", "inconnu"]),
                some(chance, "1 2 3 4 5 6 7 8"),
                "".join(chance.choices("ABCDEFG", k=2)) + f"-{chance.randrange(100, 999)}-{chance.choice('ABC')}Z",
                some(chance, "4 5 6 7 8 9 11 14"),
                f"{chance.uniform(0.5, 1.5):.2f}",
                " ".join(["0" + some(chance, "1 2 3 4 6 7"), *(str(chance.randrange(10, 99)) for _ in range(4))]),
            ]
        )
    return rows


def attitudes(chance: random.Random) -> Rows:
    """A German social survey, coded."""
    rows = [
        "respid bundesland gemeindegroesse geschlecht alter familienstand schulabschluss erwerbsstatus isco08 "
        "konfession parteipraeferenz haushaltsgroesse nettoeinkommen zufriedenheit datum gewichtung "
        "staatsangehoerigkeit".split()
    ]
    for number in range(300):
        rows.append(
            [
                str(number + 1),
                some(chance, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"),
                some(chance, "1 2 3 4 5 6 7"),
                some(chance, "1 2 3", (48, 50, 2)),
                str(chance.randrange(18, 95)) if chance.random() > 0.03 else "-32",
                some(chance, "1 2 3 4 5 -9"),
                some(chance, "1 2 3 4 5 6 7"),
                some(chance, "1 2 3 4"),
                some(chance, "1120 2310 2411 3118 4110 5223 7115 8322 9112 -10"),
                some(chance, "1 2 3 4 5 6"),
                some(chance, "1 2 3 4 6 42 90 -8"),
                some(chance, "1 2 3 4 5"),
                str(round(chance.lognormvariate(7.6, 0.5), -1)).removesuffix(".0"),
                some(chance, "0 1 2 3 4 5 6 7 8 9 10"),
                day(chance, 2021, 2021, "%d.%m.%y"),
                comma(chance.uniform(0.4, 2.1), 3),
                some(chance, "deutsch türkisch polnisch k.A."),
            ]
        )
    return rows


def jobseekers(chance: random.Random) -> Rows:
    """A Spanish register of jobseekers, with tabs."""
    rows = [
        "id_demandante curp nombre_y_apellidos edad sexo municipio_residencia nivel_estudios ocupacion_cno "
        "fecha_alta meses_en_paro prestacion importe_prestacion discapacidad_grado pais_nacimiento "
        "permiso_conducir motivo_baja".split()
    ]
    for number in range(240):
        rows.append(
            [
                f"D{number + 70001}",
                "".join(chance.choices("ABCDEFGHIJ", k=4))
                + f"{chance.randrange(500101, 991231)}H{chance.randrange(100)}",
                some(chance, ["Luis Gil", "Eva Sanz", "Noa Vidal", "Hugo Rey"]),
                str(chance.randrange(16, 66)),
                some(chance, "hombre mujer"),
                some(chance, "Sevilla Huelva Málaga Jaén"),
                some(chance, ["primaria", "secundaria", "FP", "universidad"]),
                some(chance, "2111 3315 4301 5120 6110 7121 8412 9210"),
                day(chance, 2020, 2023, "%d/%m/%Y"),
                str(int(chance.expovariate(0.1))),
                some(chance, ["contributiva", "subsidio", "ninguna"]),
                comma(chance.uniform(0, 1200), 2) if chance.random() > 0.3 else "sin datos",
                some(chance, "0 33 65", (90, 6, 4)),
                some(chance, ["España", "Marruecos", "Rumanía", "Ecuador"]),
                some(chance, "S N"),
                some(chance, ["", "colocación", "no renovación"], (60, 30, 10)),
            ]
        )
    return rows


TABLES: dict[str, tuple[Callable[[random.Random], Rows], str, str]] = {
    "us-health-survey": (survey, ",", "utf-8"),
    "pt-pensions": (pension, ";", "cp1252"),
    "fr-claims": (insurance, ";", "utf-8"),
    "de-attitudes": (attitudes, ";", "utf-8"),
    "es-jobseekers": (jobseekers, "\t", "utf-8"),
}


def build(folder: Path) -> None:
    for name, (make, delimiter, encoding) in TABLES.items():
        with (folder / f"{name}.csv").open("w", encoding=encoding, newline="") as file:
            csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(make(random.Random(name)))


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
