"""What somebody with all releases in hand can work out: attacks on what a vault publishes.

Nothing here shares code with what it judges. An attack sees published files and what an attacker knows: everybody's
quasi-identifiers, and so who was in which class of each release. Only `steward.py` looks into a vault.
"""
