"""How many calls may run at once is bounded for everybody who proves who it is, by a key or by a token."""

from pathlib import Path

import pytest

from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.errors import BusyError
from dogubako.gate import rate_limits
from dogubako.gate.rate_limits import ConcurrencyLimits

from .authorization_server import AUDIENCE, ISSUER
from .guarded import guarded_box

_OAUTH = {"DOGUBAKO_OAUTH_ISSUER": ISSUER, "DOGUBAKO_OAUTH_AUDIENCE": AUDIENCE}


@pytest.mark.parametrize("auth", ["keys", "oauth"])
def test_whoever_proves_who_it_is_runs_so_many_calls_and_no_more(tmp_path: Path, auth: str) -> None:
    settings = {"DOGUBAKO_AUTH": auth, "DOGUBAKO_CALLER_CONCURRENCY": "1", **(_OAUTH if auth == "oauth" else {})}
    policy = guarded_box(tmp_path, **settings).gate.policy
    ann, bob = (ToolCall(name="echo", caller=Caller(name=name, scopes=frozenset({"read"}))) for name in ("ann", "bob"))

    with policy.place(ann), policy.place(bob), pytest.raises(BusyError), policy.place(ann):
        pass
    with policy.place(ann):
        pass


def test_who_runs_nothing_is_forgotten_and_who_runs_something_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "_MOST_CALLERS", 3)
    crowd = ConcurrencyLimits(1)
    with crowd.place("busy"):
        for number in range(20):
            with crowd.place(f"caller {number}"):
                pass
        remembered = len(crowd._places)
        with pytest.raises(BusyError), crowd.place("busy"):
            pass

    assert remembered <= 3
