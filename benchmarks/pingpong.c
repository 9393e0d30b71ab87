// Messages there and back over TCP, one after another: a bare reference for round trips.
//     pingpong serve ADDRESS PORT
//     pingpong ADDRESS PORT BYTES SECONDS        prints p50 and p99 in ns, and how many there were
// Or one byte between two processes over pipes, each round trip with at least two context switches:
//     pingpong pipe ROUND_TRIPS                  tare run with and without --no-context-switches
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int whole(int fd, char *data, int bytes) {
    for (int got = 0; got < bytes;) {
        int n = read(fd, data + got, bytes - got);
        if (n <= 0) return 0;
        got += n;
    }
    return 1;
}

static int order(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

static struct sockaddr_in address(const char *host, const char *port) {
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    if (inet_pton(AF_INET, host, &where.sin_addr) != 1) exit(2);
    return where;
}

static void serve(struct sockaddr_in where) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (void *)&where, sizeof where) || listen(listener, 8)) perror("serve"), exit(1);
    for (;;) {
        int fd = accept(listener, 0, 0), bytes;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        static char data[1 << 16];
        if (whole(fd, (char *)&bytes, sizeof bytes) && bytes > 0 && bytes <= (int)sizeof data)
            while (whole(fd, data, bytes) && write(fd, data, bytes) == bytes) {}
        close(fd);
    }
}

static int over_pipes(long round_trips) {
    int there[2], back[2];
    char byte = 0;
    if (pipe(there) || pipe(back)) return 1;
    pid_t partner = fork();
    if (partner < 0) return 1;
    close(partner ? there[0] : there[1]);
    close(partner ? back[1] : back[0]);
    int in = partner ? back[0] : there[0], out = partner ? there[1] : back[1];
    for (long i = 0; i < round_trips; i++) {
        if (partner && write(out, &byte, 1) != 1) return 1;
        if (read(in, &byte, 1) != 1) return 1;
        if (!partner && write(out, &byte, 1) != 1) return 1;
    }
    int status = 0;
    return partner && (waitpid(partner, &status, 0) != partner || status);
}

int main(int count, char **words) {
    if (count == 3 && !strcmp(words[1], "pipe")) return over_pipes(atol(words[2]));
    if (count == 4 && !strcmp(words[1], "serve")) serve(address(words[2], words[3]));
    if (count != 5) return 2;
    struct sockaddr_in where = address(words[1], words[2]);
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1, bytes = atoi(words[3]);
    static char data[1 << 16];
    if (bytes < 1 || bytes > (int)sizeof data) return 2;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (void *)&where, sizeof where) || write(fd, &bytes, sizeof bytes) < 0) return 1;
    long room = 1 << 22, n = 0;
    long long *times = calloc(room, sizeof *times), end = now() + atof(words[4]) * 1e9, stop;
    do {
        long long start = now();
        if (write(fd, data, bytes) != bytes || !whole(fd, data, bytes)) return 1;
        stop = now();
        times[n++] = stop - start;
    } while (stop < end && n < room);
    qsort(times, n, sizeof *times, order);
    printf("%lld %lld %ld\n", times[n / 2], times[n * 99 / 100], n);
}
