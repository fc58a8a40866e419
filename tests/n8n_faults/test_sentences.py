"""Sentences of reports that were false or of no use at first contact, and what is said now."""

from functools import cache
from typing import Final

import pytest

from .fault import CaseSet
from .recordings import Json, diagnosed, load

# The case, what has to be said, and what must not.
SENTENCES: Final = (
    ("qa-86-nome-nulo", "body.pacientes.3.nome is null", "pacientes.1"),
    ("qa-97-null-nach-filter", "body.artikel.3.hersteller is null", "artikel.0"),
    ("qa-b1-gleicher-wert-zweimal", 'body.werte.3.wert is "n.a."', "werte.0"),
    ("qb-own-throw-null-owner", "body.tickets.2.owner is null", "tickets.0"),
    ("qb-same-value-filtered", 'body.rows.3.hours is "n/a"', "rows.0"),
    ("qb-two-nulls-sorted", "body.leads.3.owner is null", "leads.1"),
    ("qb-guarded-null-then-nested", "as 'Webhook' received it as body.customers.2.phone", "customers.0"),
    ("qb-not-iterable", "as 'Webhook' received it as body.invoices.2.lines", "made in 'Split Out'"),
    ("qa-64-liste-statt-text", "(array), from 'Bündeln'", "from 'Zeilen'"),
    (
        "qa-81-preis-komma",
        "it sends preis as null (null), from 'In Zahl'",
        "it sends preis as null (null), from 'Preis'",
    ),
    ("qa-96-nachkommastellen", "7.607499999999999 (number), from 'Aktion'", "from 'Grundpreis'"),
    ("qa-b0-cep-sem-zero", "it sends cep as 1310100 (number), from 'Numérico'", "from 'Nomes da API'"),
    ("qa-24-object-object", "body.inhalt is an object, which a text shows as", "name one of its fields"),
    ("qb-s-object-object", "labels is a list with objects", "name one of its fields"),
    ("qa-29-limite-429", "too many requests (rate limit, HTTP 429)", "batching"),
    ("qa-79-sub-perde-tudo", "they differ only in case and in accents", "differ only in accents"),
    ("qa-08-datum-deutsch", "which is not read as a date as it is written", "no date that can be parsed"),
    ("qb-date-ddmm", 'renewalIso is "25-12-2026"', '01-04-2026\\" (string), which is not read'),
    ("qb-tdz-own", "its code uses rate before the line that declares it has run", "does not exist"),
    ("qb-h-review-pairs", "nothing is known to be wrong", "but look at"),
    ("qb-merge-padded-id", "no keys match: customer_id from 'Split Out': \"0042\"", "No rule found"),
    ("qb-array-in-url", "the address is made from ids, a list of 2", "No earlier cause"),
    ("qb-crypto-object", "payload is {", "No earlier cause"),
    ("qa-a2-top-level-key", "returns an item that has other keys beside json", "No earlier cause is proved"),
    ("qa-22-umsatz-feld", "betrag is lost here", "No rule found"),
    ("qa-55-fehler-geprueft", "'Fehler?' looks at the error of 'Charge prüfen'", "but 'Charge prüfen' failed"),
    ("qc-tarifa-zona", "made in 'Normalizar envíos' by zona: e.zona.trim().toLowerCase()", '"origin"'),
    ("qc-cp-sin-cero", "made in 'Limpiar direcciones' by cp: Number(i.json.cp)", "a text, made from"),
    ("qc-form-no-json", "body.alumno2 and body.alumno1", '"origin"'),
    ("qc-sql-merge", "its SQL query cannot be read near", "No rule found"),
    ("qc-codigo-numero", "codigo is 12 (number), from 'Tipos', which has no padStart()", "gives nothing or fails"),
    ("qc-ok-cuarentena", "Of the error itself, look at what 'carga' gave out", "itself. Look"),
    ("rb-x08", 'zaman is "2026-03-02T7:30" (string), which is not read as a date', "iptal is null."),
    ("rb-z10", 'bas is "2026-02-31x" (string), which is not read as a date', "gave out: son is null"),
    ("rb-q06", 'd is "2026-03-02 25:61" (string), which is not read as a date', "gave out: uwaga is null"),
    ("rb-q07", 'd is "2026-3-1T10:00" (string), which is not read as a date', 'd is "2026-03-01" (string), made'),
    ("rb-x22", 'w is "n/a" (string), of which no BigInt can be made', "cannot be read"),
    ("rb-y03", 'wzór is "[0-9" (string), which is no regular expression', "cannot be read"),
    ("rb-z17", "it sends items, made from items, which is a list of 3", "items.map"),
    ("rb-q17", "made from rows, which is a list of 2, from 'Sepet'", "rows.map"),
    ("ra-c15", 'kms is "10400" (string)', 'because kms is "950" (string), from \'Bicis\' and kms is "1200"'),
    ("ra-x09", "because saldo is -4 (number)", "saldo is 10 (number), from"),
    ("ra-d11", "horas is -16 (number), which 'Conferir' does not accept", "horas is 8 (number), from"),
    ("ra-c12", "it reads quantidade, which is in no item of the execution", "quantidade is undefined"),
    ("ra-x02", "No rule found", "it reads only the beginning"),
    ("ra-v15", "'Meta': meta is \"1.000,00\"", "it reads only the beginning"),
    ("rb-p02", 'code is "C14" (string), in which line 1 does not find what it looks for', "No earlier cause is proved"),
    ("rb-x05", 'it looks for "K2" (string), among keys such as "k2" (string)', "No earlier cause"),
    ("rb-x07", '통화 is "₩" (string), which is not valid there', "No earlier cause is proved"),
    ("rb-x09", "çubuk is 13 (number), and line 1 makes -3 (number) of it", "No earlier cause is proved"),
    ("rb-y11", "miejsca is -1 (number), which is no number of digits there", "No earlier cause"),
    ("rb-q15", 'u is "50%" (string), in which a % begins no encoded sign', "No earlier cause is proved"),
    ("rb-q16", "which is \"iki\" (string), from 'Grup'", "No earlier cause"),
    ("rb-s25", "it sends classId, from 'Gövde', and no class_id", "No earlier cause"),
    ("rb-x03", "it sends rows.2.tonnage as 0 (number), made in 'Normalise'", "it sends rows as"),
    ("ra-c07", 'pront is 1 (number), and there is "001" (string): the same number', "they differ only in"),
    ("ra-c09", "'Com sala' dropped 1 of 3 items: sala is null (null)", "No earlier cause"),
    ("rb-y17", "'Geçerli' dropped 1 of 3 items: p is 0 (number)", "No earlier cause"),
    ("rb-z18", "'Tekrarsız' dropped 1 of 3 items", "No earlier cause"),
    ("rb-s22", "it dropped 1 of 4 items as duplicates by ad", "'Tekilleştir' dropped"),
)
SETS_BY_PREFIX: Final[dict[str, CaseSet]] = {
    "qa": "twentyfifth",
    "qb": "twentyfifth",
    "qc": "twentysixth",
    "ra": "twentyeighth",
    "rb": "twentyninth",
}


@cache
def recorded(case_set: CaseSet) -> dict[str, Json]:
    return load(case_set)


@pytest.mark.parametrize(("case", "said", "unsaid"), SENTENCES, ids=[one[0] for one in SENTENCES])
def test_a_report_says_what_is_so(case: str, said: str, unsaid: str) -> None:
    case_set = SETS_BY_PREFIX[case[:2]]
    report = diagnosed(recorded(case_set)[f"{case_set}/hand/{case}"])
    # The item that is shown may have any of the values.
    told = "\n".join([report["explanation"], *report.get("values", ()), *(f'"{key}"' for key in report)])

    assert said in told
    assert unsaid not in told
