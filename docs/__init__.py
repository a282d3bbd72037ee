"""The documentation, and what makes its site."""
