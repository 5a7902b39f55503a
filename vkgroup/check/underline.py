"""The part of a source line to underline, for a column that the compiler gives."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"\s*//.*$")
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPERATOR = re.compile(r"[-+*/%&|^<>=!~?:]+|.")
_CLOSING = {"(": ")", "[": "]"}


def underlined(text: str, column: int) -> tuple[int, int]:
    """Return start and end of the part of a line to underline, as indices.

    `column`: the first character of the part, counted from 1; 0 if only the line is known.

    A column at the start of a statement stands for the statement. Another one stands for the expression that
    starts there: a name with its members, indices and arguments, or an operator. Without a column the part is
    the line, without indentation and comment. So it is for a line with other characters than ASCII, since
    compilers count bytes.
    """
    bare = _COMMENT.sub("", text) or text
    first = len(bare) - len(bare.lstrip())
    start = column - 1
    is_known = first <= start < len(bare) and text.isascii() and bare[start] not in " \t{}"
    if not is_known:
        return first, len(bare.rstrip())
    if start == first:
        end = bare.find(";", start)
        return start, end + 1 if end >= 0 else len(bare.rstrip())
    name = _NAME.match(bare, start)
    if name is not None:
        return start, _end_of_expression(bare, name.end())
    operator = _OPERATOR.match(bare, start)
    return start, operator.end() if operator is not None else start + 1


def _end_of_expression(text: str, end: int) -> int:
    """Return the end of the members, indices and arguments that follow a name."""
    while end < len(text):
        if text[end] in _CLOSING:
            closed = _end_of_brackets(text, end)
            if closed < 0:
                return end
            end = closed
        elif (member := re.compile(r"\.\w+").match(text, end)) is not None:
            end = member.end()
        else:
            return end
    return end


def _end_of_brackets(text: str, start: int) -> int:
    """Return the end of the brackets that open at an index; -1 if they close on another line."""
    expected: list[str] = []
    for index in range(start, len(text)):
        if text[index] in _CLOSING:
            expected.append(_CLOSING[text[index]])
        elif expected and text[index] == expected[-1]:
            expected.pop()
            if not expected:
                return index + 1
    return -1
