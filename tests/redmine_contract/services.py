"""The two services behind the cases."""

import sqlite3
from contextlib import closing
from pathlib import Path

import httpx2
from starlette.applications import Starlette

from dogubako_sandbox.redmine.app import redmine_app
from dogubako_sandbox.redmine.world import WORLD
from scripts.real_redmine import RealRedmine
from scripts.redmine_install import Seeded


class InSmall:
    """The Redmine in our own process."""

    url = "http://redmine.sandbox"

    def __init__(self, recording: Path = WORLD) -> None:
        self.recording = recording
        self.app: Starlette = redmine_app(recording)

    def transport(self) -> httpx2.AsyncBaseTransport:
        return httpx2.ASGITransport(app=self.app)

    def reset(self) -> None:
        self.app = redmine_app(self.recording)

    def set_setting(self, name: str, value: str) -> None:
        settings = self.app.state.store["settings"]
        settings.remove_where(name=name)
        settings.add(name=name, value=value)

    def stop_filtering_by(self, custom_field: int) -> None:
        self.app.state.store["custom_fields"].at(custom_field)["is_filter"] = False


class Real:
    """A Redmine that we have started. Both worlds live in one server, one after the other."""

    def __init__(self, redmine: RealRedmine, world: Seeded | None = None) -> None:
        self.redmine = redmine
        self.world = world
        self.url = redmine.url

    def transport(self) -> httpx2.AsyncBaseTransport:
        return httpx2.AsyncHTTPTransport()

    def reset(self) -> None:
        self.redmine.reset(self.world)

    def set_setting(self, name: str, value: str) -> None:
        self.redmine.set_setting(name, value)

    def stop_filtering_by(self, custom_field: int) -> None:
        with closing(sqlite3.connect(self.redmine.instance.database, timeout=30)) as database, database:
            database.execute("UPDATE custom_fields SET is_filter = 0 WHERE id = ?", (custom_field,))


class Given:
    """A Redmine of somebody else's. It is only looked at, so there is nothing to bring back."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def transport(self) -> httpx2.AsyncBaseTransport:
        return httpx2.AsyncHTTPTransport()

    def reset(self) -> None:
        raise AssertionError("a server that somebody else gave us is only looked at")

    def set_setting(self, name: str, value: str) -> None:
        raise AssertionError("a server that somebody else gave us is only looked at")

    def stop_filtering_by(self, custom_field: int) -> None:
        raise AssertionError("a server that somebody else gave us is only looked at")
