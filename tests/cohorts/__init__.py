"""Tests of cohorts."""
