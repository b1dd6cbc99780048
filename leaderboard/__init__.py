"""The leaderboard: contests, submissions and their scores, ranks, sealed rounds, and the site.

Imports all rooms but `api`, `cli` and `testing`. Begin with `interface` (what users call), then `contests`,
`submission`, `scoring` and `board`.
"""
