"""Objectives: what a model is asked to predict. Each makes inputs and labels.

A label stands where the model is to answer: `labels[b, t]` belongs to `logits[b, t]`, and no loss
shifts anything. Where there is no question, the label is `labels.IGNORE`.
"""
