"""The documents that systems come from, by author and title, for those who read the report."""

from html import escape

# What a source is called in the gallery, and what it is; docs/documents.md says more.
DOCUMENTS = {
    "Colombo-Eyrea": (
        "L. Colombo, M. E. Eyrea Irazu, D. Martin de Diego, M. D. Sanchez, M. Zuccalli: Sobre"
        " sistemas lagrangianos dependientes del tiempo sobre grupos de Lie e integradores"
        " variacionales"
    ),
    "Bonich": (
        "M. J. Bonich: Sistemas termomecanicos lagrangianos continuos y discretos: un primer"
        " enfoque, Universidad Nacional del Comahue"
    ),
    "Colombo-Gamonal": (
        "L. Colombo, M. Gamonal Fernandez, D. Martin de Diego: Variational integrators for"
        " non-autonomous systems with applications to stabilization of multi-agent formations"
    ),
    "Romero": "I. Romero: Mecanica analitica, 2020",
    "Vakonomic thesis": (
        "author and title not in the copy at hand: a thesis (tesina) on vakonomic mechanics of"
        " higher order, continuous and discrete, and optimal control of underactuated systems"
    ),
}


def documents_of(source: str) -> list[str]:
    """The documents that a source names."""
    return [name for name in DOCUMENTS if name in source]


def described(source: str) -> str:
    """A source as markup, with the documents that it names in full."""
    full = "".join(f"<br>{escape(DOCUMENTS[name])}" for name in documents_of(source))
    return f"{escape(source)}{full}"
