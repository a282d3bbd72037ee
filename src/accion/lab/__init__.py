"""A laboratory in the browser: a page that this machine alone can open, where systems move."""

from accion.lab.server import Lab as Lab, serve as serve
