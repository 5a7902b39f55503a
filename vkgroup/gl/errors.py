"""OpenGL's errors as exceptions."""

from __future__ import annotations

from typing import ClassVar

from vkgroup.errors import InvalidDispatch


class GLError(InvalidDispatch):
    """A command that OpenGL refuses, and that has no effect.

    Attributes
    ----------
    gl_error : OpenGL's name of the error, without ``GL_``.
    """

    gl_error: ClassVar[str]

    def __str__(self) -> str:
        return f"{self.gl_error}: {super().__str__()}"


class InvalidEnum(GLError):
    """A name that is none of those that a command takes."""

    gl_error = "INVALID_ENUM"


class InvalidValue(GLError):
    """A number out of its range."""

    gl_error = "INVALID_VALUE"


class InvalidOperation(GLError):
    """A command that the present state does not allow."""

    gl_error = "INVALID_OPERATION"
