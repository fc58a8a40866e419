"""Types and interfaces that all other packages use. Imports nothing else of Dogubako."""
