"""Tests of the path that every call takes."""
