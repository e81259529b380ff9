"""Trying to break lengthwise: kills, damaged inputs, full disks, clusters that come and go.

Every test is a module that can be run by itself (`python -m soak.hostile --count 100`); all of them
together are `python -m soak` or `make soak`. A case is a pure function of its number, and what came
out of each is a line of JSON in `soak-record/`, so that a soak which was stopped goes on where it
was. `python -m soak.report` writes docs/reliability.md of these lines.
"""
