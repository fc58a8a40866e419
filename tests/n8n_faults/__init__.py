"""Broken workflows whose fault is known by construction, and the score of `diagnose_execution` on them."""
