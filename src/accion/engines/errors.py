"""What cannot be carried out; of the native engine, what it leaves to XLA."""


class Unsupported(Exception):
    """A primitive, a type or a size that is not known."""


class NoRule(Unsupported):
    """A primitive that is not known at all."""


class Traced(Exception):
    """A function that closes over what JAX traces just now: there are no numbers to compile, and
    nothing to remember.
    """
