"""Messages between clients, controller and agents: ZeroMQ, CURVE on both ends, checked schemas.

The server binds a ROUTER socket; the client connects a DEALER. Every message is a request with an
id, or the answer to one: the server pushes nothing. The client polls events with a cursor, several
times a second. So a lost message is requested again, a slow client delays no other client, and
either end can restart at any time.
"""
