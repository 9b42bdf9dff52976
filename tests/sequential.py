"""Wald's sequential test: as few draws as tell a rare failure from a frequent one."""

import numpy as np


def is_rare(failed, usual=0.05, bad=0.2):
    """Return whether the share of failures is at most ``usual`` rather than ``bad``.

    Draws are taken from ``failed`` until one share is 40 times as likely as the other:
    either answer is wrong in at most 1 of 40 cases. For .05 and .2 that takes some 40
    draws; a limit of 12 failures takes 100 to be as sure.
    """
    evidence = 0.0
    for each in failed:
        ratio = usual / bad if each else (1 - usual) / (1 - bad)
        evidence += np.log(ratio)
        if abs(evidence) >= np.log(40):
            return evidence > 0
    raise AssertionError("The draws do not tell.")
