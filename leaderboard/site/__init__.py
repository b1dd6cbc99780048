"""The board's static site: pages, curves, pictures and tables."""
