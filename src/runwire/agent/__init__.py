"""Our own agent: a small loop on any model endpoint, whose every step is an event.

    models.py        PROVIDER/NAME -> an endpoint: which API, where, with which key
    conversation.py  what was said so far, in neutral words
    providers/       ONE FILE PER API: a conversation as a request body (the answers are dialects)
    http.py          the only module that speaks HTTP to a model
    asking.py        one round trip: request, stream, retries
    calling.py       the calls of one answer: approvals, parallel runs, results in order
    loop.py          model, tools, until done; limits; compaction
    session.py       the loop as a session of the pump
    tools/           ONE FILE PER TOOL
    approvals.py     allow, ask or deny: the ladder and the rules
    commands.py      a shell command in its parts, for the rules

Nothing here knows the wire that a reader sees; what it emits goes through the contract like any agent's output.
"""
