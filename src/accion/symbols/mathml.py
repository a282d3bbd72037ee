"""LaTeX as `render.tex` writes it, as MathML, which every browser draws by itself: in the colours
of the page, in lines that fit, and with the LaTeX inside.
"""

import re
from collections.abc import Iterator
from html import escape

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?|\s+|.", re.S)
# Commands with the number of their letter in Unicode.
GREEK = (
    "alpha 3b1 beta 3b2 gamma 3b3 delta 3b4 epsilon 3b5 zeta 3b6 eta 3b7 theta 3b8 iota 3b9 kappa"
    " 3ba lambda 3bb mu 3bc nu 3bd xi 3be omicron 3bf pi 3c0 rho 3c1 varsigma 3c2 sigma 3c3 tau 3c4"
    " upsilon 3c5 phi 3c6 chi 3c7 psi 3c8 omega 3c9 Gamma 393 Delta 394 Theta 398 Lambda 39b Xi 39e"
    " Pi 3a0 Sigma 3a3 Upsilon 3a5 Phi 3a6 Psi 3a8 Omega 3a9 varepsilon 3b5 varphi 3c6 vartheta 3d1"
    " infty 221e hbar 210f partial 2202 ell 2113 Re 211c emptyset 2205"
)
OTHER = (
    "cdot b7 times d7 wedge 2227 leq 2264 geq 2265 neq 2260 ne 2260 le 2264 ge 2265 to 2192 ldots"
    " 2026 dots 2026 cdots 22ef pm b1 lbrace 7b rbrace 7d { 7b } 7d | 2016 otimes 2297 in 2208"
    " lfloor 230a rfloor 230b lceil 2308 rceil 2309 land 2227 lor 2228 int 222b sum 2211 prod 220f"
    " vert 7c langle 27e8 rangle 27e9 % 25 mid 7c neg ac circ 2218 approx 2248 _ 5f"
)
# Dots as accents touch Greek letters, and as scripts they are small.
DOTS = {"dot": "\u02d9", "ddot": "\u00a8", "dddot": "\u22ef", "ddddot": "\u22ef\u00b7"}
ABOVE = {"hat": "^", "widehat": "^", "tilde": "~", "vec": "\u2192"}
ABOVE |= {"bar": "\u203e", "overline": "\u203e"}
MINUS, TIMES, PRIME = "\u2212", "\u00b7", "\u2032"
WORDS = (
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth log ln exp max min det arg"
    " sign gcd lim"
)


def table(text: str) -> dict[str, str]:
    """The letters of commands."""
    words = text.split()
    return {name: chr(int(code, 16)) for name, code in zip(words[::2], words[1::2], strict=True)}


LETTERS, SIGNS = table(GREEK), table(OTHER)
SPACES = {",": 0.17, ":": 0.22, ";": 0.28, " ": 0.25, "quad": 1, "qquad": 2, "!": 0}
UPRIGHT = ("mathrm", "text", "operatorname", "mathbf", "mathtt", "mathit", "textrm")
NOTHING = {"displaystyle", "limits", "nolimits", "big", "Big", "bigl", "bigr", "textstyle"}


def mathml(latex: str) -> str:
    """A formula as a `math` element, which keeps its LaTeX as an annotation.

    Raises:
        ValueError: where it has something that is not translated.
    """
    found = Parser(latex).row(())
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
                scripts["^"] = scripts.get("^", "") + f"<mo>{PRIME}</mo>"
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
        if token in ("}", "&"):
            raise ValueError(f"the formula {self.latex!r} has {token!r} where nothing should be.")
        if token[0] != "\\" or len(token) == 1:
            return plain(token)
        return self.command(token[1:])

    def command(self, name: str) -> str:
        """What a command says."""
        if name in LETTERS:
            return f"<mi>{LETTERS[name]}</mi>"
        if name in SIGNS:
            return f"<mo>{escape(SIGNS[name])}</mo>"
        if name in WORDS.split():
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
            return self.cells()
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

    def cells(self) -> str:
        """A matrix, or the cases of a function."""
        kind = self.words()
        if kind == "array":
            self.words()
        rows: list[str] = []
        cells: list[str] = []
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
    return f"<mo>{escape({'-': MINUS, '*': TIMES}.get(token, token))}</mo>"
