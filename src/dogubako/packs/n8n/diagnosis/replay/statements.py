"""Parse the code of a node into a tree."""

from dogubako.packs.n8n.diagnosis.javascript import ParseError
from dogubako.packs.n8n.diagnosis.replay.functions import Functions
from dogubako.packs.n8n.diagnosis.replay.syntax import DEEPEST, Tree
from dogubako.packs.n8n.diagnosis.replay.tokens import Token, tokens_of


def parse_script(code: str) -> Tree:
    """The whole code as one block."""
    parser = Statements(tokens_of(code))
    try:
        return Tree("block", 1, None, tuple(parser.statements("")))
    except RecursionError:
        raise ParseError("too deep") from None


class Statements(Functions):
    """A parser of statements."""

    def statements(self, closing: str) -> list[Tree]:
        found = []
        while not (self.at(closing) if closing else self.now.kind == "end"):
            if self.now.kind == "end":
                raise ParseError(f"{closing} expected")
            found.append(self.statement())
        return found

    def block(self) -> Tree:
        line = self.expect("{").line
        inner = self.statements("}")
        self.expect("}")
        return Tree("block", line, None, tuple(inner))

    def statement(self) -> Tree:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ParseError("too deep")
        token = self.now
        made = self._statement(token)
        self._depth -= 1
        return made

    def _statement(self, token: Token) -> Tree:
        if self.at("{"):
            return self.block()
        if self.accept(";"):
            return Tree("block", token.line)
        is_call = self.ahead().text in ("(", ".", "=", "=>")
        method = getattr(self, f"_{token.text}_statement", None) if token.kind == "name" else None
        if token.text == "async" and self.ahead().text == "function":
            self.take()
            return self._function_statement(self.now)
        if method is not None and not (is_call and token.text in ("function", "class", "let")):
            made: Tree = method(token)
            return made
        expression = self.expression()
        self.end_statement()
        return Tree("expression", token.line, None, (expression,))

    def end_statement(self) -> None:
        if not self.accept(";") and not (self.at("}") or self.now.on_new_line):
            raise ParseError("; expected")

    def _const_statement(self, token: Token) -> Tree:
        made = self.declaration()
        self.end_statement()
        return made

    _let_statement = _var_statement = _const_statement

    def declaration(self) -> Tree:
        line, kind = self.now.line, self.take().text
        parts: list[Tree | None] = []
        while True:
            target = self.target()
            parts += [target, self.assignment() if self.accept("=") else None]
            if not self.accept(","):
                return Tree("declare", line, kind, tuple(parts))

    def _function_statement(self, token: Token) -> Tree:
        self.take()
        if self.at("*"):
            raise ParseError("a generator")
        name = self.name()
        return Tree("define", token.line, name, (self.function(name, token.line),))

    def _class_statement(self, token: Token) -> Tree:
        made = self.class_()
        return Tree("define", token.line, made.value[0], (made,))

    def _if_statement(self, token: Token) -> Tree:
        self.take()
        condition = self.in_parentheses()
        chosen = self.statement()
        other = self.statement() if self.accept("else") else None
        return Tree("if", token.line, None, (condition, chosen, other))

    def _while_statement(self, token: Token) -> Tree:
        self.take()
        condition = self.in_parentheses()
        return Tree("for", token.line, None, (None, condition, None, self.statement()))

    def _for_statement(self, token: Token) -> Tree:
        self.take()
        self.accept("await")
        self.expect("(")
        first: Tree | None = None
        if self.at("const", "let", "var") and not self._is_counted():
            self.take()
            target, word = self.target(), self.name()
            if word not in ("of", "in"):
                raise ParseError("of expected")
            listed = self.expression()
            self.expect(")")
            return Tree(f"for-{word}", token.line, None, (target, listed, self.statement()))
        if not self.at(";"):
            first = self.declaration() if self.at("const", "let", "var") else self.expression()
        self.expect(";")
        condition = None if self.at(";") else self.expression()
        self.expect(";")
        step = None if self.at(")") else self.expression()
        self.expect(")")
        return Tree("for", token.line, None, (first, condition, step, self.statement()))

    def _is_counted(self) -> bool:
        """Whether a `;` comes before `of` or `in` in the head of a loop."""
        depth = 0
        for token in self._tokens[self._place :]:
            if token.kind == "end" or (depth == 0 and token.text in (")", "of", "in") and token.kind != "text"):
                return False
            if depth == 0 and token.text in (";", "=") and token.kind == "sign":
                return True
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        return False

    def _return_statement(self, token: Token) -> Tree:
        self.take()
        bare = self.at(";", "}") or self.now.on_new_line
        value = None if bare else self.expression()
        self.end_statement()
        return Tree("return", token.line, None, (value,))

    def _throw_statement(self, token: Token) -> Tree:
        self.take()
        value = self.expression()
        self.end_statement()
        return Tree("throw", token.line, None, (value,))

    def _break_statement(self, token: Token) -> Tree:
        self.take()
        self.end_statement()
        return Tree(token.text, token.line)

    _continue_statement = _break_statement

    def _try_statement(self, token: Token) -> Tree:
        self.take()
        body, caught, target, last = self.block(), None, None, None
        if self.accept("catch"):
            if self.accept("("):
                target = self.target()
                self.expect(")")
            caught = self.block()
        if self.accept("finally"):
            last = self.block()
        return Tree("try", token.line, None, (body, target, caught, last))

    def _switch_statement(self, token: Token) -> Tree:
        self.take()
        subject, cases = self.in_parentheses(), []
        self.expect("{")
        while not self.accept("}"):
            line = self.now.line
            tested = None
            if not self.accept("default"):
                self.expect("case")
                tested = self.expression()
            self.expect(":")
            body = []
            while not self.at("case", "default", "}"):
                body.append(self.statement())
            cases.append(Tree("case", line, tested is None, (tested, Tree("block", line, None, tuple(body)))))
        return Tree("switch", token.line, None, (subject, *cases))
