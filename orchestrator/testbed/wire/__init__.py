"""Messages between clients, controller and agents: ZeroMQ, CURVE on both ends, checked schemas.

Who serves binds a ROUTER socket; who asks connects a DEALER. Every message is a request with an
id, or the answer to one: nothing is pushed. What happens at the other end is asked for, with a
cursor, several times a second. So a lost message is asked for again, a slow reader slows nobody,
and either end can restart at any time.
"""
