"""Patch operations: small changes to a workflow, applied together or not at all."""
