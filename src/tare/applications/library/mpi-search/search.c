/* Finds the largest of N generated numbers: each rank searches its part, and what it found is
 * reduced once, so that hardly anything is communicated. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* splitmix64: the same numbers whoever generates them. */
static uint64_t number(uint64_t at)
{
    uint64_t z = (at + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000000;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    uint64_t largest = 0, all = 0;
    for (uint64_t at = rank; at < count; at += ranks) {
        uint64_t one = number(at);
        if (one > largest)
            largest = one;
    }
    MPI_Reduce(&largest, &all, 1, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - began;
    if (rank == 0)
        printf("{\"ranks\": %d, \"count\": %llu, \"largest\": \"%llu\", \"seconds\": %.9f}\n", ranks,
               (unsigned long long)count, (unsigned long long)all, seconds);
    MPI_Finalize();
    return 0;
}
