"""Collectives of mpi4py: of arrays in all its ways to name them, and of Python's objects. Sums are of whole numbers."""
from zlib import crc32

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
halves = world.Split(world.rank % 2, world.rank)
n = 6000


def say(what, data):
    """By messages, in the order of ranks."""
    mine = crc32(numpy.ascontiguousarray(data).tobytes())
    if world.rank:
        world.send(mine, 0, tag=9)
    else:
        print(what, mine, *(world.recv(source=r, tag=9) for r in range(1, world.size)), flush=True)


def keep_larger(left, into, datatype):
    """An operator of our own."""
    x, y = (numpy.frombuffer(memory, dtype="d") for memory in (left, into))
    numpy.maximum(x, y, out=y)


for comm in world, halves:
    for turn in range(6):
        me, ranks = comm.rank, comm.size
        root = turn % ranks
        own = numpy.arange(n, dtype="d") * (me + 1) + turn

        data = own.copy()
        comm.Bcast(data, root=root)
        say("Bcast", data)
        total = numpy.zeros(n)
        comm.Allreduce(own, total, op=MPI.SUM)
        say("Allreduce", total)
        total = own.copy()
        comm.Allreduce(MPI.IN_PLACE, total, op=MPI.MAX)
        say("Allreduce in place", total)
        total = numpy.zeros(n)
        comm.Reduce([own, MPI.DOUBLE], [total, MPI.DOUBLE] if me == root else None, op=MPI.SUM, root=root)
        say("Reduce", total)
        everything = numpy.zeros((ranks, n))
        comm.Gather(own, everything if me == root else None, root=root)
        say("Gather", everything)
        comm.Allgather(own, everything)
        say("Allgather", everything)
        part = numpy.zeros(n)
        comm.Scatter(everything if me == root else None, part, root=root)
        say("Scatter", part)
        turned = numpy.zeros((ranks, n))
        comm.Alltoall(everything, turned)
        say("Alltoall", turned)
        counts = [n // 2 + 100 * r for r in range(ranks)]
        uneven = numpy.zeros(sum(counts))
        comm.Allgatherv(own[: counts[me]], [uneven, counts])
        say("Allgatherv", uneven)
        comm.Gatherv(own[: counts[me]], [uneven, counts] if me == root else None, root=root)
        say("Gatherv", uneven)
        mine = numpy.zeros(counts[me])
        comm.Reduce_scatter(uneven, mine, counts, op=MPI.SUM)
        say("Reduce_scatter", mine)
        comm.Scan(own, total, op=MPI.SUM)
        say("Scan", total)

        columns = MPI.DOUBLE.Create_vector(n // 4, 2, 4).Commit()
        strided = own.copy()
        comm.Bcast([strided, 1, columns], root=root)
        say("Bcast of columns", strided)
        columns.Free()
        larger = MPI.Op.Create(keep_larger, commute=True)
        comm.Allreduce(own, total, op=larger)
        say("Allreduce by Python", total)
        larger.Free()

        objects = comm.allgather({"rank": me, "list": list(range(me * 500))})
        say("objects", [len(o["list"]) for o in objects])
        say("object", comm.bcast(list(range(4000)) if me == root else None, root=root))
        say("sum", comm.allreduce(me))
        request = comm.Iallreduce(own, total, op=MPI.SUM)
        comm.Barrier()
        request.Wait()
        say("Iallreduce", total)
halves.Free()
