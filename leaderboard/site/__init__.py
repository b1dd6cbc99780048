"""The board's static site: pages from templates, charts, tables, and the data of runs.

Imports the rest of `leaderboard`, and nothing imports it but `interface`. Begin with `build`.
"""
