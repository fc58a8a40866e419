"""Values in a question become the words for what they are: an address is a page, `#12` is a ticket, `a.txt` is a file.

A value itself finds nothing, or the wrong thing: the 7 of `PROJ-7` is also in the name of a server `context7`.
"""

import re

from dogubako.contract.normalization import nfkc
from dogubako.engine.search.constants import LONGEST_QUERY
from dogubako.engine.search.text import terms

# What ends a value: no letter or digit of its kind. Japanese goes on without a space.
_BEFORE, _AFTER = r"(?<![A-Za-z0-9_.-])", r"(?![A-Za-z0-9_-])"
_FILES = (
    "txt|csv|json|ya?ml|xml|md|log|py|js|ts|html?|docx?|xlsx?|pptx?|pdf|png|jpe?g|gif|svg|zip|tar|gz|mp3|mp4|wav|bib|tex|sql"
    "|ini|toml|sh|exe|db"
)
_DOMAINS = "com|org|net|io|dev|jp|de|uk|eu|fr|gov|edu|ai|app"
# The order matters: an address holds dots and numbers, a key of an issue holds a number.
_KINDS = (
    (re.compile(r"(?:https?://|www\.)[!-~]+", re.IGNORECASE), " web page url "),
    (
        re.compile(rf"[A-Za-z0-9_.+-]{{1,64}}+@[A-Za-z0-9-]{{1,64}}+\.[a-z]{{2,8}}{_AFTER}", re.IGNORECASE),
        " email address ",
    ),
    (re.compile(rf"{_BEFORE}[A-Z][A-Z0-9]{{1,9}}-\d{{1,7}}{_AFTER}"), " issue "),
    (re.compile(rf"(?<![\w#])#\d{{1,9}}{_AFTER}|(?<!\d)\d{{1,9}}番(?!目)"), " issue "),
    (
        re.compile(rf"(?<![A-Za-z0-9_./~-])[A-Za-z0-9_./~-]{{0,80}}\.(?:{_FILES}){_AFTER}", re.IGNORECASE),
        " file ",
    ),
    (
        re.compile(rf"{_BEFORE}(?:[a-z0-9-]{{1,40}}\.){{1,4}}(?:{_DOMAINS}){_AFTER}", re.IGNORECASE),
        " website ",
    ),
    # “2h”, “90 min”; and `2.0` where a version is named like that: “ready for 2.0?”, “2.0に”.
    (re.compile(rf"{_BEFORE}\d{{1,4}}(?:[.,]\d{{1,2}})?\s?(?:h|hrs?){_AFTER}", re.IGNORECASE), " hours "),
    (re.compile(rf"{_BEFORE}\d{{1,4}}\s?mins?{_AFTER}", re.IGNORECASE), " minutes "),
    (
        re.compile(
            r"(?:(?<= for )|(?<= of )|(?<= in )|(?<= to )|(?<= on )|(?<= from ))"
            r"\d{1,3}(?:\.\d{1,3}){1,2}(?=[?!,.]?$|[?!,.] | (?:by|and|or|to|into|at)\b)"
            r"|(?<![\w.])\d{1,3}(?:\.\d{1,3}){1,2}(?=[のにをへはがで]|から|まで)",
            re.IGNORECASE,
        ),
        " version ",
    ),
    (
        re.compile(rf"{_BEFORE}[A-Z]{{1,2}}\d{{1,4}}\s?(?::|to|から|-|–)\s?[A-Z]{{1,2}}\d{{1,4}}{_AFTER}"),
        " cells range ",
    ),
    # A person's name is written with characters that mean something else: 木村さん is no tree.
    (re.compile(r"(?<![一-龥ァ-ヴー])(?!皆|お)[一-龥ァ-ヴー]{1,8}(?:さん|くん|ちゃん|氏)"), " さん "),
)
_SAYS_URL = re.compile(r"\b(?:url|endpoint|webhook)s?\b", re.IGNORECASE)
# A name of several words in quotation marks is somebody's own: 'Daily Report', 「週報の送付」.
_QUOTED = re.compile(
    r"(?<!\w)'[A-Z][\w-]{0,30}+(?: [\w-]{1,30}+){1,5}'(?!\w)|[\"“][A-Z][\w-]{0,30}+(?: [\w-]{1,30}+){1,5}[\"”]"
    r"|「[^」\n]{1,60}+」|『[^』\n]{1,60}+』"
)
# An id: letters and several digits in one, or capitals in the middle and a digit. Few words are written like that.
_ID = re.compile(
    r"(?<![A-Za-z0-9_.:/-])(?!(?:base|utf|sha|md|win|oauth|web|http|ipv|rfc|iso)\d)"
    r"(?:(?=[a-z]*\d[a-z]*\d[a-z]*\d)(?=\d*[a-z])[a-z\d]{5,40}+|(?=[A-Za-z]*\d)(?=\d*[A-Z]*[a-z][a-z\d]*[A-Z])[A-Za-z\d]{8,40}+)"
    r"(?![A-Za-z0-9_.:/-])"
)
# With fewer words left, the name is rather what was asked for.
_FEWEST_LEFT = 2
# A long question tells a story, and names belong to it.
_MOST_SPACES_OF_NAMES = 14
# Numbers that stand alone. What is part of a name stays: `n8n`, `base64`, `tool-2`.
_NUMBER = re.compile(rf"{_BEFORE}[+-]?[$€¥£]?\d+(?:[.,:/]\d+)*%?{_AFTER}")
# In a longer question a number is one word among many, and says a little: “the sum of 3 and 4”.
_MOST_SPACES = 10


def without_values(query: str, *, keep_numbers_in_long: bool = True) -> str:
    """The question with the words for its values; a short one also without numbers, unless nothing is left."""
    text = _without_names(nfkc(query[:LONGEST_QUERY]))
    # “Change the URL to …” says itself what the address is.
    without_address = _KINDS[0][0].sub(" ", text)
    if _SAYS_URL.search(without_address):
        text = without_address
    for pattern, kind in _KINDS:
        text = pattern.sub(kind, text)
    if keep_numbers_in_long and text.count(" ") > _MOST_SPACES:
        return text
    left = _NUMBER.sub(" ", text)
    return left if any(letter.isalpha() for letter in left) else query


def _without_names(text: str) -> str:
    """A short text without names in quotation marks and without ids, if it says something without them."""
    if text.count(" ") > _MOST_SPACES_OF_NAMES:
        return text
    for names, fewest in ((_QUOTED, _FEWEST_LEFT), (_ID, 1)):
        left = names.sub(" ", text)
        text = left if left != text and len(terms(left)) >= fewest else text
    return text
