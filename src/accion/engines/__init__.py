"""What turns a step into machine code besides XLA."""
