"""Small tools for the index's tests, as the index sees them."""

from dogubako.engine.search.lexical import LexicalIndex
from dogubako.engine.search.text import Document


def a_tool(name: str, description: str = "", *, key: str | None = None, group: str = "", **fields: str) -> Document:
    """A tool with these texts; `parameter_descriptions` and the like are fields of that name."""
    said = {name.replace("_", " "): text for name, text in fields.items()}
    return Document(key=key or name, name=name, group=group, fields={"name": name, "description": description, **said})


def index_of(*documents: Document) -> LexicalIndex:
    index = LexicalIndex()
    for document in documents:
        index.put(document)
    return index


def names_found(index: LexicalIndex, query: str) -> list[str]:
    return [key for key, _ in index.find(query)]
