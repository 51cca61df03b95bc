"""Cohorts: releases of a changing table that stay safe together.

A **cohort** is a set of places that enters a release as one class and is published with the same contents as long as
it lives. A **place** has a value that never changes: everything in its published row that is no quasi-identifier. A
person **holds** a place for some time; a place that nobody holds is a **ghost**. A release shows, for each cohort that
somebody is left of, a box around its holders' quasi-identifiers, and the values of its places.

- `places.py`: places, column by column, and the table that they are about
- `vacancies.py`: newcomers who take the place of somebody who has left
- `forming.py`: which of those who wait form new cohorts
- `second.py`: people who have been in a cohort before
- `parting.py`: cohorts that are large enough for two
- `first.py`: the first cohorts, of a vault that has published otherwise before
- `step.py`: all of that, in order: what one more release shows

Guarantee: every cohort has, when it begins, what is asked of a class (k, ℓ, …) without those who have been in one
before. Permuting the values among the places of a cohort changes no release: boxes follow from the holders, counts
from the values. So whoever has all releases, knows everybody's quasi-identifiers and who held which place when, finds
as many values possible for a person as the cohort has. `docs/safe.md` has the proof, also for those who enter a second
cohort.
"""
