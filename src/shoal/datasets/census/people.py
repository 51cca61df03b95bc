"""Person records with the correlations and the skew that real ones have; vectorized, a million in a few seconds."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.datasets.census.words import (
    COUNTRY,
    DIAGNOSES,
    EDUCATION,
    FIRST_NAMES,
    HOME,
    LAST_NAMES,
    MARITAL,
    OCCUPATION,
    leaves,
)
from shoal.errors import ParameterError, whole_number

TODAY = np.datetime64("2025-01-01", "D")
SMALLEST, LARGEST = 10, 10_000_000
MISSING = {
    "zip": 0.004,
    "marital_status": 0.01,
    "education": 0.03,
    "occupation": 0.04,
    "country": 0.008,
    "income": 0.06,
}

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def census(n: int, seed: int = 0, *, first_id: int = 1) -> pa.Table:
    """`n` made-up people (10 to 10 million); the same n and seed give the same people.

    Columns: person_id (key), name, born, zip, sex, marital_status, education, occupation, country, income, diagnosis.
    """
    whole_number("seed", seed, least=0)
    if whole_number("n", n, least=SMALLEST) > LARGEST:
        raise ParameterError(f"n must be a whole number from {SMALLEST} to {LARGEST}. Got {n!r} instead.")
    return people(int(n), np.random.default_rng(seed), first_id)


def people(n: int, rng: np.random.Generator, first_id: int) -> pa.Table:
    """The same without a smallest n, from a generator that goes on."""
    days = ages_in_days(n, rng)
    years: Floats = np.floor(days / 365.25)
    # More boys are born, more women grow old.
    female = rng.random(n) < 0.485 + 0.02 * (years > 30) + 0.18 * np.clip((years - 60) / 35, 0, 1)
    place = rng.choice(len(zips()[0]), n, p=zips()[1])
    city = zips()[2][place]
    country = countries(n, city, rng)
    education = educations(years, country, rng)
    table = pa.table(
        {
            "person_id": person_ids(first_id, n),
            "name": names(n, rng),
            "born": pa.array(TODAY - days.astype("timedelta64[D]"), pa.date32()),
            "zip": pa.array(zips()[0]).take(pa.array(place)),
            "sex": pa.array(["m", "f"]).take(pa.array(female.astype(np.int8))),
            "marital_status": words(MARITAL, marital_statuses(years, female, rng)),
            "education": words(EDUCATION, education),
            "occupation": words(OCCUPATION, occupations(years, female, education, rng)),
            "country": words(COUNTRY, country),
            "income": incomes(years, female, education, city, rng),
            "diagnosis": pa.array(list(DIAGNOSES)).take(pa.array(diagnoses(years, female, rng))),
        }
    )
    for name, share in MISSING.items():
        blank = pa.array(rng.random(n) < share)
        column = pc.if_else(blank, pa.scalar(None, table[name].type), table[name])
        table = table.set_column(table.column_names.index(name), name, column)
    return table.combine_chunks()


def person_ids(first: int, n: int) -> pa.Array:
    numbers = pc.utf8_lpad(pc.cast(pa.array(np.arange(first, first + n)), pa.string()), 9, "0")
    return pc.binary_join_element_wise("P", numbers, "")


def names(n: int, rng: np.random.Generator) -> pa.Array:
    """Common names are common: ranks by a power law."""
    drawn = [
        pa.array(all_names).take(pa.array(power_law(len(all_names), n, rng))) for all_names in (FIRST_NAMES, LAST_NAMES)
    ]
    return pc.binary_join_element_wise(*drawn, " ")


def power_law(size: int, n: int, rng: np.random.Generator) -> Ints:
    weights = 1 / np.arange(1, size + 1) ** 0.7
    return rng.choice(size, n, p=weights / weights.sum())


def ages_in_days(n: int, rng: np.random.Generator) -> Ints:
    """A population pyramid with a bulge at 55 to 65 and few people above 90."""
    ages = np.arange(0, 106)
    pyramid = np.where(ages < 50, 1.0, 1.25) * (1 + 0.35 * np.exp(-(((ages - 60) / 7) ** 2)))
    pyramid *= 1 / (1 + np.exp((ages - 82) / 5))
    years = rng.choice(ages, n, p=pyramid / pyramid.sum())
    return (years * 365.25 + rng.integers(0, 365, n)).astype(np.int64)


@cache
def zips() -> tuple[list[str], Floats, NDArray[np.bool_]]:
    """Postal codes, their shares of the population, and which are of a large city.

    Ten regions by first digit, areas by the next two, offices by the last two. Populations follow a power law over
    areas and over the offices of an area; the largest areas have the most codes.
    """
    rng = np.random.default_rng(20250101)
    codes, weights, city = [], [], []
    areas = [f"{region}{area:02d}" for region in range(10) for area in sorted(rng.choice(100, 24, replace=False))]
    for rank, area in enumerate(rng.permutation(areas)):
        population = 1 / (rank + 3) ** 0.9
        offices = sorted(rng.choice(100, max(3, int(60 * (3 / (rank + 3)) ** 0.5)), replace=False))
        shares = rng.permutation(1 / np.arange(1, len(offices) + 1) ** 0.8)
        codes += [f"{area}{office:02d}" for office in offices]
        weights += list(population * shares / shares.sum())
        city += [rank < 12] * len(offices)
    order = np.argsort(codes)
    share = np.array(weights)[order]
    return [codes[i] for i in order], share / share.sum(), np.array(city)[order]


def words(tree: dict[str, object], codes: Ints) -> pa.Array:
    return pa.array([leaf for leaf, _, _ in leaves(tree)]).take(pa.array(codes))


def pick(tables: Floats, rows: Ints, rng: np.random.Generator) -> Ints:
    """Draw from one of several distributions per person: `tables[rows[i]]`."""
    cumulated = np.cumsum(tables / tables.sum(axis=1, keepdims=True), axis=1)
    drawn = rng.random(len(rows))
    result = np.zeros(len(rows), np.int64)
    for row in np.unique(rows):
        members = rows == row
        result[members] = np.searchsorted(cumulated[row], drawn[members], side="right")
    return np.minimum(result, tables.shape[1] - 1)


def countries(n: int, city: NDArray[np.bool_], rng: np.random.Generator) -> Ints:
    """Of those born abroad, two and a half times as many live in large cities."""
    weights = np.array([weight for _, _, weight in leaves(COUNTRY)])
    home = [leaf for leaf, _, _ in leaves(COUNTRY)].index(HOME)
    urban = weights.copy()
    urban[home] /= 2.5
    return pick(np.stack([weights, urban]), city.astype(np.int64), rng)


def educations(years: Floats, country: Ints, rng: np.random.Generator) -> Ints:
    """Children have little, the old have less than the young, people from elsewhere more at both ends."""
    home = country == [leaf for leaf, _, _ in leaves(COUNTRY)].index(HOME)
    bands = np.array(
        [  # none, primary, lower secondary | upper secondary, vocational | short, bachelor, master, doctorate
            [1, 0, 0, 0, 0, 0, 0, 0, 0],  # under 6
            [0, 1, 0, 0, 0, 0, 0, 0, 0],  # under 12
            [0, 0, 1, 0, 0, 0, 0, 0, 0],  # under 17
            [0, 1, 24, 45, 16, 5, 9, 0, 0],  # under 25
            [0, 2, 12, 18, 34, 7, 15, 11, 1],  # under 65, at home
            [2, 8, 20, 16, 20, 6, 12, 14, 2],  # under 65, from elsewhere
            [1, 9, 30, 14, 34, 4, 4, 3.5, 0.5],  # older
        ],
        dtype=np.float64,
    )
    band = np.searchsorted([6, 12, 17, 25], years, side="right")
    band = np.where(band == 4, np.where(years >= 65, 6, np.where(home, 4, 5)), band)
    return pick(bands, band, rng)


def marital_statuses(years: Floats, female: NDArray[np.bool_], rng: np.random.Generator) -> Ints:
    bands = np.array(
        [  # never married | married, registered partnership | divorced, separated, widowed
            [1, 0, 0, 0, 0, 0],  # under 18
            [88, 9, 1, 1, 1, 0],  # under 30
            [34, 48, 3, 10, 4, 1],  # under 50
            [14, 58, 2, 17, 4, 5],  # under 70
            [7, 62, 0.5, 10, 2, 18],  # older men
            [7, 34, 0.5, 11, 2, 45],  # older women
        ],
        dtype=np.float64,
    )
    band = np.searchsorted([18, 30, 50, 70], years, side="right")
    return pick(bands, np.where((band == 4) & female, 5, band), rng)


def occupations(years: Floats, female: NDArray[np.bool_], education: Ints, rng: np.random.Generator) -> Ints:
    """The young learn, the old are retired; the rest work by their education, and not everybody has work."""
    listed = list(leaves(OCCUPATION))
    base = np.array([weight for _, _, weight in listed])
    group = np.array([top for _, top, _ in listed])
    job = {leaf: place for place, (leaf, _, _) in enumerate(listed)}
    level = np.array([top for _, top, _ in leaves(EDUCATION)])[education]
    liking = {  # how much likelier a group of occupations is, by education
        "basic": {"manual": 2.2, "service": 2.0, "office": 0.5, "professional": 0.03, "not employed": 0},
        "secondary": {"manual": 1.2, "service": 1.2, "office": 1.4, "professional": 0.4, "not employed": 0},
        "tertiary": {"manual": 0.1, "service": 0.3, "office": 0.9, "professional": 3.0, "not employed": 0},
    }
    tables = np.stack([base * [liking[known][top] for top in group] for known in liking])
    women = tables.copy()
    for leaf, times in {"nurse": 3, "care worker": 3, "secretary": 4, "builder": 0.1, "engineer": 0.35}.items():
        women[:, job[leaf]] *= times
    row = np.select([level == known for known in liking], range(len(liking)))
    result = pick(np.concatenate([tables, women]), row + len(liking) * female, rng)
    chance = rng.random(len(years))
    result[chance < 0.05] = job["unemployed"]
    result[(chance > 0.95) & female & (years > 24)] = job["homemaker"]
    result[(years < 25) & (chance < 0.45)] = job["student"]
    result[years < 18] = job["student"]
    result[years < 6] = job["child"]
    result[years >= 67 - 4 * chance] = job["retired"]
    return result


def incomes(
    years: Floats, female: NDArray[np.bool_], education: Ints, city: NDArray[np.bool_], rng: np.random.Generator
) -> pa.Array:
    """Log-normal, in hundreds: more with education, with age up to 55, for men, in cities; none for children."""
    level = np.array([7.0, 7.1, 7.4, 7.7, 7.75, 7.9, 8.05, 8.25, 8.5])[education]
    log = level + 0.5 * np.exp(-(((years - 55) / 25) ** 2)) - 0.15 * female + 0.08 * city
    drawn = np.exp(log + 0.45 * rng.standard_normal(len(years)))
    return pa.array(np.where(years < 16, 0, np.round(drawn / 100) * 100).astype(np.int64))


def diagnoses(years: Floats, female: NDArray[np.bool_], rng: np.random.Generator) -> Ints:
    ages = np.arange(0, 120, 5)
    rates = np.array([[np.interp(age, [0, 40, 85], row[:3]) for row in DIAGNOSES.values()] for age in ages])
    women = rates * [row[3] for row in DIAGNOSES.values()]
    return pick(np.concatenate([rates, women]), (years // 5).astype(np.int64) + len(ages) * female, rng)
