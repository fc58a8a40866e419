"""The gate: authentication, authorization, rate limits and the audit log."""
