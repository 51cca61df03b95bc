"""Boxes: what a group of records becomes, and what it costs.

A record is a point of codes; a group's generalization is the box `lo[j]..hi[j]` around its records.
"""
