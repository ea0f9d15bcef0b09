"""A PostgreSQL that listens on a socket of the file system, for clients that know TCP alone, such as JDBC's."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.conninfo import conninfo_to_dict


@contextmanager
def by_tcp(uri: str) -> Iterator[tuple[str, str]]:
    """The address for JDBC of a database, and its user."""
    parts = conninfo_to_dict(uri)
    file = f"{parts['host']}/.s.PGSQL.{parts.get('port') or 5432}"

    class Forward(socketserver.BaseRequestHandler):
        """One connection."""

        def handle(self) -> None:
            """Bytes in both directions until either side ends."""
            with socket.socket(socket.AF_UNIX) as server:
                server.connect(file)
                back = threading.Thread(target=_copy, args=(server, self.request), daemon=True)
                back.start()
                _copy(self.request, server)
                back.join()

    class Forwarding(socketserver.ThreadingTCPServer):
        """All connections."""

        daemon_threads = True
        block_on_close = False

    with Forwarding(("127.0.0.1", 0), Forward) as forwarding:
        threading.Thread(target=forwarding.serve_forever, daemon=True).start()
        try:
            port = forwarding.server_address[1]
            yield f"jdbc:postgresql://127.0.0.1:{port}/{parts['dbname']}", str(parts["user"])
        finally:
            forwarding.shutdown()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return
