/* Counts the primes below N in another way, to know what MPI is to come to. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long end = argc > 1 ? atol(argv[1]) : 0, primes = 0;
    char *composite = calloc(end > 2 ? end : 2, 1);
    if (!composite)
        return 1;
    for (long n = 2; n < end; n++) {
        if (composite[n])
            continue;
        primes++;
        for (long m = n * n; n <= 100000 && m < end; m += n)
            composite[m] = 1;
    }
    printf("%ld\n", primes);
    return 0;
}
