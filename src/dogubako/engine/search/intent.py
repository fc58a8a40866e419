"""Classify a query, and the name of a tool, as read, write or destroy.

A question for a reading tool and one for a writing tool often have the same nouns (“which logins are stored”, “store a
login”), and the nouns have all the weight. What is asked for is told by the form of the question.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from dogubako.contract.normalization import nfkc
from dogubako.engine.search.japanese import is_japanese

Act = Literal["read", "change"]

# A question that asks for something to be deleted, removed or undone.
_DESTRUCTION = re.compile(
    r"\b(delet|remov|eras|destroy|wip(?:e|ing)|purg|drop|throw|get(?:ting)? rid|bin\b|trash|kick(?! off| it off)|kill"
    r"|cancel|discard|clean|clear|unlink|take (?:\w+ ){0,3}(?:off|out|down|away|back)|disconnect|uninstall|forget"
    r"|revoke|reset|scrap|no longer need|not need|don't need|useless|obsolete|nuke|undo|detach|expel|terminate"
    r"|leave out|offboard|ditch|dump|abolish|axe\b|scrub|shred|withdraw|retract|rescind|void\b|evict"
    r"|exclude|oust|banish|chuck|toss"
    r"|pull (?:\w+ ){0,4}down|cut (?:\w+ ){0,3}(?:off|out)"
    r"|(?:no longer|not|n't) (?:\w+ ){0,4}(?:any ?more|at all|after all))"
    r"|消|削除|捨|外し|外す|除|破棄|取り消|抹|辞|いらな|不要|やめ|取り下げ|追い出|解除|廃止|なくし|無くし"
    r"|撤回|撤去|処分|抜け|抜い|はずし|はずす|切り離|片付け|追放|剥奪|ゴミ箱|ごみ箱|クリア|間引",
    re.IGNORECASE,
)

# A question about more than one thing, and the id of one.
_MANY = re.compile(
    r"\b(?:all|every|everything|each|both|several|multiple|many|bulk|mass|batch|together|at once|in one go)\b"
    r"|全部|すべて|全て|まとめて|一括|一斉|複数|全件|一気に|残り全",
    re.IGNORECASE,
)
_HEAD = re.compile(
    r"((?:[\w'#-]+ ){1,6}?[\w'#-]+)(?: (?:that|which|when|whenever|if|because|saying|so)\b|:|,| - )", re.IGNORECASE
)
_ID = re.compile(r"(?<![\w#])#\d{1,9}(?!\w)|\b[A-Z][A-Z0-9]{1,9}-\d{1,7}\b")

# What people put before what they want.
_POLITE = r"(?:hey|hi|hello|ok|okay|so|now|then|well|please|pls|just|also|and|first|next|finally|again)\b[,!:]?\s*"
_WISH = r"(?:i|we)(?:'d| would)? (?:want|need|like|wish|have|got)(?: you)? to\s+|(?:i|we)'(?:d|ll) (?:like|love) to\s+"
_HOW = r"(?:help me|let's|let us|go ahead and|try to|how (?:do|can|could|would|should) (?:i|we|you)|how to)\s+"
_CAN = r"(?:can|could|would|will) (?:you|we|i)(?: please| kindly| just)?\s+"
_OPENING = re.compile(f"^(?:{_POLITE}|{_CAN}|{_WISH}|{_HOW})+", re.IGNORECASE)

_READ_VERBS = frozenset(
    re.findall(
        r"\S+",
        """
    what whats which who whos whose whom when where why how is are was were am does did do has have had any anything
    anyone anybody there show list see view display find search look lookup read browse compare check inspect examine
    explain describe summarize summarise get fetch retrieve count analyze analyse diagnose investigate monitor
    recommend suggest identify determine discover locate tell give status
        """,
    )
)
_CHANGE_VERBS = frozenset(
    re.findall(
        r"\S+",
        """
    create make add put insert append set change update edit modify adjust rename move copy duplicate clone write save
    store enter post publish announce send upload attach assign hand pass mark close reopen start begin launch run
    execute trigger fire kick stop pause halt abort cancel end resume retry repeat restore recover undo redo revert
    roll fix correct repair replace swap exchange merge join split link connect relate tie invite register enroll
    subscribe unsubscribe follow unfollow activate deactivate enable disable turn switch lock unlock block archive
    unarchive hide import load log book reserve schedule postpone push bump raise lower increase decrease delete
    remove erase drop throw wipe purge clear label tag name call file report reply answer comment note record remember
    forget format sort convert transform fill press click type drag select choose pick open build setup install
    deploy generate draw paint order buy pay
        """,
    )
)
# What the name of a tool begins with that only reads.
_READING_NAMES = frozenset(
    re.findall(
        r"\S+",
        """
    get list show search find read fetch retrieve query describe view lookup look check count status history diff log
    summarize extract compare diagnose validate test analyze resolve recommend suggest browse inspect calculate
        """,
    )
)
# “Give me the list” reads; “give ticket 5 to Bob” does not. “Tell me”, “tell them”.
_ONLY_WITH_ME = frozenset({"give", "tell", "get"})
# The beginning of an English question tells what is wanted, and the end of a Japanese one.
_LOOKED_AT = 200
_WORD = re.compile(r"[a-z']+")

# A Japanese sentence ends with what is wanted, so the last of these decides.
_READS_JA = (
    r"何(?!度|回も)|誰|だれ|どれ|どの|どんな|どう|いつ|どこ|なぜ|なんで|どうして|いくつ|いくら|見せ|見たい|見て|見る|教え"
    r"|知りたい|知る|一覧|確認|調べ|探|検索|読|比べ|比較|チェック|表示|ある[?？]|ありますか|いる[?？]|[?？]$|は$|か$|眺め|要約|分析"
    r"|突き止め|状況|違い"
)
_CHANGES_JA = (
    r"作っ|作成|作る|作り|追加|足し|足す|加え|入れ|変え|変更|直し|直す|修正|更新|消し|消す|削除|移し|移動|移す|登録|書い|書き|付け"
    r"|つけ|閉じ|止め|止ま[るれ]|動かし|起動|実行|やり直|再実行|戻し|戻す|復元|復活|公開|停止|有効|無効|送っ|送る|送信|アップロード"
    r"|添付|渡し|任せ|割り当て|外し|外す|招待|複製|コピー|写し|名前を|延ば|早め|上げ|下げ|つなげ|つない|結合|置き換え|並べ|記録"
    r"|残し|出し|知らせる|知らせて|起票|報告|立ち上げ|使えなく|できないよう|できるよう|られるよう|するよう|にして|くして|覚えて"
    r"|押し|選ん|選択|入力|切り替え|取り込|保存"
)
_EITHER_JA = re.compile(f"(?P<read>{_READS_JA})|(?P<change>{_CHANGES_JA})")


def asks_for_destruction(query: str) -> bool:
    return _DESTRUCTION.search(query) is not None


def asked_act(query: str) -> Act | None:
    """Whether a question wants to see something or to change something, if its form tells."""
    if is_japanese(query):
        found = list(_EITHER_JA.finditer(nfkc(query[-_LOOKED_AT:]).rstrip("。! ")))
        return None if not found else "read" if found[-1]["read"] else "change"
    words = _WORD.findall(_OPENING.sub("", query[:_LOOKED_AT].strip()).lower())[:2]
    return _act_of_words(words)


def asks_for_many(query: str) -> bool | None:
    """Whether a question is about several things or about one with an id, if its form tells."""
    ids = len(_ID.findall(query[:_LOOKED_AT]))
    if ids > 1 or _MANY.search(query[:_LOOKED_AT]):
        return True
    return False if ids else None


def head_of(text: str) -> Sequence[str]:
    """What is to be done, of a command that goes on with a description: “create a flow that …”, “open a bug: …”."""
    found = _HEAD.match(_OPENING.sub("", text.strip()))
    return (found[1],) if found is not None and _act_of_words(_WORD.findall(found[1].lower())[:2]) == "change" else ()


def begins_an_act(text: str) -> bool:
    """Whether an English text begins with a verb or a question word."""
    return asked_act(text) is not None


def _act_of_words(words: list[str]) -> Act | None:
    if not words:
        return None
    first = words[0].removesuffix("'s").removesuffix("'re").removesuffix("n't")
    if first == "open" and words[1:] in (["the"], ["this"], ["that"], ["my"], ["our"], ["up"], ["issue"]):
        return "read"
    if words in (["pull", "up"], ["bring", "up"], ["call", "up"]):
        return "read"
    if first in _ONLY_WITH_ME and words[1:] not in (["me"], ["us"], ["the"], ["all"], ["a"]):
        return "change" if first != "get" else None
    return "read" if first in _READ_VERBS else "change" if first in _CHANGE_VERBS else None


@lru_cache(maxsize=20_000)
def act_of_name(name_words: tuple[str, ...]) -> Act | None:
    """What a tool does by the first verb of its name: `jira_get_issue` reads."""
    for word in name_words[:3]:
        if word in _READING_NAMES:
            return "read"
        if word in _CHANGE_VERBS:
            return "change"
    return None
