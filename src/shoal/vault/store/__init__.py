"""Where a vault is stored: the tables, two databases that hold them, checksums that follow every change."""
