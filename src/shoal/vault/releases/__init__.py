"""What a vault has published: publishing, the history, snapshots of what releases looked like, the status."""
