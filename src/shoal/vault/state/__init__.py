"""A vault in memory: loaded from the tables, following what others change, saved batch by batch."""
