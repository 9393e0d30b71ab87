/* Tries what a measured program on a host of a fleet could reach of the fleet's own connections.
 * Ends with 1 where something listens in its network, or the control network has a route; with an
 * argument, where something that listens there serves a peer without a certificate. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int listeners(const char *path)
{
    char line[512];
    int found = 0;
    unsigned state;
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%*d: %*s %*s %x", &state) == 1 && state == 0x0A) {
            fprintf(stderr, "listens: %s", line);
            found++;
        }
    fclose(file);
    return found;
}

static int reached(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(8786)};
    int file = socket(AF_INET, SOCK_STREAM, 0), done, why;
    if (file < 0)
        return 0;
    inet_pton(AF_INET, address, &to.sin_addr);
    done = connect(file, (struct sockaddr *)&to, sizeof to);
    why = errno;
    close(file);
    if (done < 0 && (why == ENETUNREACH || why == EHOSTUNREACH || why == EPERM))
        return 0;
    fprintf(stderr, "%s: %s\n", address, done < 0 ? strerror(why) : "connected");
    return 1;
}

/* A server of Dask's speaks first, one of TLS or HTTP waits for its client. */
static int served(const char *path)
{
    char line[512], said[4];
    unsigned address, port, state;
    int found = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file)) {
        struct sockaddr_in to = {.sin_family = AF_INET};
        struct timeval wait = {.tv_usec = 500000};
        int peer;
        if (sscanf(line, "%*d: %x:%x %*s %x", &address, &port, &state) != 3 || state != 0x0A)
            continue;
        to.sin_addr.s_addr = address;
        to.sin_port = htons(port);
        peer = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
        if (!connect(peer, (struct sockaddr *)&to, sizeof to)
            && recv(peer, said, sizeof said, MSG_WAITALL) > 0 && memcmp(said, "SSH-", 4)) {
            fprintf(stderr, "serves: %s", line);
            found++;
        }
        close(peer);
    }
    fclose(file);
    return found;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return served("/proc/net/tcp") > 0;
    int found = listeners("/proc/net/tcp") + listeners("/proc/net/tcp6");
    found += reached("10.78.0.1") + reached("10.78.0.2") + reached("10.78.0.3");
    sleep(1);
    return found > 0;
}
