"""Several real server processes behind nginx, with a real Redis; `make test-scale` runs these."""
