"""What a tool may return: text, Markdown, XML, JSON, images, audio, resources and links."""

from dogubako.contract.output import (
    Audio,
    Blocks,
    Content,
    Embedded,
    Guidance,
    Image,
    Json,
    Link,
    Markdown,
    Message,
    Mixed,
    NextPage,
    Text,
    Xml,
    XmlElement,
    example_call,
)

__all__ = [
    "Audio",
    "Blocks",
    "Content",
    "Embedded",
    "Guidance",
    "Image",
    "Json",
    "Link",
    "Markdown",
    "Message",
    "Mixed",
    "NextPage",
    "Text",
    "Xml",
    "XmlElement",
    "example_call",
]
