"""The vault: a durable home for a changing table and its releases. See `docs/vault.md`.

`vault.py` is the facade, `shoal.Vault`; it loads SQLAlchemy, so it is loaded when it is asked for. Below it:

- `lifecycle/`: create, open, commit, rebase, check, compact, back up; older formats brought up to date
- `releases/`: publish, the history, what releases looked like, the status
- `state/`: the records in memory: load, follow, save; the epoch that they are held to
- `store/`: SQLite and PostgreSQL, the tables (`tables.py` describes what is stored), their checksums

Beside it: what a vault tells (`facts.py`), hashes of keys (`keys.py`), the holder's own files (`private_files.py`).

Words: an *epoch* is what records are held to, until the vault is rebased; a *batch* raises the *version* by one; a
*part* is some columns of a table that have a checksum of their own; a *snapshot* is what a release looked like;
*passthrough columns* are published as they are.
"""
