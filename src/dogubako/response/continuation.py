"""Continue an answer that did not fit, for every tool that reads, also for tools without pages.

The rest of an answer is not stored. `read_more` runs the tool again and continues where the last answer ended, so
that it works with any number of servers and after a restart.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, TypeVar, cast

import msgspec

from dogubako.contract.call import FROM_THE_START, Resume
from dogubako.contract.errors import ValidationError
from dogubako.contract.output import Blocks, Content, Json, Markdown, Mixed, Text, Xml, XmlElement, call_text
from dogubako.response.jsonable import clean_text, read_back, with_short_names
from dogubako.response.truncation import Cut
from dogubako.response.xml import masked

READ_MORE = "read_more"
# Answers that can be cut within. Pictures, sounds, files and links are shown whole or not at all.
CUTTABLE: Final = (str, Text, Markdown, Xml, Json, Blocks)
Parts = TypeVar("Parts", bound=Sequence[Any])

# A longer call would cost more tokens than it is worth.
_LONGEST_ARGUMENTS = 1_000
# No container has so many members that its index needs more digits.
_INDEX = re.compile(r"[0-9]{1,9}")
_SEGMENT = re.compile(r"([^\[\]/]+)(?:\[([0-9]{1,9})\])?")


class Continuation(msgspec.Struct, frozen=True):
    """One call, and where in its answer to begin: enough to name the call that reads on."""

    tool: str
    arguments: Mapping[str, Any]
    resume: Resume | None = None

    @property
    def resumes(self) -> bool:
        """Whether the call reads on in an answer."""
        return self.resume is not None and self.resume != FROM_THE_START

    def begin(self, answer: Any, mask: Callable[[str], str] = str) -> Any:
        """The answer from where the last one ended. `mask` takes secrets out first: a caller may begin anywhere."""
        if not self.resumes:
            return answer
        match answer:
            case str():
                return self._text_rest([answer], mask)
            case Text():
                return self._text_rest([answer.text], mask)
            case Markdown():
                return self._text_rest(answer.blocks, mask)
            case Xml():
                return Xml(root=_xml_rest(masked(answer.root, mask), self._from))
            case Json():
                return Json(data=_json_rest(_masked_data(answer.data, mask), self._from), message=answer.message)
            case Blocks(content=list() | tuple() as content) if content or answer.structured is None:
                return self._blocks_rest(answer, content, mask)
            case Blocks():
                return Json(data=_json_rest(_masked_data(answer.structured, mask), self._from))
            case Mixed(parts=parts):
                return self._part_rest(answer, parts, mask)
            case list() | tuple() if answer and all(isinstance(part, Content) for part in answer):
                return self._part_rest(answer, answer, mask)
            case Content():
                return answer
        # Whatever else a tool returns is JSON: containers, models, dataclasses.
        return Json(data=_json_rest(_masked_data(answer, mask), self._from))

    def _part_rest(self, answer: Any, parts: Sequence[Any], mask: Callable[[str], str]) -> Any:
        """Of several parts only one can be cut so that a call names its rest: the only one that is no picture."""
        cuttable = [part for part in parts if isinstance(part, CUTTABLE)]
        return self.begin(cuttable[0], mask) if len(cuttable) == 1 else answer

    def _text_rest(self, blocks: Sequence[str], mask: Callable[[str], str]) -> Text:
        text = "\n\n".join(mask(clean_text(block)) for block in blocks)
        return Text(text=_rest(text, self._from.offset, "characters"))

    def _blocks_rest(self, answer: Blocks, content: Sequence[Any], mask: Callable[[str], str]) -> Blocks | Text:
        """The blocks from one on, or the rest of the text of one block."""
        if not self._from.path:
            return msgspec.structs.replace(answer, content=_rest(content, self._from.offset, "blocks"))
        index = int(self._from.path) if self._from.path.isdecimal() else len(content)
        block = content[index] if index < len(content) else None
        source = block.get("resource", block) if isinstance(block, Mapping) else None
        text = source.get("text") if isinstance(source, Mapping) else None
        if not isinstance(text, str):
            raise _no_such_path()
        return self._text_rest([text], mask)

    def next_call(self, cut: Cut) -> str | None:
        """The call that shows what this cut left out."""
        if len(msgspec.json.encode(self.arguments)) > _LONGEST_ARGUMENTS:
            return None
        path, offset = self._absolute(cut)
        if Resume(path=path, offset=offset) == self._from:
            # Nothing of this place could be shown; the same call again would show as little.
            return None
        where = {"path": path} if path else {}
        return call_text(READ_MORE, {"tool": self.tool, "arguments": dict(self.arguments), **where, "offset": offset})

    @property
    def _from(self) -> Resume:
        return self.resume or FROM_THE_START

    def _absolute(self, cut: Cut) -> tuple[str, int]:
        """Convert the path of a cut, relative to this answer, to one relative to the whole answer."""
        separator = "." if f"{cut.path}.".startswith("data.") else "/"
        below = cut.path.split(separator)[1:] if cut.path else []
        if not below:
            return self._from.path, self._from.offset + cut.position
        if below[0].isdigit():
            below[0] = str(int(below[0]) + self._from.offset)
        return separator.join([*([self._from.path] if self._from.path else []), *below]), cut.position


def _masked_data(data: Any, mask: Callable[[str], str]) -> Any:
    return read_back(data, mask)


def _json_rest(data: Any, resume: Resume) -> Any:
    path = resume.path
    if not (isinstance(data, dict) and "data" in data):
        # The note in the answer says `data.rows` for what is `rows` here.
        path = path.removeprefix("data.")
    keys = path.split(".") if path else []
    while keys:
        data, keys = _step(data, keys)
    if isinstance(data, dict):
        return dict(_rest(list(data.items()), resume.offset, "fields"))
    if isinstance(data, list | str):
        return _rest(data, resume.offset, "characters" if isinstance(data, str) else "items")
    return data


def _rest(whole: Parts, offset: int, unit: str) -> Parts:
    """What follows after so many parts. An empty rest would look like an answer."""
    if offset and offset >= len(whole):
        size = f"{len(whole):,} {unit if len(whole) != 1 else unit.removesuffix('s')}"
        message = f"Invalid value for parameter offset: there is nothing more, it has {size}"
        raise ValidationError.of("offset", message, hint="The answer was read to its end.")
    # A slice of a sequence is one of the same type, which its own types do not say.
    return cast("Parts", whole[offset:])


def _step(data: Any, keys: list[str]) -> tuple[Any, list[str]]:
    if isinstance(data, list) and _INDEX.fullmatch(keys[0]) and int(keys[0]) < len(data):
        return data[int(keys[0])], keys[1:]
    if isinstance(data, dict):
        if "…" in ".".join(keys):
            data = {**with_short_names(data), **data}
        longest = max(map(len, data), default=0)
        # A key may contain dots.
        for size, key in enumerate(accumulate(keys, "{}.{}".format), 1):
            if key in data:
                return data[key], keys[size:]
            if len(key) > longest:
                break
    raise _no_such_path()


def _xml_rest(root: XmlElement, resume: Resume) -> XmlElement:
    for segment in resume.path.split("/") if resume.path else ():
        match = _SEGMENT.fullmatch(segment)
        children = root.children
        if match is None or isinstance(children, str):
            raise _no_such_path()
        alike = [child for child in children if child.tag == match[1]]
        number = int(match[2] or 0)
        if number >= len(alike):
            raise _no_such_path()
        root = alike[number]
    unit = "characters" if isinstance(root.children, str) else "elements"
    return XmlElement(root.tag, root.attributes, _rest(root.children, resume.offset, unit))


def _no_such_path() -> ValidationError:
    return ValidationError.of("path", "Invalid value for parameter path: the answer has no such place")
