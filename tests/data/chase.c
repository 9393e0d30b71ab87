/* Latency of one load, measured without tare: the reference of the probe memory.stride.
 *
 *     cc -O1 -o chase chase.c        chase SIZE STRIDE sequential|random
 *
 * Links SIZE / STRIDE pointers, STRIDE bytes apart, in ascending order or in one random cycle
 * (Sattolo), follows them once, and prints the nanoseconds per load of the fastest of 40 windows.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { LOADS = 2048, WINDOWS = 40 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    size_t size = strtoul(argv[1], NULL, 0), stride = strtoul(argv[2], NULL, 0);
    size_t count = size / stride;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t *next = malloc(count * sizeof *next);
    if (memory == MAP_FAILED || next == NULL || count == 0)
        return 1;
    madvise(memory, size, MADV_NOHUGEPAGE);
    if (strcmp(argv[3], "random") == 0) {
        for (size_t i = 0; i < count; i++)
            next[i] = i;
        srandom(1);
        for (size_t i = count - 1; i > 0; i--) {
            size_t j = (((size_t)random() << 31) | (size_t)random()) % i, kept = next[i];
            next[i] = next[j];
            next[j] = kept;
        }
    } else
        for (size_t i = 0; i < count; i++)
            next[i] = (i + 1) % count;
    for (size_t i = 0; i < count; i++)
        *(char **)(memory + i * stride) = memory + next[i] * stride;
    char *at = memory;
    for (size_t i = 0; i < count; i++)
        at = *(char **)at;
    double least = 1e18;
    for (int window = 0; window < WINDOWS; window++) {
        double start = now();
        for (int i = 0; i < LOADS; i += 8) {
            at = *(char **)at, at = *(char **)at, at = *(char **)at, at = *(char **)at;
            at = *(char **)at, at = *(char **)at, at = *(char **)at, at = *(char **)at;
        }
        double each = (now() - start) / LOADS;
        if (each < least)
            least = each;
    }
    printf("%.3f\n", least);
    return at == NULL;
}
