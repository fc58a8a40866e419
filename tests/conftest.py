"""What every test may use, what `pytest --quick` leaves out, and what `pytest --rest` adds to it."""

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import is_hypothesis_test

from tests.certificates import CertificateAuthority
from tests.hypothesis_profiles import load_profile


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true", help="leave out tests marked `slow`, and try few examples in property tests"
    )
    parser.addoption(
        "--rest", action="store_true", help="only what --quick leaves out: slow tests, and every example of properties"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("quick") and config.getoption("rest"):
        raise pytest.UsageError("--quick and --rest exclude each other")
    load_profile(quick=config.getoption("quick"))
    # A shell ignores SIGINT for what it starts in the background, nohup SIGHUP; servers under test would inherit it.
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
    # Thousands of modules and tests live until the end: searching them for garbage took a fifth of the whole run.
    gc.disable()


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    quick, rest = config.getoption("quick"), config.getoption("rest")
    left_out = [item for item in items if (quick and _is_slow(item)) or (rest and not _has_more(item))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        dropped = set(left_out)
        items[:] = [item for item in items if item not in dropped]


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def _has_more(item: pytest.Item) -> bool:
    """Whether a quick run leaves this test out, or some of its examples."""
    return _is_slow(item) or is_hypothesis_test(getattr(item, "obj", None))


@pytest.fixture(scope="session", autouse=True)
def few_certificates(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Loading them takes 25 ms for each client of each toolbox, and quick tests talk to this machine alone.

    One certificate is kept: OpenSSL refuses a named file that holds none.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.config.getoption("quick"):
            patch.setenv("SSL_CERT_FILE", str(CertificateAuthority(tmp_path_factory.mktemp("authority")).bundle))
        yield


# numpy sets two while it is imported, which the thread of the search index may do at the end of a test.
_SET_BY_OTHERS = {"PYTEST_CURRENT_TEST", "GOTOBLAS_MAIN_FREE", "OPENBLAS_MAIN_FREE"}


@pytest.fixture(autouse=True)
def _environment_stays_as_it_was() -> Iterator[None]:
    """A variable that one test leaves behind fails another one, on another day."""
    before = dict(os.environ)
    yield
    left = {name for name, _ in set(os.environ.items()) ^ set(before.items())} - _SET_BY_OTHERS
    os.environ.update(before)
    for name in left - before.keys():
        del os.environ[name]
    assert not left, f"environment variables changed by this test: {sorted(left)}"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
