"""Diagnose an execution: rules that name a cause only with evidence in the data."""
