"""What the native engine leaves to XLA."""


class Unsupported(Exception):
    """A primitive, a type or a size that the native engine does not know."""
