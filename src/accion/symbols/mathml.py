"""LaTeX as `render.tex` writes it, as MathML, which every browser draws by itself: in the colours
of the page, in lines that fit, and with the LaTeX inside.
"""

import re
from collections.abc import Iterator
from html import escape

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?|\s+|.", re.S)
LETTERS = {
    name: chr(code)
    for code, name in enumerate(
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho"
        " varsigma sigma tau upsilon phi chi psi omega".split(),
        start=0x3B1,
    )
} | {
    name: chr(code)
    for name, code in zip(
        "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split(),
        (0x393, 0x394, 0x398, 0x39B, 0x39E, 0x3A0, 0x3A3, 0x3A5, 0x3A6, 0x3A8, 0x3A9),
        strict=True,
    )
}
LETTERS |= {"varepsilon": "ε", "varphi": "φ", "vartheta": "ϑ", "infty": "∞", "hbar": "ℏ"}
LETTERS |= {"partial": "∂", "ell": "ℓ", "Re": "ℜ", "emptyset": "∅"}
SIGNS = {"cdot": "·", "times": "×", "wedge": "∧", "leq": "≤", "geq": "≥", "neq": "≠", "ne": "≠"}
SIGNS |= {"le": "≤", "ge": "≥", "to": "→", "ldots": "…", "dots": "…", "cdots": "⋯", "pm": "±"}
SIGNS |= {"lbrace": "{", "rbrace": "}", "{": "{", "}": "}", "|": "‖", "otimes": "⊗", "in": "∈"}
SIGNS |= {"lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "land": "∧", "lor": "∨"}
SIGNS |= {"int": "∫", "sum": "∑", "prod": "∏", "vert": "|", "langle": "⟨", "rangle": "⟩", "%": "%"}
SIGNS |= {"mid": "|", "neg": "¬", "circ": "∘", "approx": "≈", "_": "_"}
# Dots as accents touch Greek letters, and as scripts they are small.
DOTS = {"dot": "˙", "ddot": "¨", "dddot": "⋯", "ddddot": "⋯·"}
ABOVE = {"hat": "^", "bar": "‾", "vec": "→", "tilde": "~", "overline": "‾", "widehat": "^"}
WORDS = ("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth log ln exp max min det"
         " arg sign gcd lim").split()  # fmt: skip
SPACES = {",": 0.17, ":": 0.22, ";": 0.28, " ": 0.25, "quad": 1, "qquad": 2, "!": 0}
UPRIGHT = ("mathrm", "text", "operatorname", "mathbf", "mathtt", "mathit", "textrm")
NOTHING = {"displaystyle", "limits", "nolimits", "big", "Big", "bigl", "bigr", "textstyle"}


def mathml(latex: str) -> str:
    """A formula as a `math` element, which keeps its LaTeX as an annotation.

    Raises:
        ValueError: where it has something that is not translated.
    """
    parser = Parser(latex)
    found = parser.row(())
    if parser.next is not None:
        raise ValueError(f"the formula {latex!r} has {parser.next!r} where nothing should be.")
    return (
        '<math display="block"><semantics>'
        f'{found}<annotation encoding="application/x-tex">{escape(latex)}</annotation>'
        "</semantics></math>"
    )


class Parser:
    """What is left of a formula."""

    def __init__(self, latex: str) -> None:
        self.latex = latex
        self.tokens: Iterator[str] = iter(TOKEN.findall(latex))
        self.next = next(self.tokens, None)

    def take(self) -> str:
        """The next token."""
        token = self.next
        if token is None:
            raise ValueError(f"the formula {self.latex!r} ends too early.")
        self.next = next(self.tokens, None)
        return token

    def skip(self) -> None:
        """Over spaces."""
        while self.next is not None and self.next.isspace():
            self.take()

    def expect(self, token: str) -> None:
        self.skip()
        if self.take() != token:
            raise ValueError(f"the formula {self.latex!r} lacks {token!r}.")

    def row(self, stops: tuple[str, ...]) -> str:
        """All up to one of the stops, which is left."""
        parts = []
        while True:
            self.skip()
            if self.next is None or self.next in stops:
                return f"<mrow>{''.join(parts)}</mrow>"
            parts.append(self.with_scripts())

    def with_scripts(self) -> str:
        """One atom with what is below and above it."""
        base, scripts = self.atom(), {}
        while True:
            self.skip()
            if self.next == "'":
                self.take()
                scripts["^"] = scripts.get("^", "") + "<mo>′</mo>"
            elif self.next in ("^", "_"):
                sign = self.take()
                self.skip()
                scripts[sign] = scripts.get(sign, "") + self.atom()
            else:
                break
        rows = {sign: f"<mrow>{text}</mrow>" for sign, text in scripts.items()}
        if len(rows) == 2:
            return f"<msubsup>{base}{rows['_']}{rows['^']}</msubsup>"
        if "_" in rows:
            return f"<msub>{base}{rows['_']}</msub>"
        return f"<msup>{base}{rows['^']}</msup>" if rows else base

    def group(self) -> str:
        """What stands in braces, or one atom."""
        self.skip()
        return self.atom()

    def words(self) -> str:
        """The letters in braces, as they are."""
        self.expect("{")
        found, depth = "", 1
        while True:
            token = self.take()
            depth += (token == "{") - (token == "}")
            if depth == 0:
                return found
            found += token.removeprefix("\\") if token[0] == "\\" else token

    def atom(self) -> str:
        """The next thing."""
        token = self.take()
        if token == "{":
            found = self.row(("}",))
            self.expect("}")
            return found
        if token[0] != "\\" or len(token) == 1:
            return plain(token)
        return self.command(token[1:])

    def command(self, name: str) -> str:
        """What a command says."""
        if name in LETTERS:
            return f"<mi>{LETTERS[name]}</mi>"
        if name in SIGNS:
            return f"<mo>{escape(SIGNS[name])}</mo>"
        if name in WORDS:
            return f'<mi mathvariant="normal">{name}</mi>'
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}em"></mspace>'
        if name in UPRIGHT:
            return f'<mi mathvariant="normal">{escape(self.words())}</mi>'
        if name in DOTS:
            size = 100 if len(name) > 4 else 150
            return f'<mover>{self.group()}<mo mathsize="{size}%">{DOTS[name]}</mo></mover>'
        if name in ABOVE:
            return f'<mover accent="true">{self.group()}<mo>{ABOVE[name]}</mo></mover>'
        if name in ("frac", "tfrac", "dfrac"):
            return f"<mfrac>{self.group()}{self.group()}</mfrac>"
        if name in NOTHING:
            return "<mrow></mrow>"
        if name == "sqrt":
            return self.root()
        if name == "left":
            return self.fenced()
        if name == "begin":
            return self.table()
        raise ValueError(f"the formula {self.latex!r} has \\{name}, which is not translated.")

    def root(self) -> str:
        self.skip()
        if self.next != "[":
            return f"<msqrt>{self.group()}</msqrt>"
        self.take()
        degree = self.row(("]",))
        self.expect("]")
        return f"<mroot>{self.group()}{degree}</mroot>"

    def fence(self) -> str:
        """The sign after \\left or \\right; "." is none."""
        self.skip()
        token = self.take()
        if token == ".":
            return ""
        sign = SIGNS.get(token[1:], token) if token[0] == "\\" else token
        return f'<mo stretchy="true">{escape(sign)}</mo>'

    def fenced(self) -> str:
        first = self.fence()
        inside = self.row(("\\right",))
        self.expect("\\right")
        return f"<mrow>{first}{inside}{self.fence()}</mrow>"

    def table(self) -> str:
        """A matrix, or the cases of a function."""
        kind = self.words()
        if kind == "array":
            self.words()
        rows, cells = [], []
        while True:
            cells.append(self.row(("&", "\\\\", "\\end")))
            sign = self.take()
            if sign != "&":
                rows.append("".join(f"<mtd>{cell}</mtd>" for cell in cells))
                cells = []
            if sign == "\\end":
                self.words()
                break
        body = f"<mtable>{''.join(f'<mtr>{row}</mtr>' for row in rows)}</mtable>"
        return f"<mrow><mo>{{</mo>{body}</mrow>" if kind == "cases" else body


def plain(token: str) -> str:
    """A number, a letter or a sign."""
    if token[0].isdigit():
        return f"<mn>{token}</mn>"
    if token[0].isalpha():
        return f"<mi>{token}</mi>"
    if token == "~":
        return '<mspace width="0.25em"></mspace>'
    return f"<mo>{escape({'-': '−', '*': '·'}.get(token, token))}</mo>"
