"""Small services inside our process that speak as the real ones do."""
