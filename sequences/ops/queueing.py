"""Group queues by formulas: how many callers share a write, and how long they wait for it to begin.

The callers of one process who share writes are a queue with one server, which takes all who wait. If callers come by
chance (Poisson) at a rate `r` and a write takes `S`, then Poisson(r S) callers come while it is under way, and are the
next group; if there are none, the next caller is a group alone. So a group has on average

    n = r S + exp(-r S),    alone with probability exp(-r S) (1 + r S)

and a caller finds a write under way with probability r S / n, whose rest takes S / 2 on average. The bulk queue is in
Kleinrock, "Queueing Systems", volume 1, section 4.5.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """Groups of callers: how many are in one, the share of groups of one, and the wait for the write to begin."""

    size: float
    alone: float
    wait: float


def grouped(rate: float, seconds: float, most: float, busy: float) -> Group:
    """The groups of one process whose writes take `seconds`, and `busy` for each caller.

    No group is larger than `most`: at that size the queue grows, and the wait has no end.
    """
    size, load = 1.0, rate * seconds
    while (grown := min(load + math.exp(-load), most)) > size:  # up to the size that the next group has, too
        size, load = grown, rate * (seconds + busy * grown)
    if load >= most:
        return Group(most, 0.0, math.inf)
    return Group(size, math.exp(-load) * (1 + load), load / size * (seconds + busy * size) / 2)


def taking_turns(rate: float, seconds: float, most: float, busy: float, processes: int) -> Group:
    """The groups of processes of one host that take turns at a scope.

    One process is a group queue. Of several, each one's callers gather while it writes and while it waits for its turn;
    so it goes round: idle, waiting, writing. How long it waits is the mean value analysis of a closed queue (Reiser and
    Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", 1980). As all writes take the same time, a
    write under way counts half for a process that was idle; one that lines up again at once comes when a write begins.
    """
    if processes == 1:
        return grouped(rate, seconds, most, busy)
    each = rate / processes
    load = each * seconds
    idle, queue, writing = math.exp(-load) / each, 0.0, 0.0
    for others in range(processes):
        turn = seconds * (queue - math.exp(-load) * writing / 2)
        cycle = idle + turn + seconds
        queue, writing = (others + 1) * (turn + seconds) / cycle, (others + 1) * seconds / cycle
    size = max(each * (idle + turn + seconds), rate * seconds)  # as there is one write at a time
    turn = size / each - idle - seconds
    if size >= most:
        return Group(most, 0.0, math.inf)
    alone = math.exp(-load) * (1 + load) * math.exp(-each * turn)
    while_writing, while_waiting = load * (seconds / 2 + turn), each * turn * turn / 2
    return Group(size, alone, (while_writing + math.exp(-load) * turn + while_waiting) / size)
