"""Parse strangers' files in worker processes with limits on time and memory."""
