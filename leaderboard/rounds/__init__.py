"""Sealed rounds: contests whose test labels are secret until the round is revealed."""
