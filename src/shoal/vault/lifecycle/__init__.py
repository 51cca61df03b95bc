"""What becomes of a vault as a whole: it is created, opened, changed, rebased, checked, compacted, copied."""
