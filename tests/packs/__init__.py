"""Tests of the packs: what each service looks like to an agent."""
