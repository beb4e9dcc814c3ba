"""Released weights: other libraries' names for what the book's own models have, both ways."""
