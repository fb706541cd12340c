"""Measure how alike the spaces are in which language models represent text."""
