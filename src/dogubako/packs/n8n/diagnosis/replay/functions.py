"""Parse functions, classes and the targets of declarations."""

from dogubako.packs.n8n.diagnosis.javascript import ParseError
from dogubako.packs.n8n.diagnosis.replay.syntax import Expressions, Tree


class Functions(Expressions):
    """A parser of functions and classes."""

    def _arrow(self) -> Tree | None:
        start = self._place
        if (
            self.at("async")
            and not self.ahead().on_new_line
            and (self.ahead().text == "(" or self.ahead(2).text == "=>")
        ):
            self.take()
        line = self.now.line
        if self.now.kind == "name" and self.ahead().text == "=>":
            targets: list[Tree] = [Tree("name", line, self.take().text)]
        elif self.at("(") and self._is_arrow():
            targets = self.targets()
        else:
            self._place = start
            return None
        self.expect("=>")
        body = self.block() if self.at("{") else Tree("return", self.now.line, None, (self.assignment(),))
        return Tree("function", line, ("", True), (body, *targets))

    def _is_arrow(self) -> bool:
        depth = 0
        for place in range(self._place, len(self._tokens)):
            token = self._tokens[place]
            if token.kind == "sign":
                depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
                if depth == 0:
                    return self._tokens[min(place + 1, len(self._tokens) - 1)].text == "=>"
        return False

    def function(self, name: str, line: int) -> Tree:
        targets = self.targets()
        return Tree("function", line, (name, False), (self.block(), *targets))

    def targets(self) -> list[Tree]:
        self.expect("(")
        found = []
        while not self.accept(")"):
            line = self.now.line
            found.append(Tree("spread", line, None, (self.target(),)) if self.accept("...") else self.defaulted())
            if not self.accept(","):
                self.expect(")")
                break
        return found

    def defaulted(self) -> Tree:
        target = self.target()
        return Tree("default", target.line, None, (target, self.assignment())) if self.accept("=") else target

    def target(self) -> Tree:
        line = self.now.line
        if self.accept("{"):
            return self._object_target(line)
        if self.accept("["):
            parts: list[Tree | None] = []
            while not self.accept("]"):
                if self.accept(","):
                    parts.append(None)
                    continue
                rest = self.accept("...")
                parts.append(Tree("spread", line, None, (self.target(),)) if rest else self.defaulted())
                if not self.accept(","):
                    self.expect("]")
                    break
            return Tree("list-target", line, None, tuple(parts))
        return Tree("name", line, self.name())

    def _object_target(self, line: int) -> Tree:
        parts: list[Tree] = []
        while not self.accept("}"):
            at = self.now.line
            if self.accept("..."):
                parts.append(Tree("spread", at, None, (self.target(),)))
            else:
                key = self._key()
                if key.kind != "literal":
                    raise ParseError("a computed key")
                inner = self.defaulted() if self.accept(":") else Tree("name", at, key.value)
                if inner.kind == "name" and self.accept("="):
                    inner = Tree("default", at, None, (inner, self.assignment()))
                parts.append(Tree("part", at, key.value, (inner,)))
            if not self.accept(","):
                self.expect("}")
                break
        return Tree("object-target", line, None, tuple(parts))

    def class_(self) -> Tree:
        line = self.expect("class").line
        name = self.name() if self.now.kind == "name" and not self.at("extends") else ""
        parent = self.chain() if self.accept("extends") else None
        methods: list[Tree] = []
        self.expect("{")
        while not self.accept("}"):
            if self.accept(";"):
                continue
            at, is_static = self.now.line, self.at("static") and self.ahead().text != "("
            if is_static:
                self.take()
            is_word = self.at("async", "get", "set") and self.ahead().text not in ("(", "=", ";")
            word = self.take().text if is_word else ""
            if word == "set":
                raise ParseError("a setter")
            key = self._key()
            if self.at("("):
                made: Tree | None = self.function(str(key.value), at)
            else:
                made = self.assignment() if self.accept("=") else None
                self.end_statement()
            methods.append(Tree("method", at, (str(key.value), is_static, word == "get"), (made,)))
        return Tree("class", line, (name,), (parent, *methods))
