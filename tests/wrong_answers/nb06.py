"""Notebook 06: what people write before they write the right thing, and words of the sentence that each must hear."""

RIGHT = {"time-off v1": "old", "expenses v2": "superseded", "leave v2": "dead", "refunds v3": "fine", "training v1": "fine"}


def _fates(**said):
    """The right answer with some of it changed."""
    return f"fates = {RIGHT | {name.replace('_', ' ').replace('timeoff', 'time-off'): word for name, word in said.items()}}"


DECIDE = "def my_decide(live, dead_below, job):\n    version, text = job\n"

WRONG = {
    "06.1": [
        (_fates(expenses_v2="old"), "Its trouble is that version 3 exists, not its age"),
        (_fates(expenses_v2="dead"), "It is only this version that has a successor"),
        (_fates(timeoff_v1="dead"), "Nobody deleted `time-off`. It is 200 ticks old"),
        (_fates(timeoff_v1="fine"), "`time-off` may well be right"),
        (_fates(leave_v2="fine"), "A job that comes at 195 must not revive it"),
        (_fates(leave_v2="superseded"), "There is no version 3 of `leave`"),
        (_fates(refunds_v3="superseded"), "it is version 3 all the same"),
        (_fates(refunds_v3="old"), "60 ticks old, and the contract allows 90"),
        (_fates(training_v1="old"), "A narrowed label is no birthday"),
        (_fates(training_v1="stale"), "'stale' is none of old, superseded, dead, fine"),
        ('fates = {"time-off v1": "old"}', "`expenses v2` is missing"),
    ],
    "06.2": [
        ('steps = ["tombstone", "fetch", "embed", "stage", "switch", "clean up"]', "Died after your step 1, tombstone: Eli gets nothing."),
        ('steps = ["fetch", "embed", "publish", "tombstone", "clean up"]', "After your step 3, publish, both versions answer."),
        ('steps = ["fetch", "stage", "switch", "embed", "clean up"]', "Died after your step 3, switch: BM25 finds version 2, dense does not."),
        ('steps = ["fetch", "embed", "stage", "clean up", "switch"]', "Died after your step 4, clean up: Eli gets nothing."),
        ('steps = ["fetch", "embed", "switch", "stage", "clean up"]', "Your step 3, switch, has nothing to work on: stage comes before it."),
        ('steps = ["fetch", "embed", "stage", "switch"]', "what is not cleaned up comes back with a restore"),
        ('steps = ["fetch", "embed", "stage"]', "All 3 steps are done and version 1 still answers."),
        ('steps = ["fetch", "rank"]', "'rank' is none of the cards"),
    ],
    "06.3": [
        (DECIDE + "    return 'store' if version >= dead_below and (live is None or version >= live[0]) else 'refuse'",
         "Version 2 with *another* text was accepted over version 2."),
        (DECIDE + "    if version < dead_below:\n        return 'refuse'\n    if live is None or str(version) > str(live[0]):\n        return 'store'\n"
                  "    return 'no-op' if (version, text) == live else 'refuse'", "Version 10 was refused against version 9"),
        (DECIDE + "    if live is None or version > live[0]:\n        return 'store'\n"
                  "    return 'no-op' if (version, text) == live else 'refuse'", "revived a deleted document"),
        (DECIDE + "    if version < dead_below:\n        return 'refuse'\n    if live is None:\n        return 'store'\n    if version == live[0]:\n"
                  "        return 'no-op' if text == live[1] else 'refuse'\n    return 'store'", "The last to arrive is not the newest."),
        (DECIDE + "    if version < dead_below or (live and version <= live[0]):\n        return 'refuse'\n    return 'store'",
         "A job that is run again is harmless"),
        (DECIDE + "    if version <= dead_below:\n        return 'refuse'\n    if live is None or version > live[0]:\n        return 'store'\n"
                  "    return 'no-op' if (version, text) == live else 'refuse'", "The floor is 3 and version 3 may live."),
        (DECIDE + "    return True", "Your function returned True; it must return"),
    ],
    "06.4": [
        ('arrivals, question = [(1, "Leave is twelve weeks."), (2, "Leave is sixteen weeks for every employee.")], "sixteen weeks"',
         "Append-only returned both, but the first hit was right."),
        ('arrivals, question = [(0, "Leave is twelve weeks.")], "How many weeks?"', "Refused by both: version 0 is not a version"),
        ('arrivals, question = [(1, "Leave is twelve weeks.")], "How many weeks?"', "Nothing to confuse yet: 'Leave is twelve weeks.' is right in both."),
        ('arrivals, question = [(2, "Leave is sixteen weeks."), (1, "Leave is twelve weeks.")], "zebra"', "Neither design finds anything for 'zebra'."),
        ('arrivals, question = [(n, "Leave.") for n in range(1, 8)], "leave"', "7 events. Five are enough."),
        ('arrivals, question = ["Leave is twelve weeks."], "How many weeks?"', "This exercise expects a list of pairs"),
    ],
}
