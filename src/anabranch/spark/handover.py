"""What Spark starts as its Python where the driver has a fork server: the server's fork runs the module instead.

A program of its own that imports nothing of this package, so that it starts in some 20 ms: ``handover.py SOCKET PYTHON
-m MODULE ...``.  Whatever else Spark asks of a Python, and all where the server is gone, is left to the real one.
"""

import json
import os
import socket
import sys

STREAMS = (0, 1, 2)


def main(address: str, python: str, arguments: list[str]) -> int:
    """Run the module in a fork of the server; returns its exit code, or replaces this process by the real Python."""
    if arguments[:1] == ["-m"]:
        with socket.socket(socket.AF_UNIX) as server:
            try:
                server.connect(address)
                request = {"arguments": arguments[1:], "environment": dict(os.environ), "directory": os.getcwd()}
                text = json.dumps(request).encode()
                socket.send_fds(server, [len(text).to_bytes(8, "big")], STREAMS)
                server.sendall(text)
                started = server.recv(1)
            except OSError:
                started = b""
            if started:
                # Spark ends a daemon by closing its input: there must be no other reader.
                for stream in STREAMS[:2]:
                    os.close(stream)
                try:
                    code = server.recv(1)
                except OSError:
                    code = b""
                return code[0] if code else 1
    return os.execv(python, [python, *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
