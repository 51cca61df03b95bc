"""Writes the tables of tests/inference/tables: made-up people, in files as offices and hospitals hand them out.

    python tools/build_inference_tables.py [FOLDER]

Each differs from the others in language, separators, encoding and in how it writes dates, codes and what is missing.
What each column is (NAME.toml beside NAME.csv) was written by hand.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "tests" / "inference" / "tables"
Rows = list[list[str]]


def day(chance: random.Random, first: int, last: int, form: str) -> str:
    start = date(first, 1, 1).toordinal()
    return date.fromordinal(chance.randrange(start, date(last, 12, 31).toordinal())).strftime(form)


def some(chance: random.Random, values: str | Sequence[str], weights: Sequence[float] | None = None) -> str:
    listed = values.split() if isinstance(values, str) else list(values)
    return chance.choices(listed, weights)[0]


def comma(number: float, digits: int = 1) -> str:
    return f"{number:.{digits}f}".replace(".", ",")


def hospital(chance: random.Random) -> Rows:
    """A German discharge extract: semicolons, decimal commas, 31.12.1950, Windows' Latin-1."""
    rows = [
        "Fallnummer Patientennummer Nachname Vorname Geburtsdatum Geschlecht PLZ Wohnort Aufnahmedatum Verweildauer "
        "Fachabteilung Hauptdiagnose Nebendiagnose Krankenkasse Größe_cm Gewicht_kg CRP Entlassungsgrund".split()
    ]
    for number in range(220):
        rows.append(
            [
                f"2023{number + 10417:06d}",
                str(700000 + chance.randrange(150)),
                some(chance, "Müller Schmidt Weiß Köhler Jäger Groß Vogt Kühn Böhm Lang Seidel Krüger"),
                some(chance, "Jürgen Anna Björn Käthe Paul Sören Maria Zoë Ulf Inge"),
                day(chance, 1930, 2010, "%d.%m.%Y"),
                some(chance, "m w d", (48, 50, 2)),
                some(chance, "01067 01069 04109 04177 06108 10115 12043 20095 80331 89073 89075"),
                some(chance, "Dresden Leipzig Halle Berlin Hamburg München Ulm"),
                day(chance, 2023, 2023, "%d.%m.%Y"),
                str(int(chance.expovariate(0.2)) + 1),
                some(chance, "0100 0300 1500 1600 2200 2400 2800"),
                some(chance, "I10.90 I21.4 E11.90 J18.9 K35.8 S72.0 C50.9 F32.1 N39.0 M54.5 A41.9 Z38.0"),
                some(chance, ["", "E78.0", "I10.00", "N18.3", "F10.2"], (50, 15, 15, 10, 10)),
                some(chance, ["AOK Plus", "Barmer", "TK", "DAK-Gesundheit", "privat"]),
                str(round(chance.gauss(171, 9))),
                comma(chance.gauss(76, 14)),
                comma(chance.lognormvariate(2, 1.2)),
                some(chance, ["regulär beendet", "Verlegung", "Tod", "gegen ärztlichen Rat"], (80, 10, 5, 5)),
            ]
        )
    return rows


def census(chance: random.Random) -> Rows:
    """A French census extract: semicolons, Latin-1, 31/12/1950, blanks between thousands."""
    rows = [
        "id_menage nom prenom date_naissance sexe commune_insee departement nationalite etat_civil profession_pcs "
        "diplome revenu_annuel nb_enfants langue_maternelle surface_logement statut_occupation".split()
    ]
    for number in range(260):
        income = int(chance.lognormvariate(10, 0.5))
        place = some(chance, "75056 13055 69123 31555 2A004 2B033 01053 06088 59350 97411")
        rows.append(
            [
                f"M{10000 + number // 2}",
                some(chance, "Lefèvre Béranger Dupré Noël Garçon Hélie Marchal Rivière Thébault Roux"),
                some(chance, "Zoé Élodie Rémi Chloé Loïc Anaïs Jean Maëlle Éric Inès"),
                day(chance, 1935, 2005, "%d/%m/%Y"),
                some(chance, "1 2"),
                place,
                place[:2],
                some(chance, ["Française", "Algérienne", "Portugaise", "Italienne", "Non déclaré"], (80, 6, 6, 4, 4)),
                some(chance, ["célibataire", "marié(e)", "pacsé(e)", "divorcé(e)", "veuf(ve)"]),
                some(chance, "11 21 23 31 33 34 37 42 43 46 52 54 62 63 67 69 74 85"),
                some(chance, ["Aucun", "CEP", "Baccalauréat", "BTS", "Licence", "Master"]),
                f"{income // 1000} {income % 1000:03d}",
                some(chance, "0 1 2 3 4", (40, 25, 22, 10, 3)),
                some(chance, ["français", "arabe", "portugais", "breton"], (85, 7, 5, 3)),
                str(round(chance.gauss(78, 25))),
                some(chance, ["propriétaire", "locataire", "logé gratuitement"]),
            ]
        )
    return rows


def tax(chance: random.Random) -> Rows:
    """A US tax file: quoted thousands, 12/31/1950, a column called tax_filer."""
    rows = [
        "return_id tax_filer filing_status taxpayer_name dob state zip5 county_fips agi wages dependents occupation "
        "tax_owed refund_method preparer_ein home_phone tax_year".split()
    ]
    for number in range(240):
        wages = chance.lognormvariate(10.6, 0.7)
        state, code, fips = chance.choice(
            [("MA", "02139", "25017"), ("MA", "02140", "25017"), ("CT", "06510", "09009"), ("NJ", "07030", "34017"),
             ("NY", "10025", "36061"), ("TX", "73301", "48453"), ("AL", "35203", "01073")]
        )  # fmt: skip
        rows.append(
            [
                f"R-{900000 + number * 7}",
                some(chance, "Y N", (92, 8)),
                some(chance, ["single", "married jointly", "married separately", "head of household"]),
                f"{some(chance, 'Ann Bob Cyd Dee Eli Fay Gus')} {some(chance, 'Stone Rivera Lee Patel Novak')}",
                day(chance, 1938, 2003, "%m/%d/%Y"),
                state,
                code,
                fips,
                f"{wages * 1.1:,.0f}",
                f"{wages:,.0f}",
                some(chance, "0 1 2 3 4 5", (45, 20, 20, 10, 4, 1)),
                some(chance, ["teacher", "nurse", "clerk", "driver", "engineer", "farmer", "Unknown"]),
                f"{wages * 0.18:,.2f}",
                some(chance, ["direct deposit", "check", "none"]),
                some(chance, [f"{n}-3{n}41728" for n in range(11, 29)]),
                f"({chance.randrange(200, 990)}) 555-{chance.randrange(10000):04d}",
                "2022",
            ]
        )
    return rows


def labour(chance: random.Random) -> Rows:
    """A labour force survey: nothing but codes; -9, 99 and 999 are missing."""
    rows = [
        "pid hhid wave sex age marstat isced empstat nace isco hours region income_band religion weight intdate".split()
    ]
    for number in range(400):
        rows.append(
            [
                str(100001 + number),
                str(5001 + number // 3),
                some(chance, "1 2 3 4 5 6 7 8"),
                some(chance, "1 2 9", (49, 49, 2)),
                str(chance.randrange(15, 90)) if chance.random() > 0.02 else "999",
                some(chance, "1 2 3 4 5 -9", (35, 45, 5, 8, 5, 2)),
                some(chance, "0 1 2 3 4 5 6 7 8", (1, 4, 15, 30, 10, 8, 18, 12, 2)),
                some(chance, "1 2 3", (60, 5, 35)),
                some(chance, "1 10 14 25 28 41 43 45 46 47 49 55 56 62 64 69 72 84 85 86 87 88 94 96 -9"),
                some(
                    chance, "1120 1221 2211 2221 2310 2512 3112 3322 4110 5131 5223 6111 7115 7231 8322 9112 9313 9629"
                ),
                some(chance, "8 16 20 25 30 35 38 40 42 45 50 60 999", (2, 3, 8, 4, 6, 8, 14, 30, 6, 6, 5, 3, 5)),
                some(chance, "DE11 DE12 DE21 DEA1 FR10 FRK2 ITC4 ITH5 ES30 ES51 PL91"),
                some(chance, "1 2 3 4 5 6 7 8 9 10 99"),
                some(chance, "1 2 3 4 5 6 99", (30, 28, 6, 2, 1, 30, 3)),
                f"{chance.lognormvariate(6, 0.6):.4f}",
                day(chance, 2023, 2023, "%Y-%m-%d"),
            ]
        )
    return rows


def school(chance: random.Random) -> Rows:
    """A Spanish education table: semicolons, a BOM, decimal commas, s/d for no value."""
    rows = [
        "dni nombre apellidos fecha_nacimiento sexo provincia codigo_postal codigo_centro curso nota_media becario "
        "discapacidad lengua_materna nacionalidad renta_familiar num_hermanos".split()
    ]
    for number in range(200):
        rows.append(
            [
                f"{40000000 + number * 7919}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}",
                some(chance, "Lucía Martín Nuria Íñigo Álvaro Begoña Pau Óscar"),
                some(chance, ["García López", "Muñoz Peña", "Ibáñez Ruiz", "Núñez Gil", "Ortiz Sáez"]),
                day(chance, 2004, 2011, "%d/%m/%Y"),
                some(chance, "H M"),
                some(chance, "Barcelona Girona Lleida Tarragona Madrid Ávila Cádiz"),
                some(chance, "08001 08012 17001 25003 43001 28013 05001 11001"),
                some(chance, "08012345 08019873 17000421 25001130 28014477 05000912"),
                some(chance, ["1º ESO", "2º ESO", "3º ESO", "4º ESO", "1º Bachillerato"]),
                comma(min(10, max(1, chance.gauss(6.6, 1.4))), 2),
                some(chance, "sí no", (25, 75)),
                some(chance, ["ninguna", "auditiva", "visual", "motora", "intelectual"], (90, 3, 2, 3, 2)),
                some(chance, "castellano catalán euskera gallego árabe"),
                some(chance, ["española", "marroquí", "rumana", "ecuatoriana", "s/d"], (80, 7, 6, 4, 3)),
                comma(chance.lognormvariate(10, 0.5), 2) if chance.random() > 0.06 else "s/d",
                some(chance, "0 1 2 3 4"),
            ]
        )
    return rows


def notified(chance: random.Random) -> Rows:
    """A Brazilian notification of diseases: codes 1/2/9, CID-10, CBO, IBGE, CEP, CPF."""
    rows = [
        "nu_notificacao cpf nome_paciente data_nascimento idade sexo raca_cor gestante escolaridade ocupacao_cbo "
        "municipio_ibge uf cep data_notificacao cid10 hospitalizacao evolucao peso_kg".split()
    ]
    for number in range(300):
        born = chance.randrange(1930, 2021)
        rows.append(
            [
                str(3100000 + number * 3),
                ".".join(str(chance.randrange(100, 999)) for _ in range(3)) + f"-{number % 100:02d}",
                some(chance, ["Ana Souza", "João Lima", "Caio Dias", "Inês Rocha", "Luís Prado", "Rita Melo"]),
                day(chance, born, born, "%d/%m/%Y"),
                str(2023 - born),
                some(chance, "M F I", (48, 50, 2)),
                some(chance, "1 2 3 4 5 9", (40, 12, 2, 38, 1, 7)),
                some(chance, "1 2 3 4 5 6 9", (1, 2, 1, 1, 40, 50, 5)),
                some(chance, ["Analfabeto", "Fundamental", "Médio", "Superior", "Ignorado"]),
                some(chance, "225125 223505 322205 411005 512105 521110 621005 715210 782305 999993"),
                some(chance, "3550308 3304557 2927408 2304400 3106200 1302603 4106902 2611606"),
                some(chance, "SP RJ BA CE MG AM PR PE"),
                some(chance, "01310-100 01001-000 20040-002 40010-000 60060-080 30110-001"),
                day(chance, 2023, 2023, "%d/%m/%Y"),
                some(chance, "A90 A92.0 A15.0 B54 B20 A27.9 A53.9 W54"),
                some(chance, "1 2 9", (20, 70, 10)),
                some(chance, "1 2 3 9", (85, 3, 2, 10)),
                f"{chance.gauss(70, 13):.1f}",
            ]
        )
    return rows


def staff(chance: random.Random) -> Rows:
    """A personnel table without a key: a timestamp happens to be unique."""
    rows = [
        "created_at full_name work_email department job_title pay_grade salary hire_date birth_year gender office "
        "nationality fte performance_rating sick_days termination_date union_member".split()
    ]
    stamp = datetime(2019, 1, 7, 8, 0)
    for number in range(180):
        stamp += timedelta(seconds=chance.randrange(40, 900000))
        name = f"{some(chance, 'Ada Ben Cleo Dan Eve Finn Gia Hal')} {some(chance, 'Ames Boyd Cole Dunn Ek Ford')}"
        rows.append(
            [
                stamp.strftime("%Y-%m-%d %H:%M:%S"),
                name,
                f"{name.lower().replace(' ', '.')}{number}@example.com",
                some(chance, "Sales Finance IT Legal Operations HR"),
                some(chance, ["Analyst", "Senior Analyst", "Manager", "Engineer", "Assistant", "Director"]),
                some(chance, "G3 G4 G5 G6 G7 G8"),
                str(round(chance.lognormvariate(10.9, 0.35), -2)).removesuffix(".0"),
                day(chance, 2001, 2023, "%Y-%m-%d"),
                str(chance.randrange(1958, 2003)),
                some(chance, ["female", "male", "non-binary", "prefer not to say"], (47, 47, 3, 3)),
                some(chance, ["London", "Leeds", "Cardiff", "Remote"]),
                some(chance, "GB IE FR PL IN NG US"),
                some(chance, "0.5 0.6 0.8 1.0", (8, 6, 16, 70)),
                some(chance, "1 2 3 4 5", (2, 8, 50, 30, 10)),
                str(int(chance.expovariate(0.25))),
                day(chance, 2022, 2024, "%Y-%m-%d") if chance.random() < 0.12 else "",
                some(chance, "TRUE FALSE", (30, 70)),
            ]
        )
    return rows


def laboratory(chance: random.Random) -> Rows:
    """Wearables and a laboratory: skewed numbers, unique moments, `.` for no value, tabs between cells."""
    rows = [
        "sample_uuid device_serial measured_at patient_age sex site glucose_mg_dl ferritin hba1c steps resting_hr "
        "gps_lat gps_lon firmware comment qc_flag".split()
    ]
    stamp = datetime(2024, 2, 1, 6, 0)
    for _ in range(260):
        stamp += timedelta(seconds=chance.randrange(5, 4000))
        rows.append(
            [
                "-".join(f"{chance.getrandbits(4 * n):0{n}x}" for n in (8, 4, 4, 4, 12)),
                f"SN{chance.randrange(40) + 1000:05d}",
                stamp.strftime("%Y-%m-%dT%H:%M:%SZ"),
                str(chance.randrange(18, 92)),
                some(chance, "F M U", (49, 49, 2)),
                some(chance, ["north", "south", "harbour"]),
                f"{chance.lognormvariate(4.6, 0.25):.0f}",
                f"{chance.lognormvariate(4.4, 1.1):.1f}" if chance.random() > 0.1 else ".",
                f"{chance.gauss(5.8, 0.9):.1f}" if chance.random() > 0.1 else ".",
                str(int(chance.lognormvariate(8.6, 0.7))),
                str(round(chance.gauss(66, 9))),
                f"{53.5 + chance.gauss(0, 0.05):.5f}",
                f"{9.99 + chance.gauss(0, 0.08):.5f}",
                some(chance, "v1.2.0 v1.2.3 v1.3.1"),
                some(chance, ["", "taken after run", "patient felt dizzy, called Mrs Brook", "fasting", "repeat"]),
                some(chance, "ok ok ok haemolysed lipaemic"),
            ]
        )
    return rows


def dwellings(chance: random.Random) -> Rows:
    """A British housing survey: postcodes with letters, one dwelling of 59 875 rooms."""
    rows = [
        "household_ref postcode local_authority tenure dwelling_type built_year mean_rooms floor_area_m2 "
        "persons hrp_age hrp_ethnicity monthly_rent energy_rating council_tax_band benefits_received "
        "imd_decile".split()
    ]
    for number in range(240):
        rows.append(
            [
                f"HH{number * 13 + 20011}",
                some(chance, ["SW1A 1AA", "SW1P 3BU", "E8 4RP", "LS1 4DY", "LS2 9JT", "M1 1AE", "CF10 3AT", "G1 1XQ"]),
                some(chance, ["Westminster", "Hackney", "Leeds", "Manchester", "Cardiff", "Glasgow City"]),
                some(chance, ["owned outright", "mortgage", "social rent", "private rent"]),
                some(chance, ["flat", "terraced", "semi-detached", "detached"]),
                str(chance.randrange(1880, 2022)),
                f"{chance.gauss(4.2, 1.1):.2f}" if number != 77 else "59875",
                str(round(chance.lognormvariate(4.4, 0.35))),
                some(chance, "1 2 3 4 5 6 7", (28, 34, 16, 13, 6, 2, 1)),
                str(chance.randrange(18, 95)),
                some(chance, ["White", "Asian", "Black", "Mixed", "Other", "Not stated"]),
                f"{chance.lognormvariate(6.8, 0.4):.0f}" if chance.random() > 0.4 else "-1",
                some(chance, "A B C D E F G", (1, 8, 30, 40, 15, 4, 2)),
                some(chance, "A B C D E F"),
                some(chance, ["none", "housing", "universal credit", "pension credit"]),
                some(chance, "1 2 3 4 5 6 7 8 9 10"),
            ]
        )
    return rows


def court(chance: random.Random) -> Rows:
    """Court records: 05-Mar-2021, letters and digits for ethnicity, several words for no value."""
    rows = [
        "case_ref defendant_surname age_at_offence sex self_defined_ethnicity date_of_offence offence_code "
        "police_force court plea sentence_months prior_convictions victim_relationship remand_status "
        "employment_status".split()
    ]
    for number in range(210):
        rows.append(
            [
                f"CR-{2018 + number % 5}-{number + 311:05d}",
                some(chance, "Archer Barr Conti Dube Elias Faye Grant Hoyt"),
                str(chance.randrange(14, 78)) if chance.random() > 0.03 else "Unknown",
                some(chance, "M F"),
                some(chance, "W1 W2 W9 B1 B2 B9 A1 A2 A3 M1 O9 NS"),
                day(chance, 2017, 2022, "%d-%b-%Y"),
                some(chance, "TH68001 TH68010 OF61016 PU86004 MD71530 RT88191 CD71039"),
                some(chance, ["Avon & Somerset", "Kent", "Merseyside", "Gwent", "Unknown"]),
                some(chance, ["Crown", "Magistrates"]),
                some(chance, ["guilty", "not guilty", "."], (70, 25, 5)),
                str(int(chance.expovariate(0.08))) if chance.random() > 0.2 else ".",
                str(int(chance.expovariate(0.3))),
                some(chance, ["stranger", "acquaintance", "partner", "Not known", "none"]),
                some(chance, ["bail", "custody", "not applicable"]),
                some(chance, ["employed", "unemployed", "student", "retired", "Unknown"]),
            ]
        )
    return rows


TABLES: dict[str, tuple[Callable[[random.Random], Rows], str, str]] = {
    "de-hospital": (hospital, ";", "cp1252"),
    "fr-census": (census, ";", "latin-1"),
    "us-tax": (tax, ",", "utf-8"),
    "labour-force": (labour, ",", "utf-8"),
    "es-school": (school, ";", "utf-8-sig"),
    "br-notified": (notified, ",", "utf-8"),
    "staff": (staff, ",", "utf-8"),
    "laboratory": (laboratory, "\t", "utf-16"),
    "uk-dwellings": (dwellings, ",", "utf-8"),
    "court": (court, "|", "utf-8"),
}


def build(folder: Path) -> None:
    for name, (make, delimiter, encoding) in TABLES.items():
        rows = make(random.Random(name))
        with (folder / f"{name}.csv").open("w", encoding=encoding, newline="") as file:
            csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
