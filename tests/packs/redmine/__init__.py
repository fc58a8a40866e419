"""Tests of the Redmine pack."""
