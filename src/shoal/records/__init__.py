"""Records: from files and frames to codes."""
