"""The subject and the words of an e-mail are read from its HTML."""

import pytest

from accounts.outbox.mail import subject_and_text


def text_of(body: str) -> str:
    return subject_and_text(f"<title>Hi</title><table><tr><td>{body}</td></tr></table>")[1]


def test_subject_is_the_title_unescaped() -> None:
    page = "<style>p > a {}</style><title>\n A &amp;&#x27;&lt;b&gt; </title><td><p>One</p></td>"

    assert subject_and_text(page) == ("A &'<b>", "One")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>One\n  two</p>\n  <p>Three</p>", "One two\n\nThree"),
        ("<p>One<br> two<br><br>three</p>", "One\ntwo\nthree"),
        ("<p>It did:</p><ul> <li>a</li>\n <li>b</li> </ul><p>End</p>", "It did:\n– a\n– b\n\nEnd"),
        ("<p>See: <a href='https://a/?x=1&amp;y'>https://a/?x=1&amp;y</a></p>", "See: https://a/?x=1&y"),
        ("<p>Two<br><a href='https://a/'>A</a> <a href='https://b/'>B</a></p>",
         "Two\nA: https://a/\nB: https://b/"),
        ("<p><a href='mailto:help@a.example'>Support</a></p>", "Support: help@a.example"),
        ("<p>One</p><tfoot><tr><td>Two</td></tr></tfoot>", "One\n\n—\nTwo"),
        ("<p>1\xa0000\xa0\u2014 1\u202f000</p>", "1\xa0000\xa0\u2014 1\u202f000"),
        ("<p>a\u2028b\x85c\x0bd\x0ce</p>", "a b c d e"),
    ],
)  # fmt: skip
def test_elements_become_lines(body: str, text: str) -> None:
    assert text_of(body) == text


def test_what_is_for_html_alone_is_left_out() -> None:
    button = "<table class='x html-only'><tr><td><a href='https://a/'>Go</a></td></tr></table>"

    assert (
        text_of(f"<p>One</p>{button}<p><span class='html-only'>or<br></span>two</p>")
        == "One\n\ntwo"
    )
