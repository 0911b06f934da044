"""Decode a text file without a declared encoding, if all plausible encodings give the same text.

An encoding is plausible if the non-ASCII letters of the decoded text belong to languages that use the encoding, and
occur in plausible positions: no symbol within a word, and no capital after a lower-case letter.
"""

import codecs
import re
from itertools import combinations, pairwise

from workbench.analysis.sheets.questions import BadSheet, FileQuestion, UnclearTable, distinct

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_WESTERN = {
    "German": "äöüßéèà", "French": "àâæçéèêëîïôœùûü", "Spanish": "áéíñóúüºª", "Italian": "àèéìòù",
    "Portuguese": "ãáâàçéêíõóôú", "Swedish": "åäöé", "Danish": "æøåé", "Dutch": "éëïóü",
}  # fmt: skip
_CENTRAL = {
    "German": "äöüß", "Polish": "ąćęłńóśźż", "Czech": "áčďéěíňóřšťúůýž", "Slovak": "áäčďéíĺľňóôŕšťúýž",
    "Hungarian": "áéíóöőúüű", "Croatian": "čćđšž", "Romanian": "ăâîşţ",
}  # fmt: skip
_ALPHABETS = {
    "cp1252": _WESTERN, "iso8859-15": _WESTERN, "cp850": _WESTERN, "mac-roman": _WESTERN, "cp1250": _CENTRAL,
    "cp1251": {"Russian": "абвгдежзийклмнопрстуфхцчшщъыьэюяё№"},
}  # fmt: skip
_ASIAN = ("cp932", "gb18030", "cp949", "big5")
_SIGNS = frozenset("“”„‘’‚–—…€£¥§°«»¿¡®©™·•²³×±\u00a0\u00ad´")
_WORD = re.compile(r"[A-Za-z\x80-\U0010ffff]*[\x80-\U0010ffff][A-Za-z\x80-\U0010ffff]*")
_ONE_LETTER = frozenset("àÀèÈéóÓåÅöÖ№")


def decoded(data: bytes, encoding: str | None) -> str:
    """Decode a text file. Without `encoding`, detect its encoding.

    Raises:
        UnclearTable: Several encodings are plausible and give different texts.
        BadSheet: The bytes are not valid text in the encoding.
    """
    for mark, codec in _MARKS:
        if data.startswith(mark):
            data = data.removeprefix(mark)
            encoding = codec
            break
    if encoding is None:
        encoding = _without_mark(data)
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        line = f"line {data[: error.start].count(10) + 1}: " if isinstance(error, UnicodeDecodeError) else ""
        raise BadSheet(f"{line}not text in the encoding {encoding}") from None
    if "\0" in text:
        raise BadSheet(f"line {text[: text.index(chr(0))].count(chr(10)) + 1}: holds a NUL character")
    return text


def _without_mark(data: bytes) -> str:
    """Return the encoding of bytes that have no byte order mark."""
    sample = data[:4_000]
    for codec, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        if len(sample) > 3 and zeros.count(0) > 0.4 * len(zeros) and len(data) % 2 == 0:
            return codec
    return "utf-8" if _strictly(data, "utf-8") is not None else _of_one_byte(data)


def _of_one_byte(data: bytes) -> str:
    lines = b"\n".join(dict.fromkeys(line for line in data.split(b"\n") if not line.isascii()))
    readable = ((codec, _strictly(lines, codec)) for codec in (*_ALPHABETS, *_ASIAN))
    texts = {codec: text for codec, text in readable if text is not None}
    sensible = {codec: text for codec, text in texts.items() if _makes_sense(text, codec)}
    answers = distinct(sensible or texts)
    if len(answers) == 1:
        return next(iter(answers))
    readings = {
        repr(codec): "letters " + "".join(dict.fromkeys(c for c in text if not c.isascii()))[:12]
        for codec, text in answers.items()
    }
    raise UnclearTable([FileQuestion(argument="encoding", about="the file", readings=readings)])


def _strictly(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        return None


def _makes_sense(text: str, codec: str) -> bool:
    """Return whether a text's letters belong to languages of the encoding and occur in plausible positions."""
    parts = {part for word in set(_WORD.findall(text)) for part in re.split("[’\u00a0·–—]", word)}
    spelled = {part.strip("".join(_SIGNS)) for part in parts}
    spelled = {word for word in spelled if not word.isascii()}
    if codec in _ASIAN:
        return all(c.isascii() or _is_asian(c) for c in set(text)) and not any(
            re.search("[A-Za-z]", w) for w in spelled
        )
    if not all(map(_is_word, spelled)):
        return False
    letters = {c.lower() for word in spelled for c in word if not c.isascii()}
    alphabets = [set(alphabet) for alphabet in _ALPHABETS[codec].values()]
    if _ALPHABETS[codec] is _WESTERN:  # a Western text often contains names from other Western languages
        alphabets = [first | second for first, second in combinations(alphabets, 2)]
    others = {c for c in set(text) if not c.isascii() and not c.isalpha()} - _SIGNS
    return not others - letters and any(letters <= alphabet for alphabet in alphabets)


def _is_word(word: str) -> bool:
    if len(word) == 1:
        return word in _ONE_LETTER
    if not word.isalpha() and not set(word) & set("ºª№"):
        return False
    mixed = any(c.isascii() for c in word) and any("\u0400" <= c <= "\u04ff" for c in word)
    rises = any(a.islower() and b.isupper() and not b.isascii() for a, b in pairwise(word))
    falls = re.search(r"[A-Z]{2}[^\x00-\x7f](?![^A-Z])", word)
    return not mixed and not rises and not (falls and falls[0][-1].islower() and falls[0][-1] != "ß")


def _is_asian(character: str) -> bool:
    is_sign = "\u2010" <= character <= "\u2bff" or character in _SIGNS  # such as ※, ▲, ①, ■, →
    in_words = "\u3000" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7a3"
    return is_sign or in_words or "\uff00" <= character <= "\uffef"
