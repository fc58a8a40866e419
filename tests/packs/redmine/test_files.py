"""Files on their way to Redmine and back: from open folders only, nothing overwritten, whatever they are called."""

from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest
from PIL import Image

from .made import JsonObject, Reply, document, made
from .wired import Bench, bench


def drawn(width: int, height: int, mode: str = "RGB") -> bytes:
    target = BytesIO()
    Image.effect_noise((width, height), 90).convert(mode).save(target, "PNG")
    return target.getvalue()


OUTSIDE: Final = "it is outside of the folders in DOGUBAKO_FILES"
MISSING: Final = "there is no such file"
PICTURE: Final = drawn(30, 20)
NONE_OPEN: Final = "no folder is open to file tools; an operator can name some in DOGUBAKO_FILES"


def furnish(folder: Path) -> str:
    """Two open folders and a closed one beside them; the setting that opens the two."""
    for name in ("open", "also", "closed"):
        (folder / name).mkdir()
        (folder / name / "a.txt").write_text(f"in {name}")
    (folder / "open" / "deep").mkdir()
    (folder / "open" / "deep" / "b.txt").write_text("deep")
    (folder / "open" / "out.txt").symlink_to(folder / "closed" / "a.txt")
    (folder / "open" / "out").symlink_to(folder / "closed")
    (folder / "open" / "across.txt").symlink_to(folder / "also" / "a.txt")
    return f"{folder / 'open'}, {folder / 'also'}"


def stored(redmine: Bench, upload: JsonObject) -> tuple[str, bytes]:
    """What Redmine really got: name and content."""
    row = redmine.wire.store["attachments"].at(upload["id"])
    return row["filename"], b64decode(row["data"])


def with_file(content: bytes, name: str = "a.txt", kind: str = "text/plain", **more: Any) -> dict[str, Reply]:
    """A Redmine with one attachment."""
    record = {"id": 7, "filename": name, "filesize": len(content), "content_type": kind, **more}

    def download(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "application/octet-stream"}, content=content)

    return {"/attachments/7": {"attachment": record}, f"/attachments/download/7/{name}": download}


@pytest.mark.parametrize(
    ("given", "name", "content"),
    [
        pytest.param({"path": "a.txt"}, "a.txt", b"in open", id="from a folder"),
        pytest.param({"path": "deep/b.txt"}, "b.txt", b"deep", id="from deeper"),
        pytest.param({"path": "across.txt"}, "across.txt", b"in also", id="a link into another open folder"),
        pytest.param({"path": "{folder}/also/a.txt"}, "a.txt", b"in also", id="a whole path"),
        pytest.param({"path": "a.txt", "filename": "other.md"}, "other.md", b"in open", id="under another name"),
        pytest.param({"text": "Grüße, 道具箱", "filename": "x.txt"}, "x.txt", "Grüße, 道具箱".encode(), id="text"),
        pytest.param({"text": "", "filename": "x.txt"}, "x.txt", b"", id="an empty text"),
        pytest.param({"base64": b64encode(PICTURE).decode(), "filename": "x.png"}, "x.png", PICTURE, id="base64"),
        pytest.param({"text": "x", "filename": "ä & 日本 +1.txt"}, "ä & 日本 +1.txt", b"x", id="an odd name"),
    ],
)
async def test_a_file_is_sent_as_it_is(tmp_path: Path, given: dict[str, str], name: str, content: bytes) -> None:
    async with bench(tmp_path, DOGUBAKO_FILES=furnish(tmp_path)) as redmine:
        arguments = {key: value.format(folder=tmp_path) for key, value in given.items()}
        upload = (await redmine.data("upload_attachment", **arguments))["upload"]

        assert stored(redmine, upload) == (name, content)
        assert (upload["filename"], upload["filesize"]) == (name, len(content))
        [sent] = [one for one in redmine.wire.requests if one.method == "POST"]
        assert sent.headers["content-type"] == "application/octet-stream"


async def test_a_file_that_was_sent_can_be_attached_and_read_again(tmp_path: Path) -> None:
    async with bench(tmp_path) as redmine:
        upload = (await redmine.data("upload_attachment", text="Grüße", filename="g.txt"))["upload"]
        file = {"token": upload["token"], "filename": upload["filename"]}
        changed = await redmine.data("update_issue", id=1, notes="See the file", uploads=[file])
        attached = (await redmine.data("show_issue", id=1))["issue"]["attachments"]
        [number] = [one["id"] for one in attached if one["filename"] == "g.txt"]
        shown = (await redmine.data("show_attachment", id=number))["attachment"]

    assert changed["issue"]["id"] == 1
    assert shown["text"] == "Grüße"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("../closed/a.txt", OUTSIDE, id="up and away"),
        pytest.param("{folder}/closed/a.txt", OUTSIDE, id="a whole path elsewhere"),
        pytest.param("out.txt", MISSING, id="a link to a file outside"),
        pytest.param("out/a.txt", MISSING, id="a link to a folder outside"),
        pytest.param("/etc/passwd", OUTSIDE, id="of the system"),
        pytest.param("deep", MISSING, id="a folder"),
        pytest.param("gone.txt", MISSING, id="not there"),
        pytest.param("a\0b", "it is no path", id="a zero byte"),
    ],
)
async def test_no_other_file_is_sent(tmp_path: Path, path: str, reason: str) -> None:
    async with bench(tmp_path, DOGUBAKO_FILES=furnish(tmp_path)) as redmine:
        message, _ = await redmine.refusal("upload_attachment", path=path.format(folder=tmp_path))

        assert message == f"Invalid value for parameter path: {reason}"
        assert redmine.wire.asked() == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({}, "Give exactly one of path, text and base64", id="nothing"),
        pytest.param({"text": "a", "base64": "YQ=="}, "Give exactly one of path, text and base64", id="two"),
        pytest.param({"text": "a"}, "Required parameter missing: filename", id="no name"),
        pytest.param(
            {"base64": "no base64!", "filename": "a"}, "Invalid value for parameter base64: it is not base64", id="odd"
        ),
        pytest.param({"path": "a.txt"}, f"Invalid value for parameter path: {NONE_OPEN}", id="no open folder"),
    ],
)
async def test_a_wrong_upload_is_refused_before_anything_is_sent(
    tmp_path: Path, given: dict[str, str], message: str
) -> None:
    async with bench(tmp_path) as redmine:
        assert (await redmine.refusal("upload_attachment", **given))[0] == message
        assert redmine.wire.asked() == []


async def test_a_file_that_redmine_finds_too_large_is_refused_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "big.bin").write_bytes(b"x" * (5 * 1024 * 1024 + 1))
    async with bench(tmp_path, DOGUBAKO_FILES=str(tmp_path)) as redmine:
        message, hint = await redmine.refusal("upload_attachment", path="big.bin")

    assert message.startswith("Failed to upload file: ")
    assert "5,242,881 bytes" in hint


async def test_a_file_that_is_too_large_for_us_is_not_even_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dogubako.packs.redmine.tools.attachments._LARGEST", 10)
    (tmp_path / "big.bin").write_bytes(b"x" * 11)
    async with bench(tmp_path, DOGUBAKO_FILES=str(tmp_path)) as redmine:
        message, _ = await redmine.refusal("upload_attachment", path="big.bin")

    assert message == "Invalid value for parameter path: the file is larger than 10 bytes"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("Grüße 道具箱".encode(), "Grüße 道具箱", id="UTF-8"),
        pytest.param(b"\xef\xbb\xbfGr\xc3\xbc\xc3\x9fe", "Grüße", id="with a byte order mark"),
        pytest.param("Grüße".encode("latin-1"), "Grüße", id="Latin-1"),
        pytest.param(b"", None, id="empty"),
        pytest.param(b"a\x00b", "a\ufffdb", id="a zero byte"),
        pytest.param(b"a\r\nb", "a\nb", id="line ends"),
    ],
)
async def test_a_text_is_shown_as_text(tmp_path: Path, content: bytes, text: str | None) -> None:
    async with bench(tmp_path, answers=made(with_file(content)), REDMINE_FORMAT="xml") as redmine:
        root = document(await redmine.call("show_attachment", id=7))

    assert (root.findtext("text") or None) == text
    assert root.find("text") is None or root.find("text[@untrusted='true']") is not None


async def test_a_picture_is_shown_as_a_picture(tmp_path: Path) -> None:
    async with bench(tmp_path, answers=made(with_file(PICTURE, "p.png", "image/png"))) as redmine:
        result = await redmine.call("show_attachment", id=7)

    assert result.code == "OK"
    assert [block["type"] for block in result.content] == ["text", "image"]
    assert result.content[1] == {"type": "image", "data": b64encode(PICTURE).decode(), "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("show_as", "kind", "has"),
    [
        pytest.param("auto", "application/zip", "hint", id="neither text nor picture"),
        pytest.param("auto", "", "hint", id="of no known type"),
        pytest.param("text", "application/zip", "text", id="as text all the same"),
        pytest.param("auto", "application/json", "text", id="JSON is text"),
        pytest.param("auto", "image/svg+xml", "hint", id="a drawing that can run code"),
    ],
)
async def test_other_files_are_described(tmp_path: Path, show_as: str, kind: str, has: str) -> None:
    async with bench(tmp_path, answers=made(with_file(b"PK\x03\x04", "a.zip", kind))) as redmine:
        shown = (await redmine.data("show_attachment", id=7, show_as=show_as))["attachment"]

    assert {"hint", "text"} & set(shown) == {has}


async def test_what_is_no_picture_is_not_shown_as_one(tmp_path: Path) -> None:
    async with bench(tmp_path, answers=made(with_file(b"x", "a.zip", "application/zip"))) as redmine:
        message, hint = await redmine.refusal("show_attachment", id=7, show_as="image")

    assert message == "Invalid value for parameter show_as: the file is no picture that can be shown"
    assert "image/png" in hint


@pytest.mark.parametrize("show_as", ["auto", "image"])
async def test_a_file_is_saved_below_an_open_folder(tmp_path: Path, show_as: str) -> None:
    places = made(with_file(PICTURE, "p.png", "image/png"))
    async with bench(tmp_path, answers=places, DOGUBAKO_FILES=furnish(tmp_path)) as redmine:
        data = await redmine.data("show_attachment", id=7, show_as=show_as, save_to="deep/p.png")

    assert data["attachment"]["saved_to"] == str(tmp_path / "open" / "deep" / "p.png")
    assert (tmp_path / "open" / "deep" / "p.png").read_bytes() == PICTURE


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("a.txt", "there is such a file already, and nothing is overwritten", id="there already"),
        pytest.param("deep", "there is such a file already, and nothing is overwritten", id="a folder"),
        pytest.param("no/such/p.png", "the file cannot be written (No such file or directory)", id="no such folder"),
        pytest.param("../closed/p.png", OUTSIDE, id="outside"),
        pytest.param("{folder}/closed/p.png", OUTSIDE, id="a whole path outside"),
    ],
)
async def test_nothing_is_saved_elsewhere_or_overwritten(tmp_path: Path, path: str, reason: str) -> None:
    places = made(with_file(b"new"))
    async with bench(tmp_path, answers=places, DOGUBAKO_FILES=furnish(tmp_path)) as redmine:
        before = files_in(tmp_path)
        message, _ = await redmine.refusal("show_attachment", id=7, save_to=path.format(folder=tmp_path))

    assert message == f"Invalid value for parameter save_to: {reason}"
    assert files_in(tmp_path) == before


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below the folders of the test, without what the server keeps for itself."""
    places = (folder / name for name in ("open", "also", "closed"))
    return {str(one): one.read_bytes() for place in places for one in place.rglob("*") if one.is_file()}


def names_in(folder: Path) -> set[str]:
    return {one.name for one in folder.rglob("*")}


async def test_of_several_who_save_at_once_one_succeeds(tmp_path: Path) -> None:
    results: list[str] = []

    async with bench(tmp_path, answers=made(with_file(b"x" * 100_000)), DOGUBAKO_FILES=str(tmp_path)) as redmine:

        async def save() -> None:
            results.append((await redmine.call("show_attachment", id=7, save_to="one.bin")).code)

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(save)

    assert sorted(results) == ["OK", *["VALIDATION_ERROR"] * 4]
    assert (tmp_path / "one.bin").read_bytes() == b"x" * 100_000
    assert "one.bin" in names_in(tmp_path)
    assert not [name for name in names_in(tmp_path) if name.endswith(".part")]


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "a/b.txt", "..", ".", "x.json", "?a=b#c", "%2e%2e", "ä 日本.txt", "a\nb", "con:1", "'\"<>&"],
)
async def test_the_name_that_redmine_gives_stays_one_segment_of_the_path(tmp_path: Path, name: str) -> None:
    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if "/download/" in str(request.url):
            return httpx2.Response(200, content=b"content")
        return made({"/attachments/7": {"attachment": {"id": 7, "filename": name, "content_type": "text/plain"}}})(
            request
        )

    async with bench(tmp_path, answers=answers) as redmine:
        shown = (await redmine.data("show_attachment", id=7))["attachment"]
        sent = redmine.wire.requests[-1].url.raw_path.decode("ascii")

    assert shown["text"] == "content"
    head, _, last = sent.rpartition("/")
    assert head == "/attachments/download/7"
    assert not set(last) & set("?#\\ \n") and last.strip(".")


async def test_a_name_never_decides_where_a_file_is_saved(tmp_path: Path) -> None:
    furnished = furnish(tmp_path)
    record = {"id": 7, "filename": "../../closed/evil.txt", "content_type": "text/plain"}

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if "/download/" in str(request.url):
            return httpx2.Response(200, content=b"evil")
        return made({"/attachments/7": {"attachment": record}})(request)

    async with bench(tmp_path, answers=answers, DOGUBAKO_FILES=furnished) as redmine:
        await redmine.data("show_attachment", id=7, save_to="good.txt")

    assert (tmp_path / "open" / "good.txt").read_bytes() == b"evil"
    assert "evil.txt" not in names_in(tmp_path)
