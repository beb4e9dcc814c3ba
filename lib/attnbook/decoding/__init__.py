"""Decoding: from a model that gives logits for the next token to a text."""
