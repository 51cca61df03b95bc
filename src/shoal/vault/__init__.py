"""The vault: a durable home for a changing table and its releases. See `docs/vault.md`.

`vault.py` is the facade, `shoal.Vault`; it loads SQLAlchemy, so it is loaded when it is asked for. What is stored is
described in `tables.py`.
"""
