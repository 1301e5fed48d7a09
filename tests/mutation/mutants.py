"""Planting faults: a source in which each of many small changes can be turned on by its number."""

from __future__ import annotations

import ast
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

IS_ON = "is_on"

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
NAMES = {"_0": "_1", "_1": "_0"}


@dataclass(frozen=True)
class Mutant:
    """One small change."""

    number: int
    file: str
    line: int
    function: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.before} -> {self.after}"


class Planter(ast.NodeTransformer):
    """Puts a switch around whatever can be changed inside of functions."""

    def __init__(self, file: str, first: int) -> None:
        self.file = file
        self.first = first
        self.mutants: list[Mutant] = []
        self._function = ""

    def plant(self, source: str) -> str:
        """The source with switches."""
        tree = self.visit(ast.parse(source))
        lines = ast.unparse(ast.fix_missing_locations(tree))
        import_ = f"from tests.mutation.switch import {IS_ON}"
        future = "from __future__ import annotations"
        return lines.replace(future, f"{future}\n{import_}", 1)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer, self._function = self._function, node.name
        start = 1 if ast.get_docstring(node) is not None else 0
        body = [self.visit(statement) for statement in node.body[start:]]
        node.body = node.body[:start] + body
        self._function = outer
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        is_text = any(isinstance(side, ast.JoinedStr) for side in (node.left, node.right))
        swapped = OPERATORS.get(type(node.op))
        if swapped is None or is_text:
            return self.generic_visit(node)
        after = ast.BinOp(node.left, swapped(), node.right)
        return self._switch(node, after)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) != 1:
            return self.generic_visit(node)
        others = COMPARISONS[type(node.ops[0])]
        return self._switch(
            node, *(ast.Compare(node.left, [other()], node.comparators) for other in others)
        )

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        swapped = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return self._switch(node, ast.BoolOp(swapped, node.values))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not):
            return self._switch(node, _not(node))
        if isinstance(node.op, ast.Invert):
            return self._switch(node, node.operand)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            return self._switch(node, ast.Constant(not node.value))
        if isinstance(node.value, int):
            return self._switch(node, ast.Constant(node.value + 1))
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        other = NAMES.get(node.id)
        if other is None or not isinstance(node.ctx, ast.Load):
            return node
        return self._switch(node, ast.Name(other, ast.Load()))

    def visit_If(self, node: ast.If) -> ast.AST:
        is_plain = isinstance(node.test, ast.Name | ast.Subscript | ast.Call | ast.Attribute)
        if is_plain and self._function:
            after = _not(deepcopy(node.test))
            number = self._new(node, node.test, after)
            node = self.generic_visit(node)  # type: ignore[assignment]
            node.test = self._choose(number, after, _not(_not(node.test)))
            return node
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        swapped = OPERATORS.get(type(node.op))
        if swapped is None or not self._function:
            return node
        after = ast.AugAssign(node.target, swapped(), node.value)
        number = self._new(node, node, after)
        changed = deepcopy(after)
        self.generic_visit(node)
        return ast.If(_is_on(number), [changed], [node])

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if not isinstance(node.value, ast.Call):
            return node
        return self._may_be_left_out(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if self._function and isinstance(node.targets[0], ast.Subscript):
            return self._may_be_left_out(node)
        node.value = self.visit(node.value)
        return node

    def visit_Break(self, node: ast.Break) -> ast.AST:
        return self._may_be_left_out(node)

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return self._may_be_left_out(node)

    def _leave(self, node: ast.AST) -> ast.AST:
        return node

    # What says nothing of the rules
    visit_Raise = visit_JoinedStr = visit_arguments = visit_AnnAssign = visit_Assert = _leave  # noqa: N815
    visit_Import = visit_ImportFrom = _leave  # noqa: N815

    def _switch(self, node: ast.expr, *afters: ast.expr) -> ast.AST:
        if not self._function:
            return node
        numbers = [self._new(node, node, after) for after in afters]
        changed = [deepcopy(after) for after in afters]
        result: ast.expr = self.generic_visit(node)  # type: ignore[assignment]
        for number, after in zip(numbers, changed, strict=True):
            result = self._choose(number, after, result)
        return result

    def _may_be_left_out(self, node: ast.stmt) -> ast.AST:
        if not self._function:
            return node
        number = self._new(node, node, None)
        self.generic_visit(node)
        return ast.If(_not(_is_on(number)), [node], [])

    def _choose(self, number: int, changed: ast.expr, otherwise: ast.expr) -> ast.expr:
        return ast.IfExp(_is_on(number), changed, otherwise)

    def _new(self, at: ast.AST, before: ast.AST, after: ast.AST | None) -> int:
        number = self.first + len(self.mutants)
        text = "(left out)" if after is None else ast.unparse(after)
        line: int = at.lineno  # type: ignore[attr-defined]
        self.mutants.append(
            Mutant(number, self.file, line, self._function, ast.unparse(before), text)
        )
        return number


def _not(node: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), node)


def _is_on(number: int) -> ast.expr:
    return ast.Call(ast.Name(IS_ON, ast.Load()), [ast.Constant(number)], [])


def planted(files: list[str], read: Callable[[str], str]) -> tuple[dict[str, str], list[Mutant]]:
    """Each file's source with switches, and all mutants in the order of their numbers."""
    sources, mutants = {}, []
    for file in files:
        planter = Planter(file, len(mutants))
        sources[file] = planter.plant(read(file))
        mutants += planter.mutants
    return sources, mutants
