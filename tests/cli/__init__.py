"""The commands, one by one, as a person or a script would use them."""
