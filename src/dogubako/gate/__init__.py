"""The gate: who may do what, how often, and a record of it."""
