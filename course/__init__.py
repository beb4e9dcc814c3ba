"""The coursework: see README.md in this folder."""
