"""Judge how plausible a decoded text is as Japanese, Chinese or Korean.

Many byte sequences are valid in several East Asian encodings, but only one decoding has the characters that people
use. The score of a text is the mean weight of its characters outside ASCII, between -3 and 1.
"""

import re
from functools import cache
from typing import Final

# Kanji that Japanese children learn first, and those of offices and software.
_JAPANESE: Final = frozenset(
    "一右雨円王音下火花貝学気九休玉金空月犬見五口校左三山子四糸字耳七車手十出女小上森人水正生青夕石赤千川先早草"
    "足村大男竹中虫町天田土二日入年白八百文木本名目立力林六引羽雲園遠何科夏家歌画回会海絵外角楽活間丸岩顔汽記帰"
    "弓牛魚京強教近兄形計元言原戸古午後語工公広交光考行高黄合谷国黒今才細作算止市矢姉思紙寺自時室社弱首秋週春書"
    "少場色食心新親図数西声星晴切雪船線前組走多太体台地池知茶昼長鳥朝直通弟店点電刀冬当東答頭同道読内南肉馬売買"
    "麦半番父風分聞米歩母方北毎妹万明鳴毛門夜野友用曜来里理話悪安暗医委意育員院飲運泳駅央横屋温化荷界開階寒感漢"
    "館岸起期客究急級宮球去橋業曲局銀区苦具君係軽血決研県庫湖向幸港号根祭皿仕死使始指歯詩次事持式実写者主守取酒"
    "受州拾終習集住重宿所暑助昭消商章勝乗植申身神真深進世整昔全相送想息速族他打対待代第題炭短談着注柱丁帳調追定"
    "庭笛鉄転都度投豆島湯登等動童農波配倍箱畑発反坂板皮悲美鼻筆氷表秒病品負部服福物平返勉放味命面問役薬由油有遊"
    "予羊洋葉陽様落流旅両緑礼列練路和愛案以衣位印英加改課各覚完官管関観願希機議求救給共協挙漁競極訓軍建健験固功"
    "好候康佐差菜最材昨察参産散残氏司試児治辞失借種周祝順初松唱焼照城臣信成省清静席積折節説戦選然争倉巣束側続卒"
    "孫達単置仲兆低底典伝徒努灯働特徳念敗梅博飯飛必票標不夫付府副粉兵別辺変便包法望牧末満未民無約勇要養浴利陸良"
    "料量輪類令冷例連老労録圧易移因営永衛液益演応往恩可仮価河過賀解格確額刊幹慣眼基寄規技義逆久旧許境均禁経件券"
    "険検限現減個護効厚構鉱告混査再災在財罪雑賛支志枝師資飼示似識質舎謝授修述術準序招承証条状常情織職制性政勢精"
    "製税責績接設絶銭祖素総造像増則測属率損退貸態団断築張提程適敵統銅導得毒独任燃能破犯判版比肥非備俵評貧布婦富"
    "武復複仏編弁保墓報豊暴貿防務夢迷綿輸余預容略留領係株込佐藤鈴木渡辺伊斎阿奈埼阪岡沖縄戻頃誰僕俺込頑済担当"
    "蛍麺賃紹介貼鉛筆鋸鉋釘槌添付議削除更新確認依頼納期障害仕様画面端末操作完了未対応優先登録検索設定変更処理結果表示"
)
_SIMPLIFIED: Final = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所"
    "然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与"
    "长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己"
    "制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系"
    "气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社"
    "便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉"
    "格望觉术领共确传师观清今切院让识候带导争运笔记录软件网络信息请输选择文件夹错误测试项目客户服务器们这没"
)
_TRADITIONAL: Final = frozenset(
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所"
    "然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與"
    "長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己"
    "制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系"
    "氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社"
    "便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉"
    "格望覺術領共確傳師觀清今切院讓識候帶導爭運臺灣網站檔案請輸選擇資料夾錯誤測試專案客戶伺服器這沒"
)
_KOREAN: Final = frozenset(
    "가간갈감갑강개거건걸것게겠격견결경계고공과관광교구국군권그극근글금급기길김까나난날남내너네년노는니님다단달담답"
    "당대더데도독동되된두드든들등디때라락란람랑래량러런레려력련령로록료루류를름리린마만많말매면명모목무문물미민바"
    "박반받발방배번법변별보복본부북분불비사산살상새색생서석선설성세소속손송수술스습승시식신실심아안않알았야약양어"
    "언업없었에여역연열였영예오온올와완왕외요용우운원월위유육으은을음의이익인일임입있자작잘장재저적전절점정제조족"
    "존종주준중증지직진질집차참창채책처천철청체초최추출충취치크키타택터테토통트특파판편평포표품프피하학한할함합항"
    "해했행향험현형호혹화확환활황회후히힘"
)
_COMMON: Final = {
    "cp932": _JAPANESE,
    "euc_jp": _JAPANESE,
    "gb18030": _SIMPLIFIED,
    "cp950": _TRADITIONAL,
    "cp949": _KOREAN,
}
_JAPANESE_CODECS: Final = frozenset({"cp932", "euc_jp"})
_PUNCTUATION: Final = frozenset("、。，．「」『』（）・ー〜～：；！？…　【】“”‘’《》·")
# Half-width kana stand in words, as in old lists. Alone they are accents of another encoding.
_HALF_WIDTH_WORD: Final = re.compile("[\uff66-\uff9f]{3,}")
_HALF_WIDTH_BONUS: Final = 0.4
_MOST_SCORED: Final = 4_000


# The lead bytes of the first level of each standard: the characters in general use. The second level has rare ones.
_FIRST_LEVELS: Final = {
    "cp932": ("cp932", range(0x88, 0x98), range(0x40, 0xFD)),
    "euc_jp": ("euc_jp", range(0xB0, 0xD0), range(0xA1, 0xFF)),
    "gb18030": ("gbk", range(0xB0, 0xD8), range(0xA1, 0xFF)),
    "cp950": ("cp950", range(0xA4, 0xC7), range(0x40, 0xFF)),
    "cp949": ("euc_kr", range(0xB0, 0xC9), range(0xA1, 0xFF)),
}


@cache
def _first_level(codec: str) -> frozenset[str]:
    """The characters in general use that an encoding has; those of Japanese for Unicode."""
    name, leads, trails = _FIRST_LEVELS.get(codec, _FIRST_LEVELS["euc_jp"])
    return frozenset(bytes((lead, trail)).decode(name, "ignore") for lead in leads for trail in trails)


def plausibility(text: str, codec: str) -> float:
    """The mean weight of the characters outside ASCII, in the language that uses this codec. 0 if there are none."""
    wide = [char for char in text if char > "\x7f"][:_MOST_SCORED]
    if not wide:
        return 0.0
    common = _COMMON.get(codec, _JAPANESE)
    japanese = codec in _JAPANESE_CODECS or codec.startswith("utf")
    usual = _first_level(codec)
    total = sum(_weight(char, common, usual, japanese=japanese) for char in wide)
    if japanese:
        words = _HALF_WIDTH_WORD.findall(text[: 4 * _MOST_SCORED])
        total += _HALF_WIDTH_BONUS * min(sum(map(len, words)), len(wide))
    return total / len(wide)


def _weight(char: str, common: frozenset[str], usual: frozenset[str], *, japanese: bool) -> float:
    if char in common:
        return 1.0
    if char in _PUNCTUATION:
        return 0.9
    point = ord(char)
    if 0x3041 <= point <= 0x30FF:
        # Kana are nine tenths of Japanese text, and hardly occur in other languages.
        return 1.0 if japanese else 0.2
    if 0x4E00 <= point <= 0x9FFF:
        return 0.5 if char in usual else 0.0
    if 0xAC00 <= point <= 0xD7A3:
        return (0.65 if char in usual else -0.3) if common is _KOREAN else -0.5
    if 0xFF61 <= point <= 0xFF9F:
        return 0.05
    if 0xFF00 <= point <= 0xFF60:
        return 0.6
    return _weight_of_others(point)


def _weight_of_others(point: int) -> float:
    if 0x2150 <= point <= 0x22FF or 0x2460 <= point <= 0x26FF or 0x3300 <= point <= 0x33FF:
        # Circled numbers, arrows, box lines, square words.
        return 0.3
    if 0xE000 <= point <= 0xF8FF or point >= 0xF0000 or 0x80 <= point <= 0x9F:
        # Private use and control characters: nobody writes them.
        return -3.0
    return -0.4
