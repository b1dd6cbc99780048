"""Checking answers by the definition: nothing here is shared with what searches for them."""

from __future__ import annotations

from nsl_bench.las.semantics.verification.check import verify

__all__ = ["verify"]
