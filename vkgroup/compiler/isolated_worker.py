"""Worker process that compiles requests from standard input: ``python -m vkgroup.compiler.isolated_worker``.

Output of glslang goes to standard error, so that it cannot damage the answers.
"""

from __future__ import annotations

import os
import pickle
import sys

from vkgroup.compiler.glslang import compile_glslang
from vkgroup.compiler.request import failure
from vkgroup.errors import VkgroupError


def serve() -> None:
    """Answer each working directory and request with a module and its included files, or an error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            folder, request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answer: object
        try:
            os.chdir(folder)
            answer = compile_glslang(request)
        except OSError as error:
            answer = failure(request.name, 0, f"the working directory is not accessible: {error.strerror}")
        except VkgroupError as error:
            answer = error
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    serve()
