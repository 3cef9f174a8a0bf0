"""The gateway: every request that reaches a plugin from outside.

    a request's way: asgi -> web -> dispatch -> wire.read -> methods -> statics | reads | calls -> wire.write

    wire, revisions, request   bytes to messages and back; the refusals and their HTTP status
    web, asgi, route           addresses, verbs, CORS, rebinding; assets, wellknown: the plugin's other documents
    methods                    (era, method) -> handler; a missing row is the gate
    edition, shelf             a release ready to answer, and which release that is right now
    calls, work, results       running tenant code: checks before, documents and files around, governor after
    pending, seal, notices     asking the client back, sealed notes, notifications
    app, on_lambda, settings   the composition root, its Lambda handler, its environment

It reads what it serves and writes files/, state/, pending/ and usage only.
"""
