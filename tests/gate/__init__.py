"""Who gets in, who may do what, and what is kept about it."""
