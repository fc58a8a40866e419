"""Short texts in many languages, in the encodings that old files and pages have."""

from typing import Final

JAPANESE: Final = (
    "道具箱",
    "見積書",
    "議事録を添付します。",
    "佐藤太郎",
    "こんにちは",
    "テスト",
    "エラーが発生しました",
    "木の箱に金槌と鋸をしまう。",
    "氏名,部署,電話番号\r\n鈴木一郎,営業部,03-1234-5678\r\n",
    "第３回　定例会議　議事録",
    "日付\t件名\t担当\n2026-11-15\t納期の確認\t渡辺\n",
    "ＡＢＣ株式会社　御中",
    "ﾃﾞｰﾀ ﾌｧｲﾙ を確認",
    "①準備 ②作業 ③片付け",
    "売上高は前年比で５％増加した。",
    "ログ: 2026/11/15 10:00:00 接続に失敗しました (code=1042)",
    "<p>鉋は木の表面を薄く削る道具です。</p>",
    "お世話になっております。山田です。",
    "仕様書",
    "東京都千代田区丸の内一丁目",
    "この関数は、配列を並べ替えて返します。",
    "ノコギリ、カナヅチ、ドライバー",
    "状態: 完了",
    "至急ご確認ください!!",
    "表示画面の設定を変更する手順",
    "能力向上計画",
    "～から—まで",
    "髙橋さんと﨑山さん",
    "予算 1,200円 / 残高 300円",
    "# 設定ファイル\nname = 箱\n",
    "はい",
    "雨のち晴れ",
    "構成図と一覧表",
    "十二月の予定",
    "ソフトウェア開発部",
    "タイトル「道具の手入れ」",
    "貼り付け",
    "蛍光灯",
    "昭和六十三年",
    "ご利用ありがとうございます。またのお越しをお待ちしております。",
)
SIMPLIFIED: Final = (
    "工具箱",
    "这个工具箱里有锤子和锯子。",
    "错误:文件没有找到",
    "会议记录",
    "请在星期五之前提交报告。",
    "软件测试项目",
    "张伟,销售部,010-1234\n李娜,技术部,010-5678\n",
    "我们明天上午开会,讨论新的计划。",
    "北京市朝阳区",
    "数据已经保存到服务器",
)
TRADITIONAL: Final = (
    "工具箱",
    "這個工具箱裡有鎚子和鋸子。",
    "錯誤:找不到檔案",
    "會議記錄",
    "請在星期五之前提交報告。",
    "軟體測試專案",
    "陳大文,業務部,02-1234\n林小美,技術部,02-5678\n",
    "我們明天上午開會,討論新的計畫。",
    "臺北市中正區",
    "資料已經儲存到伺服器",
)
KOREAN: Final = (
    "도구 상자",
    "이 상자에는 망치와 톱이 있습니다.",
    "오류: 파일을 찾을 수 없습니다",
    "회의록",
    "금요일까지 보고서를 제출해 주세요.",
    "소프트웨어 시험",
    "김철수,영업부,02-1234\n이영희,기술부,02-5678\n",
    "내일 오전에 새 계획을 논의합니다.",
    "서울특별시 종로구",
    "데이터를 서버에 저장했습니다",
)
RUSSIAN: Final = (
    "Ящик для инструментов",
    "В ящике лежат молоток и пила.",
    "Ошибка: файл не найден",
    "Протокол совещания",
    "Сдайте отчёт до пятницы.",
    "Иванов;отдел продаж;123\nПетрова;техотдел;456\n",
    "Завтра утром обсудим новый план работы.",
    "Данные сохранены на сервере",
)
WESTERN: Final = (
    "Der Werkzeugkasten enthält Hämmer und Sägen für größere Arbeiten.",
    "Fehler: Die Datei wurde nicht gefunden – bitte prüfen.",
    "La boîte à outils contient un marteau et une scie très légère.",
    "Prière de remettre le rapport avant vendredi, s’il vous plaît.",
    "La caja de herramientas está en el taller pequeño; ¿la viste?",
    "Größe;Menge;Preis\n10 mm;5;3,50 €\n",
    "Smörgås och köttbullar på måndag",
    "café",
)
# The samples of a language, and the encodings that its files have; Python's names.
SAMPLES: Final = {
    "Japanese": (JAPANESE, ("cp932", "euc_jp", "iso2022_jp", "utf-16", "utf-16-le", "utf-16-be", "utf-8", "utf-8-sig")),
    "Simplified Chinese": (SIMPLIFIED, ("gb18030", "utf-8", "utf-16")),
    "Traditional Chinese": (TRADITIONAL, ("cp950", "utf-8", "utf-16")),
    "Korean": (KOREAN, ("cp949", "utf-8", "utf-16")),
    "Russian": (RUSSIAN, ("cp1251", "utf-8", "utf-16")),
    "Western": (WESTERN, ("cp1252", "utf-8", "utf-16")),
}


def encoded_samples() -> list[tuple[str, str, str, bytes]]:
    """Language, encoding, text and bytes of every sample that the encoding can hold."""
    samples = []
    for language, (texts, encodings) in SAMPLES.items():
        for encoding in encodings:
            for text in texts:
                try:
                    samples.append((language, encoding, text, text.encode(encoding)))
                except UnicodeEncodeError:
                    continue
    return samples
