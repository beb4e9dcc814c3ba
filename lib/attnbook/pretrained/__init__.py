"""Weights that others trained: Hugging Face's names and shapes, made this book's, and back."""
