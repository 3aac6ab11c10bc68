"""Notebook 00, Start here: its predictions, its exercises' judges, its leak-log line and its renderers."""

from __future__ import annotations

from labsupport.lesson.leak_log import LeakLine
from labsupport.lesson.predictions import Prediction

QUESTION = "How much am I paid during parental leave?"

PREDICTIONS = {
    "00.1": Prediction(
        "Eli asks the sloppy design how much he is paid during parental leave. What does the person on call see?",
        {
            "a": ("a 403", "a 403 needs somebody who checks. Nothing on this path looks at who is asking."),
            "b": ("a warning", "a warning needs a line of code that knows that something is wrong. To this design all is well."),
            "c": ("an empty answer", "empty is what a filter would have left. There is none, so the list is full."),
            "d": ("nothing unusual", "and that is the whole difficulty. The leak has the same status as a good answer."),
        },
        "d",
    ),
    "00.2": Prediction(
        "You switch the reader from Eli to Mo. Which column changes?",
        {
            "a": ("both", "the sloppy column never asks who is reading, so a change of reader cannot reach it."),
            "b": (
                "only the sloppy one",
                "the sloppy column is the one that cannot change: the reader is no part of what it computes.",
            ),
            "c": ("only the safe one", "a design whose answer does not depend on who asks cannot be protecting anybody."),
        },
        "c",
    ),
    "00.3": Prediction(
        'We add to the instructions: "Never reveal pay bands." How many pay figures are in the text that the model reads?',
        {
            "a": ("none", "the sentence asks the model to keep quiet. It takes nothing out of the text in front of it."),
            "b": ("fewer", "an instruction is one more line of text. It has no way to remove another line."),
            "c": ("as many as before", "the sentence stands above the figures, and the figures stand below the sentence."),
        },
        "c",
    ),
}

LEAK = LeakLine(
    notebook="00",
    name="no filter",
    sounded_reasonable="It is an internal assistant, and everybody who can log in works here.",
    observed="the text of two closed pay pages, first in the list, with 200 OK",
    closed_by="entitlement before ranking: a search opens only the shelves that the reader may read",
)
