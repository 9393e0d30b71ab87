/* Burns so many milliseconds of its own CPU time, then appends what it saw of itself to a file:
   wall and CPU nanoseconds from main's first line to its last; or, for "-", prints what it is told.
   spin MILLISECONDS LOG */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long long now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv) {
    long long wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    if (argc != 3) return 2;
    long long end = cpu + atoll(argv[1]) * 1000000LL;
    while (now(CLOCK_PROCESS_CPUTIME_ID) < end) {}
    if (!strcmp(argv[2], "-")) return printf("spins for %s ms\n", argv[1]) < 0;
    FILE *log = fopen(argv[2], "a");
    if (!log) return 3;
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = now(CLOCK_MONOTONIC) - wall;
    fprintf(log, "%lld %lld\n", wall, cpu);
    return fclose(log) != 0;
}
