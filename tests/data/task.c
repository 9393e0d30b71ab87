/* Does what its input says: "sum A B", or something that is no solution. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    char what[32];
    long a, b;
    if (scanf("%31s %ld %ld", what, &a, &b) != 3)
        return 99;
    if (!strcmp(what, "spin"))
        for (volatile unsigned long i = 0;; i++)
            ;
    if (!strcmp(what, "sleep"))
        sleep(60);
    if (!strcmp(what, "eat")) {
        char *memory = malloc((size_t)a << 20);
        memset(memory, 1, (size_t)a << 20);
        sleep(1);
        b += memory[a] - 1;
    }
    if (!strcmp(what, "flood"))
        for (;;)
            puts("far too much, and more of it");
    if (!strcmp(what, "fork")) {
        for (long i = 0; i < a; i++)
            if (!fork()) {
                sleep(60);
                _exit(0);
            }
        sleep(1);
    }
    if (!strcmp(what, "swarm")) {
        for (long i = 0; i < a; i++)
            if (!fork()) {
                memset(malloc((size_t)b << 20), 1, (size_t)b << 20);
                sleep(1);
                _exit(0);
            }
        while (wait(NULL) > 0)
            ;
    }
    if (!strcmp(what, "fault"))
        raise(SIGSEGV);
    if (!strcmp(what, "kill"))
        raise(SIGKILL);
    if (!strcmp(what, "exit"))
        return 3;
    printf("%ld\n", a + b + !strcmp(what, "wrong"));
    return 0;
}
