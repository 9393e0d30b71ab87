// Programs that know their own truth, in one small static binary: subject WHAT [ARGUMENT].
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void burn(long milliseconds) {
    while (now(CLOCK_PROCESS_CPUTIME_ID) < milliseconds * 1000000LL) {
    }
}

static void doze(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&time, &time)) {
    }
}

static void *outlive(void *milliseconds) {
    doze((long)milliseconds);
    return NULL;
}

int main(int count, char **words) {
    long long start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    const char *what = count > 1 ? words[1] : "nothing";
    long number = count > 2 ? atol(words[2]) : 0;
    if (!strcmp(what, "spin")) { // burns, and prints its own wall and CPU time
        while (now(CLOCK_PROCESS_CPUTIME_ID) - cpu < number * 1000000LL) {
        }
        printf("%lld %lld\n", now(CLOCK_MONOTONIC) - start, now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    } else if (!strcmp(what, "hold")) { // kilobytes
        char *block = malloc(number * 1024);
        memset(block, 1, number * 1024);
        return block[number] - 1;
    } else if (!strcmp(what, "fill")) { // kilobytes, for a while
        char *block = malloc(number * 1024);
        memset(block, 1, number * 1024);
        doze(300);
        return block[number] - 1;
    } else if (!strcmp(what, "daemon")) { // a grandchild burns when its ancestors are gone
        if (fork() == 0) {
            if (fork() == 0)
                burn(number);
            _exit(0);
        }
        wait(NULL);
    } else if (!strcmp(what, "orphan")) { // a child goes on and on
        if (fork() == 0)
            for (;;)
                pause();
    } else if (!strcmp(what, "leader")) { // the first thread ends long before the other
        pthread_t other;
        pthread_create(&other, NULL, outlive, (void *)number);
        pthread_exit(NULL);
    } else if (!strcmp(what, "chain")) { // becomes another program after a while
        doze(number);
        execl(words[0], words[0], "nothing", NULL);
        return 99;
    } else if (!strcmp(what, "uneven")) { // who comes first is soon done
        int taken = open(words[2], O_RDWR | O_CREAT | O_APPEND, 0600);
        long place = write(taken, ".", 1) * lseek(taken, 0, SEEK_CUR);
        // The third comes while the second is at work, and is at work when that is done.
        doze(place == 1 ? 200 : place == 2 ? 400 : 9000);
    } else if (!strcmp(what, "die-first")) { // who comes first fails
        return open(words[2], O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;
    } else if (!strcmp(what, "signal")) {
        kill(getpid(), number);
    } else if (!strcmp(what, "sleep")) {
        doze(number);
    } else if (!strcmp(what, "write")) { // so many bytes to each stream
        for (long byte = 0; byte < number; byte++) {
            fputc('o', stdout);
            fputc(byte + 1 < number ? 'e' : '!', stderr);
        }
    } else if (!strcmp(what, "copy")) {
        char text[256];
        fwrite(text, 1, fread(text, 1, sizeof text, stdin), stdout);
    } else if (!strcmp(what, "who")) {
        printf("%d %d %d %s\n", getuid(), getgid(), getgroups(0, NULL), getcwd(NULL, 0));
    } else if (!strcmp(what, "exit")) {
        return number;
    }
    return 0;
}
