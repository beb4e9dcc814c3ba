"""Metrics: how good an answer is, with the counts that let batches and corpora add up."""
