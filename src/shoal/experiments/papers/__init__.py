"""The papers' experiments, with their settings. Each module writes its figures' data as CSV and the figures as SVG."""
