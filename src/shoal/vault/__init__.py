"""The vault: a durable home for a changing table and its releases. See `docs/vault.md`.

`vault.py` is the facade. What is stored is described in `tables.py`; SQLAlchemy is loaded when a vault is opened.
"""

from shoal.vault.vault import Vault

__all__ = ["Vault"]
