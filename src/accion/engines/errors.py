"""What the native engine leaves to XLA."""


class Unsupported(Exception):
    """A primitive, a type or a size that the native engine does not know."""


class Traced(Exception):
    """A function that closes over what JAX traces just now: there are no numbers to compile, and
    nothing to remember.
    """
