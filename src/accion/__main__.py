"""`python -m accion`: the command line."""

from accion.cli import app

if __name__ == "__main__":
    app(prog_name="accion")
