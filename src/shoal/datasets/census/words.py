"""The words of the made-up census, each category with its hierarchy and how common it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shoal.schema import Schema

# Leaves carry weights: how common a value is, before the correlations of `people.py`.
MARITAL: dict[str, object] = {
    "single": {"never married": 1.0},
    "partnered": {"married": 1.0, "registered partnership": 1.0},
    "was partnered": {"divorced": 1.0, "separated": 1.0, "widowed": 1.0},
}
EDUCATION: dict[str, object] = {
    "basic": {"none": 1.0, "primary": 1.0, "lower secondary": 1.0},
    "secondary": {"upper secondary": 1.0, "vocational": 1.0},
    "tertiary": {"short tertiary": 1.0, "bachelor": 1.0, "master": 1.0, "doctorate": 1.0},
}
OCCUPATION: dict[str, object] = {
    "not employed": {"child": 1.0, "student": 1.0, "homemaker": 1.0, "unemployed": 1.0, "retired": 1.0},
    "manual": {
        "production": {"assembler": 5.0, "machine operator": 6.0, "miner": 0.2},
        "building": {"builder": 6.0, "electrician": 3.0, "painter": 1.5},
        "land": {"farm worker": 2.5, "fisher": 0.3, "forester": 0.4},
        "transport": {"driver": 7.0, "mover": 2.0, "sailor": 0.2},
    },
    "service": {
        "sales": {"shop assistant": 9.0, "sales agent": 4.0},
        "care": {"care worker": 7.0, "childminder": 3.0},
        "hospitality": {"cook": 4.0, "waiter": 5.0, "cleaner": 6.0},
        "protection": {"guard": 2.0, "firefighter": 0.6, "police officer": 1.2},
    },
    "office": {"clerk": 11.0, "secretary": 4.0, "accountant": 3.5, "librarian": 0.3},
    "professional": {
        "health": {"nurse": 6.0, "physician": 1.6, "pharmacist": 0.6, "dentist": 0.4},
        "teaching": {"school teacher": 5.0, "lecturer": 1.0},
        "technical": {"engineer": 5.0, "programmer": 4.0, "architect": 0.7, "statistician": 0.2},
        "law": {"lawyer": 1.0, "judge": 0.05},
        "management": {"manager": 6.0, "director": 0.8},
        "arts": {"journalist": 0.5, "musician": 0.4, "actor": 0.15},
    },
}
HOME = "Homeland"
COUNTRY: dict[str, object] = {
    "Europe": {
        "West": {HOME: 600.0, "France": 5.0, "Belgium": 2.0, "Ireland": 1.0},
        "South": {"Italy": 9.0, "Spain": 6.0, "Greece": 3.0, "Portugal": 3.0},
        "East": {"Poland": 14.0, "Romania": 12.0, "Ukraine": 10.0, "Bulgaria": 4.0, "Serbia": 4.0},
        "North": {"Sweden": 1.0, "Finland": 0.7, "Norway": 0.4, "Iceland": 0.05},
    },
    "Asia": {
        "West Asia": {"Turkey": 18.0, "Syria": 11.0, "Iran": 4.0, "Iraq": 4.0},
        "South Asia": {"India": 5.0, "Pakistan": 3.0, "Sri Lanka": 1.0},
        "East Asia": {"China": 4.0, "Vietnam": 3.0, "Japan": 0.8, "South Korea": 0.6, "Mongolia": 0.05},
    },
    "Africa": {
        "North Africa": {"Morocco": 4.0, "Tunisia": 1.5, "Egypt": 1.0},
        "Other Africa": {"Nigeria": 1.5, "Ghana": 1.2, "Eritrea": 1.5, "Kenya": 0.4, "Lesotho": 0.02},
    },
    "America": {
        "North America": {"USA": 2.5, "Canada": 0.6},
        "South America": {"Brazil": 2.0, "Colombia": 0.8, "Peru": 0.5, "Chile": 0.4, "Suriname": 0.03},
    },
}
# How common a diagnosis is at birth, at 40 and at 85, and how many times as common among women.
DIAGNOSES: dict[str, tuple[float, float, float, float]] = {
    "none": (60, 50, 8, 1.0),
    "asthma": (8, 5, 4, 1.1),
    "allergy": (9, 8, 3, 1.1),
    "influenza": (8, 6, 6, 1.0),
    "otitis": (9, 1, 0.5, 1.0),
    "fracture": (4, 3, 7, 1.2),
    "migraine": (1, 6, 2, 2.5),
    "depression": (0.3, 7, 5, 1.7),
    "back pain": (0.3, 9, 9, 1.1),
    "diabetes": (0.4, 3, 12, 0.9),
    "hypertension": (0.1, 6, 22, 1.0),
    "heart failure": (0.05, 0.5, 10, 0.8),
    "stroke": (0.02, 0.3, 5, 0.9),
    "arthrosis": (0.02, 2, 14, 1.6),
    "dementia": (0.0, 0.05, 9, 1.4),
    "breast cancer": (0.0, 0.8, 1.5, 60.0),
    "prostate cancer": (0.0, 0.2, 3.5, 0.0),
    "lung cancer": (0.0, 0.2, 1.2, 0.7),
    "leukaemia": (0.1, 0.08, 0.3, 0.8),
    "epilepsy": (0.6, 0.5, 0.7, 0.9),
    "multiple sclerosis": (0.01, 0.3, 0.1, 2.6),
    "HIV": (0.01, 0.2, 0.05, 0.4),
    "tuberculosis": (0.02, 0.05, 0.05, 0.7),
    "cystic fibrosis": (0.05, 0.02, 0.0, 1.0),
}
FIRST_NAMES = (
    "Ada Adam Aisha Alba Alex Alma Amir Anna Anton Aron Bela Ben Berta Boris Cara Carl Clara Cleo Dana Dario "
    "David Dina Edgar Ela Elif Elsa Emil Emma Enzo Eva Felix Fina Finn Flora Frida Gina Goran Greta Hana Hugo Ida "
    "Igor Ilse Ines Ivan Jana Jonas Julia Karim Karl Kaya Lara Lena Leo Lia Lina Luca Luis Maja Marc Maria Mia "
    "Mila Mina Nadia Nils Nina Noah Nora Olga Omar Oskar Otto Paul Petra Pia Quentin Rafa Rosa Ruth Sam Sara "
    "Selma Simon Sofia Stella Sven Tara Theo Tilda Timo Tom Uma Ute Vera Victor Wanda Willi Xenia Yara Yusuf Zara "
    "Zeno"
).split()
LAST_NAMES = (
    "Abel Adler Akin Albers Arndt Bach Bauer Becker Berg Brandt Braun Busch Costa Cruz Dahl Diaz Ebert Engel "
    "Ernst Fiedler Fischer Frank Fuchs Garcia Geiger Graf Gross Haas Hahn Hansen Hartmann Heller Hoffmann Horn "
    "Huber Ivanov Jansen Jung Kaiser Kaya Keller Klein Koch Kowalski Kraus Krueger Lang Lehmann Lopez Lorenz "
    "Ludwig Maier Martin Marx Mayer Meyer Moreau Mueller Nagel Neumann Nguyen Novak Okafor Otto Papas Peters "
    "Pfeiffer Pohl Popescu Reich Richter Roth Rossi Sauer Schmidt Schneider Schulz Seidel Simon Sommer Stein "
    "Tanaka Thomas Toth Uhl Ulrich Vogel Wagner Weber Weiss Werner Winter Wolf Yilmaz Zander Ziegler Zimmer"
).split()


def leaves(tree: Mapping[str, object]) -> Iterator[tuple[str, str, float]]:
    """Every leaf with its outermost group and its weight, in the order of the tree."""

    def walk(inside: Mapping[str, object], top: str | None) -> Iterator[tuple[str, str, float]]:
        for label, below in inside.items():
            if isinstance(below, Mapping):
                yield from walk(below, top or label)
            else:
                yield label, top or label, float(str(below))

    return walk(tree, None)


def _labels(tree: Mapping[str, object]) -> dict[str, object]:
    """The tree without its weights, as a schema takes it."""
    return {label: _labels(below) if isinstance(below, Mapping) else None for label, below in tree.items()}


def census_schema() -> Schema:
    """The schema of `census`: seven quasi-identifiers of every kind, two sensitive columns."""
    return Schema(
        columns={
            "person_id": {"role": "key"},
            "name": {"role": "identifier"},
            "born": {"role": "quasi-identifier", "type": "date"},
            "zip": {"role": "quasi-identifier", "type": "prefix"},
            "sex": {"role": "quasi-identifier", "type": "categorical", "hierarchy": {"f": None, "m": None}},
            "marital_status": {"role": "quasi-identifier", "hierarchy": _labels(MARITAL)},
            "education": {"role": "quasi-identifier", "hierarchy": _labels(EDUCATION)},
            "occupation": {"role": "quasi-identifier", "hierarchy": _labels(OCCUPATION)},
            "country": {"role": "quasi-identifier", "hierarchy": _labels(COUNTRY)},
            "income": {"role": "sensitive", "type": "numeric"},
            "diagnosis": {"role": "sensitive"},
        },
        source="census_schema()",
    )
