/* Counts the primes below N, whose ranks take every so-manyth odd number. The upper end doubles, and
 * each step is a broadcast and a reduction, so that communication counts where ranks are many. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int is_prime(long n)
{
    for (long d = 3; d * d <= n; d += 2)
        if (n % d == 0)
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long end = argc > 1 ? atol(argv[1]) : 1000000;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    long primes = end > 2;
    for (long from = 3, to = 1024; from < end; from = to, to *= 2) {
        long upto = to < end ? to : end;
        MPI_Bcast(&upto, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        long found = 0, all = 0;
        for (long n = (from | 1) + 2L * rank; n < upto; n += 2L * ranks)
            found += is_prime(n);
        MPI_Reduce(&found, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        primes += all;
    }
    double seconds = MPI_Wtime() - began;
    if (rank == 0)
        printf("{\"ranks\": %d, \"end\": %ld, \"primes\": %ld, \"seconds\": %.9f}\n", ranks, end,
               primes, seconds);
    MPI_Finalize();
    return 0;
}
