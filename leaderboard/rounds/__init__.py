"""Sealed rounds: contests whose test labels are secret until the round is revealed.

Imports the rest of `leaderboard` but the board and the site. Begin with `model`, then `seal` and `reveal`.
"""
