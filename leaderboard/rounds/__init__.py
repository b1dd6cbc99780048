"""Sealed rounds: contests whose test labels nobody can know before the round is revealed."""
