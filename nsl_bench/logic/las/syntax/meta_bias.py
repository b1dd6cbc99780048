"""Reading ``#bias``: programs over what a rule holds, in the words of FastLAS or of ILASP.

FastLAS says `in_head(A)`, `in_body(A)` and `neg(A)`, and prices rules by `penalty(W,X)`. ILASP says
`head(A)`, `body(A)` and `naf(A)`, and only forbids rules. The rest of nsl-bench knows FastLAS's words alone.
"""

import re
from collections.abc import Iterator, Sequence

from clingo import ast

from nsl_bench.core.errors import UserError, did_you_mean
from nsl_bench.logic.asp import program as asp
from nsl_bench.logic.asp.parsing import nodes_in
from nsl_bench.logic.asp.program import Signature, parse
from nsl_bench.logic.las.language_bias import Dialect, ModeAtom, ModeBody, ModeHead

_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'", re.DOTALL)
_OWN: dict[Signature, str] = {("in_head", 1): "head", ("in_body", 1): "body"}
_PRICES: frozenset[Signature] = frozenset({("penalty", 2), ("invert", 1)})
_ILASP: dict[Signature, Signature] = {("head", 1): ("in_head", 1), ("body", 1): ("in_body", 1)}
_SWITCHES = {
    "allow_disjunction": "lets ILASP learn disjunctions",
    "weak_body": "builds weak constraints",
    "weight": "builds weak constraints",
    "priority": "builds weak constraints",
    "lb": "builds choice rules",
    "ub": "builds choice rules",
    "in_head": "builds choice rules",
    "head": "builds rules",
    "body": "builds rules",
}
"""What ILASP's programs may derive that changes the rules of the space."""

_WORDS = {"fastlas": {"in_head", "in_body"}, "ilasp": {"head", "body"}}
"""What programs ask for."""
_FIXES: dict[tuple[Dialect, Signature], str] = {
    ("fastlas", ("head", 1)): " FastLAS's word is 'in_head'.",
    ("fastlas", ("body", 1)): " FastLAS's word is 'in_body'.",
    ("fastlas", ("neg", 1)): " A negated literal in a body is 'in_body(neg(A))'.",
    ("ilasp", ("neg", 1)): " A negated literal in a body is 'body(naf(A))'.",
    ("ilasp", ("constraint", 0)): " --no-constraints leaves out constraints.",
}


def quoted_program(argument: str) -> str | None:
    """The program in the argument of ``#bias``, which is one string or several; None if it is none.

    Strings may have several lines, and single quotes as FastLAS allows them.
    """
    if not argument or _QUOTED.sub("", argument).strip():
        return None
    pieces = (double or single for double, single in _QUOTED.findall(argument))
    program = "".join(pieces).replace('\\"', '"').replace("\\\\", "\\").strip()
    return program if program.endswith(".") else program + "."


def spoken(program: asp.Program) -> Dialect | None:
    """Whose words a ``#bias`` program has; None if it has none of either."""
    if (_PRICES & program.derived) or program.signatures & _OWN.keys():
        return "fastlas"
    predicates = {name for name, _ in program.signatures} & {"constraint", *_SWITCHES}
    return "ilasp" if predicates or any("naf(" in rule.text for rule in program.rules) else None


def untold(bodies: Sequence[ModeBody], *, limited: bool, negative: bool) -> str:
    """Says that nothing tells a task's dialect, and what the two systems would do differently."""
    differs = ["ILASP charges 1 for each head and body literal and FastLAS nothing"]
    if any(isinstance(mode.literal, ModeAtom) and not mode.negated for mode in bodies):
        differs.append("ILASP also allows every body literal under 'not'")
    if any(mode.recall is not None for mode in bodies):
        differs.append("FastLAS ignores recalls")
    if bodies and not limited:
        differs.append("ILASP's bodies have at most 3 literals")
    if bodies and negative:
        differs.append("ILASP also learns constraints")
    return (
        f"nothing in it tells FastLAS's dialect from ILASP's, and the answers would differ: "
        f"{'; '.join(differs)}. Choose with --dialect fastlas or --dialect ilasp (in Python, dialect=...) or "
        "with a line '% dialect: fastlas' or '% dialect: ilasp' in the task."
    )


def in_own_words(program: asp.Program) -> asp.Program:
    """ILASP's program in FastLAS's words."""
    for rule in program.rules:
        for name, arity in sorted(rule.derives):
            if name in _SWITCHES and (name, arity) not in _PRICES:
                raise UserError(
                    f"'{name}' in #bias {_SWITCHES[name]}, which nsl-bench does not; declare modes, and let "
                    f"#bias forbid rules, e.g. ':- body(naf(A)).'; got '{rule.text}'."
                )
        if "var__(" in rule.text:
            raise UserError(
                f"#bias must compare variables by = and != alone, not name them by var__; got '{rule.text}'."
            )
    if not program.signatures & _ILASP.keys() and not any("naf(" in rule.text for rule in program.rules):
        return program
    words = _OwnWords()
    nodes = [str(words.visit(rule.node)) for rule in program.rules]
    return parse("\n".join([*map(str, program.constants), *nodes]), "#bias")


class _OwnWords(ast.Transformer):
    """Turns ILASP's words into FastLAS's."""

    def visit_SymbolicAtom(self, node: ast.AST) -> ast.AST:
        symbol = self.visit(node.symbol)
        if symbol.ast_type == ast.ASTType.Function:
            name, _ = _ILASP.get((symbol.name, len(symbol.arguments)), (symbol.name, 0))
            symbol = symbol.update(name=name)
        return node.update(symbol=symbol)

    def visit_Function(self, node: ast.AST) -> ast.AST:
        node = node.update(**self.visit_children(node))
        return node.update(name="neg") if (node.name, len(node.arguments)) == ("naf", 1) else node


def unheard(
    program: asp.Program,
    final: asp.Program,
    dialect: Dialect,
    heads: Sequence[ModeHead],
    bodies: Sequence[ModeBody],
) -> Iterator[str]:
    """What ``#bias`` programs ask for that can never hold, and derive in vain, a sentence each.

    Args:
        program: the program of ``#bias`` in FastLAS's words.
        final: that of ``#final_bias``.
    """
    placed = {
        "in_head": {mode.atom.signature for mode in heads},
        "in_body": {mode.literal.signature for mode in bodies if isinstance(mode.literal, ModeAtom)},
    }
    derived = {name for name, _ in program.derived - _PRICES}
    for signature in sorted(program.signatures - program.derived - _OWN.keys() - _PRICES):
        name, arity = signature
        fix = _FIXES.get((dialect, signature)) or did_you_mean(name, derived | _WORDS[dialect])
        if signature in placed["in_body"]:
            word, atom = min(_WORDS[dialect]), f"{name}(...)" if arity else name
            fix = f" A body literal is '{word}({atom})'."
        name = "naf" if dialect == "ilasp" and name == "neg" else name
        if dialect == "ilasp":
            raise UserError(f"#bias asks for {name}/{arity}, which nothing derives.{fix}")
        yield f"#bias asks for {name}/{arity}, which nothing derives, so that it never holds.{fix}"
    for name, arity in sorted(final.signatures - final.derived - _PRICES):
        if (name, arity) != ("intermediate", 1) or ("intermediate", 1) not in program.derived:
            yield f"#final_bias asks for {name}/{arity}, which nothing derives, so that it never holds."
    read = {("intermediate", 1)} if final.rules else set()
    for name, arity in sorted(program.derived - _PRICES - read.union(*(rule.body for rule in program.rules))):
        fix = did_you_mean(name, ["penalty(W,X)" if name == "penalty" else "penalty", "invert"])
        fix = fix if "Did you mean" in fix else ""
        yield f"#bias derives {name}/{arity}, which says nothing of a rule and is read nowhere.{fix}"
    seen: set[tuple[str, Signature]] = set()
    for place, signature in (each for rule in program.rules for each in _asked(rule)):
        if (place, signature) not in seen and signature not in placed[place] | {("binop", 3)}:
            seen.add((place, signature))
            own = _OWN[place, 1] if dialect == "ilasp" else place
            fix = " A negated literal is 'neg(A)'." if signature == ("naf", 1) else ""
            asked = f"{own}({signature[0]}/{signature[1]})"
            yield f"#bias asks for {asked}, which no mode declares, so that it never holds.{fix}"


def _asked(rule: asp.Rule) -> Iterator[tuple[str, Signature]]:
    """The predicates that a rule asks for, each with where: in heads or in bodies."""
    atoms = nodes_in(rule.node, ast.ASTType.SymbolicAtom)
    for atom in sorted(atoms, key=_place):
        for term, negated in asp.atom_terms(atom.symbol):
            if (term.name, len(term.arguments)) in _OWN and not negated:
                for signature in _literals(term.arguments[0]):
                    yield term.name, signature


def _place(atom: ast.AST) -> tuple[int, int]:
    begin = atom.symbol.location.begin
    return begin.line, begin.column


def _literals(term: ast.AST) -> Iterator[Signature]:
    """The predicates of the literals that a term stands for."""
    if term.ast_type == ast.ASTType.Pool:
        yield from (signature for each in term.arguments for signature in _literals(each))
    elif term.ast_type == ast.ASTType.UnaryOperation:
        yield from _literals(term.argument)
    elif term.ast_type == ast.ASTType.Function and (term.name, len(term.arguments)) == ("neg", 1):
        yield from _literals(term.arguments[0])
    elif term.ast_type == ast.ASTType.Function:
        yield term.name, len(term.arguments)
    elif term.ast_type == ast.ASTType.SymbolicTerm and re.fullmatch(r"_*[a-z]\w*", str(term)):
        yield str(term), 0
