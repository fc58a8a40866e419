"""What is in the Japanese world, by the names that this suite uses. A case on the real side keeps it true."""

from collections.abc import Mapping
from typing import Final

KEYS_JA: Final[Mapping[str, str]] = {
    "admin": "a" * 40,
    "sato.taro": "b" * 40,
    "0007": "c" * 40,
    "sato.hanako": "d" * 40,
    "5": "e" * 40,
    "8001": "f" * 40,
    "tanaka1": "1" * 40,
    "tanaka2": "2" * 40,
    "partner": "3" * 40,
    "desk": "4" * 40,
    "viewer": "5" * 40,
    "kobayashi": "6" * 40,
    "gaibu": "7" * 40,
    "watanabe": "8" * 40,
}
# First names are easier to read in cases than logins.
LOGINS: Final = {
    "admin": "admin",
    "taro": "sato.taro",
    "ichiro": "0007",
    "misaki": "8001",
    "partner": "partner",
    "desk": "desk",
    "viewer": "viewer",
}
USERS_JA: Final = {
    "sato.taro": 5,
    "0007": 6,
    "sato.hanako": 7,
    "5": 8,
    "8001": 9,
    "tanaka1": 10,
    "tanaka2": 11,
    "partner": 12,
    "kobayashi": 15,
    "gaibu": 16,
    "watanabe": 17,
}
GROUPS_JA: Final = {"開発チーム": 18}
PROJECTS_JA: Final = {"hanbai": 1, "hanbai-mobile": 2, "keiri": 3, "koho": 4, "furui": 5}
FIELDS_JA: Final = {
    "レビュー担当": 5,
    "約束日": 7,
    "ポイント": 8,
    "再発": 10,
    "発見バージョン": 12,
    "重大度": 13,
    "社外秘": 18,
}
VERSIONS_JA: Final = {"1.0": 1, "1.1": 2, "0.9": 3, "3": 4}
ISSUES_JA: Final = {
    "main": 1,
    "parent": 2,
    "child": 3,
    "done child": 4,
    "blocking": 5,
    "blocked": 6,
    "private": 7,
    "support": 9,
    "in mobile": 10,
    "in keiri": 11,
    "unassigned": 12,
    "one kanji": 16,
    "first of many": 17,
}
ATTACHMENTS_JA: Final = {"受注一覧.csv": 2, "ログ.txt": 3, "メモ.txt": 4, "構成図.png": 5, "手順書.txt": 6}
TRACKERS_JA: Final = {"バグ": 1, "機能": 2, "サポート": 3, "タスク": 4}
STATUSES_JA: Final = {"新規": 1, "進行中": 2, "終了": 5}
IDS_JA: Final[Mapping[str, Mapping[str, int]]] = {
    "users": USERS_JA,
    "groups": GROUPS_JA,
    "projects": PROJECTS_JA,
    "custom_fields": FIELDS_JA,
    "versions": VERSIONS_JA,
    "issues": ISSUES_JA,
    "attachments": ATTACHMENTS_JA,
    "trackers": TRACKERS_JA,
    "statuses": STATUSES_JA,
}
