"""Tests of the web pack."""
