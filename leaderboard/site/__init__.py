"""The static site: pages, curves, pictures and tables made of the board."""
