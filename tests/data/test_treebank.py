"""Penn Treebank tokens become readable text again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.data.treebank import BRACKETS, detokenize, tokens_to_text

KNOWN = {
    "punctuation": ("Yes , no ; maybe : why ? Because ! Ok .", "Yes, no; maybe: why? Because! Ok."),
    "brackets": (
        "tics -LRB- and shouts -RRB- , etc. -LSB- sic -RSB- -LCB- x -RCB-",
        "tics (and shouts), etc. [sic] {x}",
    ),
    "lower_case_brackets": ("tics -lrb- and shouts -rrb- .", "tics (and shouts)."),
    "double_quotes": ("`` Jane 's Song , '' he said .", '"Jane\'s Song," he said.'),
    "quote_only_opened": ("`` Colin was an honest broker .", '"Colin was an honest broker.'),
    "quote_only_closed": ("A couple get hit , '' said he .", 'A couple get hit," said he.'),
    "quote_closed_at_end": ("we went back to . ''", 'we went back to."'),
    "backquotes_close_too": ("the `` Cat Chaser `` film", 'the "Cat Chaser" film'),
    "apostrophes_open_too": ("the '' rampage of murder '' was", 'the "rampage of murder" was'),
    "apostrophes_open_at_start": ("'' I hope so , '' said Limp .", '"I hope so," said Limp.'),
    "straight_quotes": ('the " big " one', 'the "big" one'),
    "two_quotations": ("`` Little '' was added to `` Rascals ''", '"Little" was added to "Rascals"'),
    "single_quotes": ("he said ` yes ' and left", "he said 'yes' and left"),
    "plural_possessive": ("the band members ' daily lives", "the band members' daily lives"),
    "decade": ("since the ' 30s", "since the '30s"),
    "negation": ("It wo n't and ca n't and DO N'T", "It won't and can't and DON'T"),
    "clitics": ("I 'm he 's we 're they 've she 'd you 'll", "I'm he's we're they've she'd you'll"),
    "split_words": ("We 're gon na go , I wan na , 't was , got ta", "We're gonna go, I wanna, 'twas, gotta"),
    "second_half_alone": ("na na me too", "na na me too"),
    "money": ("$ 5 and US$ 3.1 billion or C$ .5 and # 20 or £ 7", "$5 and US$3.1 billion or C$.5 and #20 or £7"),
    "currency_without_amount": ("a $ sign and # sign", "a $ sign and # sign"),
    "percent": ("3 % of it", "3% of it"),
    "escaped": ("1\\/2 of 3\\*4", "1/2 of 3*4"),
    "dash": ("drugs -- in the 1980s -- are", "drugs -- in the 1980s -- are"),
    "dots": ("well ... no", "well... no"),
    "suffix": ("a five -page primer , Iranian -born", "a five-page primer, Iranian-born"),
    "prefix": ("inch- thick and pre- and post-war", "inch-thick and pre- and post-war"),
    "infix": ("the Aix -en- Provence region", "the Aix-en-Provence region"),
    "time": ("at 4 : 39.22 or 10 : 30 p.m.", "at 4:39.22 or 10:30 p.m."),
    "colon_after_year": ("in 1990 : 30 people", "in 1990: 30 people"),
    "slash_keeps_blanks": ("What ethnic group / race", "What ethnic group / race"),
    "ampersand": ("Farrar , Straus & Giroux", "Farrar, Straus & Giroux"),
    "abbreviation": ("Mr. Stevens of the U.S. said .", "Mr. Stevens of the U.S. said."),
    "empty": ("", ""),
    "single_apostrophe": ("'", "'"),
    "opening_bracket_last": ("see -LRB-", "see ("),
}


@pytest.mark.parametrize(("tokens", "text"), KNOWN.values(), ids=KNOWN)
def test_detokenize_known_value(tokens: str, text: str) -> None:
    assert detokenize(tokens) == text


def test_tokens_to_text_joins_with_blanks_unless_asked() -> None:
    assert tokens_to_text(["Ca", "n't", "."]) == "Ca n't ."
    assert tokens_to_text(["Ca", "n't", "."], detokenize=True) == "Can't."


@given(st.lists(st.from_regex(r"[A-Z][a-z]{2,8}", fullmatch=True)))
def test_detokenize_leaves_plain_words_alone(words: list[str]) -> None:
    assert detokenize(" ".join(words)) == " ".join(words)


TOKENS = st.sampled_from(
    [
        *BRACKETS,
        *"``'|\",.$%5:&",
        "``",
        "''",
        "...",
        "--",
        "n't",
        "'s",
        "1\\/2",
        "-born",
        "pre-",
        "gon",
        "na",
        "Bell",
        "30",
    ]
)


@given(st.lists(TOKENS))
def test_detokenize_changes_blanks_and_escapes_only(tokens: list[str]) -> None:
    written = {"``": '"', "''": '"', "`": "'", "1\\/2": "1/2", **BRACKETS}
    without_blanks = "".join(written.get(token, token) for token in tokens)
    assert detokenize(" ".join(tokens)).replace(" ", "") == without_blanks


@given(st.lists(TOKENS))
def test_detokenize_never_doubles_or_trails_blanks(tokens: list[str]) -> None:
    text = detokenize(" ".join(tokens))
    assert text == text.strip()
    assert "  " not in text
