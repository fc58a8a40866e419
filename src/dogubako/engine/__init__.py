"""The path of a call. Start reading in `pipeline.py`."""
