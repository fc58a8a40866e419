"""Pages of strangers, fetched as an attacker would like us to."""
