"""Sources: files and frames as tables, whatever their format; and one form per type, whatever the source."""
