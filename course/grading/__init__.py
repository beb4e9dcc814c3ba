"""Grading that holds: students' code runs in processes of its own, which see only inputs.

`worker` and `sandbox` run in those processes, all else in the grader's. Numbers travel between
them as JSON; nothing of a student's is imported or unpickled by the grader.
"""
