"""Names that lead nowhere, to many places, or to another place the second time."""

import pytest

from dogubako.contract.errors import HttpError, UrlNotAllowed

from .conftest import Visiting
from .names import Resolver
from .places import always, answer, serving

pytestmark = pytest.mark.usefixtures("a_public_web")


async def test_a_name_without_an_address_is_refused(visiting: Visiting, resolver: Resolver) -> None:
    resolver.names.answer("empty.example.com", [])
    async with visiting() as visitor:
        with pytest.raises(UrlNotAllowed, match="its host has no address"):
            await visitor.visit("http://empty.example.com/")


async def test_a_name_that_does_not_exist_is_not_found(visiting: Visiting) -> None:
    async with visiting() as visitor:
        with pytest.raises(HttpError, match="its host was not found") as failed:
            await visitor.visit("http://nowhere.example.com/")

    assert not failed.value.transient


async def test_a_name_with_many_addresses_is_read_when_all_are_public(visiting: Visiting, resolver: Resolver) -> None:
    resolver.names.answer("many.example.com", ["127.0.0.2", *(f"93.184.215.{last}" for last in range(25))])
    async with serving(always(answer(b"one of many"))) as place, visiting() as visitor:
        page = await visitor.visit(f"http://many.example.com:{place.port}/")

    assert page.body == b"one of many"


async def test_one_private_address_among_many_is_a_trap(visiting: Visiting, resolver: Resolver) -> None:
    resolver.names.answer("trap.example.com", ["127.0.0.2", *(f"93.184.215.{last}" for last in range(25)), "10.0.0.1"])
    async with serving(always(answer())) as place, visiting() as visitor:
        with pytest.raises(UrlNotAllowed):
            await visitor.visit(f"http://trap.example.com:{place.port}/")

    assert place.connections == 0


async def test_a_name_that_changes_its_mind_is_visited_where_it_was_checked(
    visiting: Visiting, resolver: Resolver
) -> None:
    resolver.names.answer("rebind.example.com", ["127.0.0.2"], ["127.0.0.1"])
    async with (
        serving(always(answer(b"public"))) as public,
        serving(always(answer(b"secret")), host="127.0.0.1", port=public.port) as private,
        visiting() as visitor,
    ):
        url = f"http://rebind.example.com:{public.port}/"
        first = await visitor.visit(url)
        asked = list(resolver.names.asked)
        with pytest.raises(UrlNotAllowed):
            await visitor.visit(url)

    assert first.body == b"public"
    assert asked == ["rebind.example.com"]
    assert (public.connections, private.connections) == (1, 0)


async def test_a_name_that_changes_its_mind_on_a_redirect_is_refused(visiting: Visiting, resolver: Resolver) -> None:
    resolver.names.answer("rebind.example.com", ["127.0.0.2"], ["127.0.0.1"])
    async with (
        serving(always(answer(status=302, location="/again"))) as public,
        serving(always(answer(b"secret")), host="127.0.0.1", port=public.port) as private,
        visiting() as visitor,
    ):
        with pytest.raises(UrlNotAllowed):
            await visitor.visit(f"http://rebind.example.com:{public.port}/")

    assert (public.connections, private.connections) == (1, 0)


async def test_names_are_looked_up_by_nobody_but_the_resolver(
    visiting: Visiting, resolver: Resolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library below would ask the system for a name, and connect to whatever that says then."""
    looked_up: list[str] = []

    async def refuse(host: str, *rest: object, **more: object) -> list[object]:
        looked_up.append(host)
        return []

    resolver.names.answer("public.example.com", ["127.0.0.2"])
    async with serving(always(answer())) as place, visiting() as visitor:
        monkeypatch.setattr("anyio.getaddrinfo", refuse)
        await visitor.visit(f"http://public.example.com:{place.port}/")

    assert looked_up == []
    assert resolver.hosts == ["public.example.com"]
