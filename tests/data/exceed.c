/* Takes as much of something as it is told:  exceed WHAT AMOUNT
   cpu, cpu-threads, cpu-children: ms; memory, memory-children: KiB; output, errors, file: bytes;
   processes, threads, bomb: how many at a time; stay: how many for a minute, in sessions of their own. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PARTS = 3, WHILE_MS = 400, STAY_MS = 60000 };

static long long used(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void doze(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void *burn(void *ms) {
    long long end = used(CLOCK_THREAD_CPUTIME_ID) + (long)ms;
    while (used(CLOCK_THREAD_CPUTIME_ID) < end) {}
    return NULL;
}

static void *wait_a_while(void *unused) {
    doze(WHILE_MS);
    return unused;
}

static void hold(long kib) {
    char *block = malloc(kib * 1024);
    for (long i = 0; i < kib; i++) block[i * 1024] = 1;
    doze(WHILE_MS);
    if (!block[0]) abort();
}

static void write_bytes(int file, long bytes) {
    char text[1000];
    memset(text, 'x', sizeof text);
    for (long n; bytes > 0; bytes -= n) {
        n = write(file, text, bytes < (long)sizeof text ? bytes : (long)sizeof text);
        if (n < 0) exit(9);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const char *what = argv[1];
    long amount = atol(argv[2]);
    int threads = !strncmp(what, "cpu-threads", 11) ? PARTS : !strcmp(what, "threads") ? amount - 1 : 0;
    int children = strstr(what, "-children") ? PARTS :
                   !strcmp(what, "processes") || !strcmp(what, "stay") ? amount - 1 : 0;
    pthread_t made;
    for (int i = 0; i < threads; i++) {
        int failed = *what == 'c' ? pthread_create(&made, NULL, burn, (void *)(amount / PARTS + 1))
                                  : pthread_create(&made, NULL, wait_a_while, NULL);
        if (failed) return 8;
    }
    for (int i = 0; i < children; i++) {
        pid_t child = fork();
        if (child < 0) return 8;
        if (child == 0) {
            if (*what == 'c') burn((void *)(amount / PARTS + 1));
            else if (*what == 'm') hold(amount / PARTS);
            else if (*what == 's') { setsid(); doze(STAY_MS); }
            else doze(WHILE_MS);
            _exit(0);
        }
    }
    if (!strcmp(what, "cpu")) burn((void *)amount);
    else if (!strcmp(what, "memory")) hold(amount);
    else if (!strcmp(what, "output")) write_bytes(1, amount);
    else if (!strcmp(what, "errors")) write_bytes(2, amount);
    else if (!strcmp(what, "file")) write_bytes(open("file", O_CREAT | O_WRONLY | O_TRUNC, 0600), amount);
    else if (!strcmp(what, "bomb")) for (;;) fork();
    else if (threads && *what == 'c') { /* They end before it does. */ pthread_join(made, NULL); doze(WHILE_MS); }
    else if (threads) doze(WHILE_MS);
    while (wait(NULL) > 0) {}
    return 0;
}
