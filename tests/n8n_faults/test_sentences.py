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
    ("rb-q10", "weight is null (null), as 'Kontener' received it", "null (null), made in 'Zapytania'"),
    ("rb-z05", "Look at what 'Durum servisi' gave out", "durum is \"3\" (string), made in 'Sorgu'"),
    ("rb-z06", 'it looks for "g1" (string), among keys such as "G1"', "Gemi listesi"),
    ("rb-q18", "its code sets veli to undefined by veli: k[json.id]", "Look at what 'Kayıt A'"),
    ("rb-q11", "puan is null (null), made in 'Puan bul' by", "Başvuru"),
    ("rb-p01", "선박번호 is \"7001\" (string), made in '선박 목록'", "요율 표"),
    ("rb-y33", "kod is \"7001\" (string), made in 'Gemi B'", "Gemi A"),
    ("rb-z07", "because of 'Telefon': it reads telefon_domwy", "made in 'Rodzina'"),
    ("rb-z25", 'it looks for "5-B" (string), among keys such as "5B"', "id is 2 (number), made in 'Oda bul'"),
    ("rb-z03", "Look at what 'Raporlar' gave out: satır.0.dwt is null", '"origin"'),
    ("rb-q14", "Look at what 'Listeler' gave out: l.1.v is null", '"origin"'),
    ("rb-q13", "Look at what 'Kaynak' gave out: rec.t is null", '"origin"'),
    ("rb-y21", "Look at what 'Statki 3' gave out: ld.1.t is null", '"origin"'),
    ("ra-d01", "sala is null (null), made in 'Médicos'", "Pacientes"),
    ("ra-x06", "sala is null (null), made in 'Médicos'", "Pacientes"),
    ("rb-s20", "'Aileler' took that over \"0501 111\" (string) of 'Veliler'", '"origin"'),
    ("rb-y12", "'Sklej' took that over 10 (number) of 'Katalog'", '"origin"'),
    ("ra-v10", "null in porTurno.tarde.sala, as 'Escala' received it as sala", "made in 'Índice'"),
    ("ra-d07", "null in porTurno.tarde.sala, as 'Escala' received it as sala", "made in 'Índice'"),
    ("ra-d05", "Look at 'Faixa': its code sets faixa to undefined", "Look at what 'Todos'"),
    ("ra-v11", "Look at what 'Buscar médico' gave out: sala is null", "Look at what 'Todos'"),
    ("ra-x10", "Look at what 'Kits' gave out: itens.1.q is null", "Look at what 'Juntar'"),
    ("rb-p16", "(execution 23) look at 'Tabloya bak'", '"origin"'),
    ("rb-y13", "(execution 147) look at 'Rehber': kayıt is", '"origin"'),
    ("ra-d11", "horas is -16 (number), made in 'Horas'", "body.r.0"),
    ("ra-x09", "because saldo is -4 (number), from 'Contas'", "saldo is 10"),
    ("rb-z01", "w is null (null), which counts as 0, so (100 / $json.w).toFixed(2) is Infinity", "is an object"),
    ("rb-q01", "b is 0 (number), so 5 / $json.b is Infinity in 'Yaz'", "is an object"),
    ("rb-q02", "b is 0 (number), so 5 / $json.b is Infinity", "is an object"),
    ("rb-q03", "b is 0 (number), so (5 / $json.b).toFixed(1) is Infinity", "is an object"),
    ("rb-x35", 'it cannot calculate with wert, which is "0,00068"', "is an object"),
    ("ra-b51", "look at '期限計算': 残り is 'NaN': fromISO gets 期限", "no number"),
    ("ra-v06", "no ISO date", "no number"),
    ("ra-i02", "body.telefone is null (null), as 'Lead' received it", "gives nothing or fails"),
    ("ra-w01", "No rule found", "telefone"),
    ("ra-b36", "the item has endereço, from 'Compras', so rua becomes null", "No rule found"),
    ("ra-c03", "because final is not there in 2 of its items", "No rule found"),
    ("ra-c10", "etiqueta is 'Gravel / null': tamanho is null", "something is wrong"),
    ("ra-d19", "trato is null (null), from 'Trato'", "No rule found"),
    ("ra-v09", "promo is null (null), from 'Bicicletas'", "No rule found"),
    ("ra-x08", "from 'Vagas': new Date() does not read it", "No rule found"),
    ("ra-d32", "a list, so there is no lat in it", "No rule found"),
    ("ra-h04", "No rule found", "is null"),
    ("rb-p33", "$json.gün.toString() raises an error there; gün is null", "No rule found"),
    ("rb-y09", "kat is null (null), from 'Oda'", "No rule found"),
    ("rb-y02", "with which '비율' cannot calculate Math.round(", "No rule found"),
    ("rb-q05", "with which 'Yaz' cannot calculate $json.a * 2", "No rule found"),
    ("ra-d17", 'vagas is "122" (string): + joins texts and does not add them', "nothing is known to be wrong"),
    ("ra-b42", 'total is "120080" (string): + joins texts and does not add them', "nothing is known to be wrong"),
    ("rb-s02", "średnia is 151 (number): + joins texts and does not add them", "No rule found"),
    ("rb-s24", "it reads śr of the last item of 'Uczniowie' for each of its 3 items", "No rule found"),
    ("rb-y08", "it reads not of the first item of 'Sınıf listesi' for each of its 3 items", "No rule found"),
    ("rb-p30", 'but its no is "C1" (string), which item 1 has there; so', "nothing is known to be wrong"),
    ("rb-x12", "so 'Faktury' reads firma of another item of 'Właściciele'", "No rule found"),
    (
        "rb-p20",
        'rıhtım is "07" (string), and there is "7" (string): they differ only in leading zeros',
        "No rule found",
    ),
    ("rb-x04", 'there is "HLC-03" (string): they differ only in leading zeros', '"origin"'),
    ("rb-y16", "they differ only in type, so they are not the same", "No rule found"),
    ("rb-s33", "'Yaş hesapla': it reads dogum, which is in no item of the execution; the item has doğum", '"origin"'),
    ("rb-s01", 'the other item has "77" (string) there', '"origin"'),
    ("ra-b35", "they differ only in case or spaces", "of 3 items)"),
    ("rb-x18", "they differ only in spaces", "accents"),
    ("rb-y18", 'and a rule has "TR" (string): they differ only in letters that look alike, Т is Cyrillic', "accents"),
    ("rb-p36", "which is not valid JSON", "'Uwagi kapitana': uwagi is"),
    ("ra-b31", "preço is \"210,50\" (string), no number, so 'Calcular' writes R$ NaN", "It may be intended"),
    ("ra-v05", "new Date() gets 期限", "It may be intended"),
    ("ra-b30", "paciente is an object, which a text shows as [object Object]", "It may be intended"),
    ("ra-d27", "qr is an object, which a text shows as [object Object]", "It may be intended"),
    ("ra-b33", 'fromISO gets data, which is "15/12/2026" (string), no ISO date', "It may be intended"),
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
