"""Whether a user may be saved as asked, and the sentences that say why not."""

import re
from typing import Any, Final

from dogubako.sandbox.redmine.asking import Ask, unprocessable
from dogubako.sandbox.redmine.custom_values import Values
from dogubako.sandbox.redmine.shapes import checked_customs, is_blank, too_long
from dogubako.sandbox.redmine.store import Row, to_id
from dogubako.sandbox.redmine.user_parts import mail_of, mail_taken

_STATUSES: Final = (1, 2, 3)
_LOGIN: Final = re.compile(r"[a-zA-Z0-9_\-@.]*")
_ADDRESS: Final = re.compile(r"[^@\s]+@(?:[-a-z0-9]+\.)+(?:xn--[-a-z0-9]+|[a-z]{2,})", re.IGNORECASE)
_SHORTEST_PASSWORD: Final = 8


def checked_user(ask: Ask, user: Row, asked: Row, body: Row) -> tuple[Row, str, Values]:
    """The user as it would be, the address, and the custom values."""
    changed = {**user, **{name: _kept(name, value) for name, value in asked.items() if name != "mail"}}
    was = mail_of(ask.store, user) if "id" in user else None
    mail = str(asked.get("mail", was) or "").strip()
    values, wrong_values = checked_customs(ask, "User", user if "id" in user else None, body, None)
    sentences = [
        *(["Status is invalid"] if changed["status"] not in _STATUSES else []),
        *_wrong_mail(ask, mail, user),
        *wrong_values,
        *_wrong_names(ask, changed),
        *_wrong_password(body),
    ]
    if sentences:
        raise unprocessable(*sentences)
    return changed, mail, values


def _kept(name: str, value: Any) -> Any:
    if name == "status":
        return to_id(value)
    if name in ("admin", "must_change_passwd"):
        return value in (True, "1", "true", 1)
    return "" if value is None else str(value)


def _wrong_mail(ask: Ask, mail: str, user: Row) -> list[str]:
    if is_blank(mail):
        return ["Email cannot be blank"]
    if not _ADDRESS.fullmatch(mail):
        return ["Email is invalid"]
    return ["Email has already been taken"] if mail_taken(ask.store, mail, user) else []


def _wrong_names(ask: Ask, user: Row) -> list[str]:
    labels = {"login": "Login", "firstname": "First name", "lastname": "Last name"}
    login = user["login"]
    sentences = [f"{label} cannot be blank" for name, label in labels.items() if is_blank(user[name])]
    namesakes = [each for each in ask.store["users"] if each.get("login", "").lower() == login.lower()]
    if login and any(each["id"] != user.get("id") for each in namesakes):
        sentences.append("Login has already been taken")
    if not _LOGIN.fullmatch(login):
        sentences.append("Login is invalid")
    sentences += too_long("Login", login, 60)
    return sentences + too_long("First name", user["firstname"], 30) + too_long("Last name", user["lastname"], 30)


def _wrong_password(body: Row) -> list[str]:
    password, again = body.get("password"), body.get("password_confirmation")
    if is_blank(password):
        return []
    sentences = []
    if len(str(password)) < _SHORTEST_PASSWORD:
        sentences.append(f"Password is too short (minimum is {_SHORTEST_PASSWORD} characters)")
    if again is not None and again != password:
        sentences.append("Password doesn't match confirmation")
    return sentences
