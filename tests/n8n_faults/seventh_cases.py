"""Cases of a fourth hand, taken over as they were recorded and judged from outside.

Where the author says that naming another node is as good, it may be named as well; then the evidence is asked for.
"""

# fmt: off

from collections.abc import Iterator

from .fresh_parts import taken
from .shapes import Case

_CASES = (
    taken("a01-crm-503-leere-felder", None, "Kunde im CRM anlegen", "503", "Wartungsfenster"),
    taken("a02-destructured-mail", "Felder zuordnen", "Mail säubern", "eMail"),
    taken("a03-sub-rechnungsnummer", "Übergabe vorbereiten", "PDF erzeugen lassen",
          "rechnungsNr", "Übergabe vorbereiten", also=("Jahrgang prüfen",)),
    taken("a04-merge-typ-id", "Unir por cliente", None, "type"),
    taken("a05-if-strict-csv", "Stock faible ?", "Stock faible ?", "quantite", "number", also=("Lire CSV",)),
    taken("a06-login-html-200", "Get orders", "Only paid", "HTML"),
    taken("a07-wareki", "申請データ取得", "開始日を整形", "令和7年3月1日"),
    taken("a08-loop-url-undefined", "Sendungsnummer", "Status abfragen", "sendung.id", also=("Bestellungen",)),
    taken("a09-healthy-tagesbericht", None, None),
    taken("a10-if-alle-falsch", "Ist aktiv?", None, "case"),
    taken("a11-budget-stop", None, "Budget überschritten", "12400", "10000"),
    taken("a12-map-not-a-function", "Clean post", "Build hashtags", "tags"),
    taken("a13-geocoder-429", None, "Geocode", "429"),
    taken("a14-lost-pairing", "Calculer montants", "Préparer e-mail", "pairedItem"),
    taken("a15-other-branch-node", "登録データ", "登録データ", "紹介者を検索"),
    taken("a16-error-output-401", "Push to mailing tool", None, "API key revoked", "3 of its 3"),
    taken("a17-summe-text", "CSV lesen", None, "120,50", "CSV lesen", also=("Monatssumme",)),
    taken("a18-xml-ampersand", None, "XML umwandeln", "well-formed", also=("Katalog holen",)),
    taken("a19-llm-fence", "Antwort lesen", "Antwort lesen", "```json", also=("Modell fragen",)),
    taken("a20-healthy-upsert-404", None, None),
    taken("b01-map-unpaged-customers", "Customers", "Join names",
          "'Customers': its answer", "33", also=("Join names",)),
    taken("b02-helper-norm-plz", "Adressliste", "Normalisieren", "plz"),
    taken("b03-json-body-quote", "Debitor anlegen", "Debitor anlegen", "Profi", "JSON.stringify", also=("Firmen",)),
    taken("b04-login-200-error", "Login", "Read stock", "Password expired"),
    taken("b05-suuryou-zero", "発注数を計算", "発注する", "数量 is 0", "Math.floor", also=("発注する",)),
    taken("b06-409-already-booked", None, "Réserver", "already booked"),
    taken("b07-object-object", "Etikett", None, "object"),
    taken("b08-nan-importe", "Calcular IVA", "Pagar", "total"),
    taken("b09-dedupe-missing-field", "Once per company", None, "company"),
    taken("b10-execute-once", "Envoyer rappel", None, "execute once"),
    taken("b11-code-wrong-return", "Mittelwert", "Mittelwert", "items"),
    taken("b12-renamed-node", "Willkommensmail", "Willkommensmail", "Neue Mitarbeitende"),
    taken("b13-grandchild-500", None, "請求書作成", "out of memory", also=("PDF生成",)),
    taken("b14-binary-dropped", "Mandant ergänzen", "Datei lesen", "binary"),
    taken("b15-csv-delimiter", "Auszug lesen", "Auszug lesen", "delimiter"),
    taken("b16-switch-no-fallback", "By priority", None, "urgent"),
    taken("b17-merge-position", "Zusammenführen", None, "position"),
    taken("b18-healthy-retry", None, None),
    taken("b19-healthy-odd-texts", None, None),
    taken("b20-timeout-slow", None, "Auskunft einholen", "1500"),
    taken("c01-strasse-422", "Lieferanschrift", "Abholung melden",
          "empfänger.strasse", "empfänger.straße", also=("Abholung melden",)),
    taken("c02-graphql-errors", "Requête", "Aplatir", "prise", also=("API boutique",)),
    taken("c03-regex-ticketnummer", "Ticketnummer", "Ticketnummer", "Rechnung falsch", also=("E-Mails",)),
    taken("c04-zenkaku-join", "社員情報を付ける", "宛先を作る", "メール", also=("勤怠データ",)),
    taken("c05-loop-no-way-back", "Pakete zu 3", None, "back"),
    taken("c06-deep-22-nodes", "Kundendaten", "Offene Rechnungen", "KundenNummer"),
    taken("c07-sort-dropped-field", "Resumen", "Ordenar por importe", "importe"),
    taken("c08-continue-hides", "Verkaufspreis", "Preisschild", "ek is 2", also=("Artikel",)),
    taken("c09-pinned-old", "Bestellung holen", "Anrede bauen", "pinned"),
    taken("c10-kreditlimit", None, "Kreditlimit prüfen", "8200", "10000", "3500"),
    taken("c11-css-selector", "Read price", "To number", "span.price", also=("To number",)),
    taken("c12-invalid-datetime", "SMS", None, "12/05/2025", also=("Termine",)),
    taken("c13-child-drops-all", "Pays DE", None, "Allemagne"),
    taken("c14-compare-key", "Vergleich", None, "sku"),
    taken("c15-first-instead-of-item", "Message", None, ".item"),
    taken("c16-set-number-currency", "Spesenanträge", "Beleg", "EUR 45", also=("Beleg",)),
    taken("c17-paging-next-null", None, "Belege", "links.next", "404"),
    taken("c18-batch-too-large", "Batches", "Bulk API", "batchSize of 'Batches' is 250", also=("Bulk API",)),
    taken("c19-healthy-big", None, None),
    taken("c20-healthy-answers-400", None, None),
)


def seventh_cases() -> Iterator[Case]:
    yield from _CASES
