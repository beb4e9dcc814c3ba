"""Whole models, one file each, and what they are built of."""
