/* A program of a made repository: what it does is in work.h, which differs between commits.
   It uses CPU_NS of CPU time, by its own clock, and so the same whatever else the machine does; or,
   with LOOPS, the time of so much work, which other programs change. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

static long long cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void) {
#ifdef FAIL_EVERY
    FILE *runs = fopen("runs", "a");
    if (!runs || fputc('.', runs) == EOF || fflush(runs)) return 4;
    if (ftell(runs) % FAIL_EVERY == 0) return 3;
#endif
#ifdef FAIL_ONE_IN
    unsigned drawn;
    if (getentropy(&drawn, sizeof drawn)) return 4;
    if (drawn % FAIL_ONE_IN == 0) return 3;
#endif
#ifdef PRINT_BYTES
    static char text[PRINT_BYTES];
    if (fwrite(text, 1, sizeof text, stdout) != sizeof text) return 5;
#endif
#ifdef LOOPS
    volatile unsigned number = 1;
    for (long i = 0; i < LOOPS; i++) number = number * 3 + 1;
#endif
    while (cpu_ns() < CPU_NS) {}
    return 0;
}
