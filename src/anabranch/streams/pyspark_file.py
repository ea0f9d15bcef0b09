"""What is asked of a PySpark file before it is run: that Python compiles it, and that it has ``def main(job)``.

Nothing of it is run here.
"""

from __future__ import annotations

import ast
import warnings

from anabranch.streams.errors import ScriptError, error_at

MAIN = "main"
_SHAPE = "write `def main(job):`; job.spark is the session, job.start(writer, name) starts a query"


def check_file(text: str) -> int:
    """The line of ``main``; raises ScriptError with the line and a caret where it cannot be run."""
    tree = _parsed(text)
    for node in reversed(tree.body):  # the last one counts, as in Python
        if isinstance(node, ast.AsyncFunctionDef) and node.name == MAIN:
            raise _error(text, node, "main is a coroutine", "leave out `async`: Spark's session is not asynchronous")
        if isinstance(node, ast.FunctionDef) and node.name == MAIN:
            _check_arguments(text, node)
            return node.lineno
    raise error_at(text, 0, 0, 0, "the file has no function main", _SHAPE, "NO_MAIN")


def _parsed(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are told where it runs
            tree = ast.parse(text)
            compile(text, "stream.py", "exec", dont_inherit=True)
    except SyntaxError as error:
        line, column = error.lineno or 0, error.offset or 0
        raise error_at(text, 0, line, max(column, 1), error.msg, "correct the line", "PYTHON_SYNTAX") from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        problem = f"Python cannot compile it: {error or type(error).__name__}"
        raise error_at(text, 0, 0, 0, problem, "write it in shorter functions", "PYTHON_SYNTAX") from error
    return tree


def _check_arguments(text: str, node: ast.FunctionDef) -> None:
    """It is called with the job, and with nothing else."""
    asked = node.args
    positional = [*asked.posonlyargs, *asked.args]
    needed = len(positional) - len(asked.defaults)
    is_keyword_needed = any(default is None for default in asked.kw_defaults)
    if needed > 1 or is_keyword_needed or not (positional or asked.vararg):
        raise _error(text, node, "main is called with one argument, the job", _SHAPE)


def _error(text: str, node: ast.stmt, problem: str, fix: str) -> ScriptError:
    return error_at(text, 0, node.lineno, node.col_offset + 1, problem, fix, "NO_MAIN")
