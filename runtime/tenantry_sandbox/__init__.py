"""Placeholder docstring: the room's builder writes it."""
