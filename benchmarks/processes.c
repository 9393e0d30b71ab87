/* Forks and page faults, timed and counted without tare: what probe_processes.py holds the probes
 * against. One line: nanoseconds of one (least of windows; of `major` the median), what was done,
 * minor and major faults that the kernel counted meanwhile.
 *
 *     cc -O2 -pthread -o processes processes.c        processes WHAT [FILE]
 *
 * fork, fork_exit: a child that ends by _exit, or by exit as lmbench's does (faults are its own).
 * vfork: one that borrows the parent's memory. exec, spawn: one that executes FILE with the
 * argument "nothing", by fork and execve or by posix_spawn. thread: one that returns at once.
 * anonymous, file, around, cow, huge, major: pages, each touched for the first time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 256, HUGE = 2 << 20, WINDOWS = 400 };

static double least = 1e18;
static long done, minor, major;
static struct timespec began;
static struct rusage before;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (t.tv_sec - began.tv_sec) * 1e9 + t.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static double begin(int who)
{
    getrusage(who, &before);
    return now();
}

static void end(int who, double start, long count)
{
    double taken = (now() - start) / count;
    struct rusage after;
    getrusage(who, &after);
    if (taken < least)
        least = taken;
    done += count;
    minor += after.ru_minflt - before.ru_minflt;
    major += after.ru_majflt - before.ru_majflt;
}

static char *map(size_t bytes, int flags, int file, off_t offset)
{
    int protection = file < 0 ? PROT_READ | PROT_WRITE : PROT_READ;
    char *p = mmap(NULL, bytes, protection, flags, file, offset);
    if (p == MAP_FAILED)
        fail("mmap");
    return p;
}

enum kind { FORK, FORK_EXIT, VFORK, EXEC, SPAWN, THREAD };

static char *arguments[] = {"tare-agent", "nothing", NULL};

static void *nothing(void *unused)
{
    return unused;
}

static pid_t forked(enum kind kind, const char *program)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    if (kind == FORK_EXIT)
        exit(0);
    if (kind == EXEC) {
        close(1);
        execve(program, arguments, arguments + 2);
    }
    _exit(kind == EXEC ? 127 : 0);
}

static void live(enum kind kind, const char *program)
{
    pid_t child;
    int status;
    pthread_t thread;
    if (kind == THREAD) {
        if (pthread_create(&thread, NULL, nothing, NULL))
            fail("pthread_create");
        pthread_join(thread, NULL);
        return;
    }
    if (kind == VFORK) {
        child = vfork();
        if (child == 0)
            _exit(0);
    } else if (kind == SPAWN) {
        if (posix_spawn(&child, program, NULL, NULL, arguments, arguments + 2))
            fail(program);
    } else
        child = forked(kind, program);
    if (child < 0)
        fail("fork");
    waitpid(child, &status, 0);
    if (status)
        fail(program);
}

static void lives(enum kind kind, const char *program)
{
    int who = kind == THREAD ? RUSAGE_SELF : RUSAGE_CHILDREN;
    int count = kind == THREAD || kind == VFORK ? 10 : 3;
    for (int window = 0; window < WINDOWS; window++) {
        double start = begin(who);
        for (int i = 0; i < count; i++)
            live(kind, program);
        end(who, start, count);
    }
}

static void anonymous(void)
{
    for (int window = 0; window < WINDOWS; window++) {
        char *p = map(PAGES * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(p, PAGES * PAGE, MADV_NOHUGEPAGE);
        double start = begin(RUSAGE_SELF);
        for (int i = 0; i < PAGES; i++)
            ((volatile char *)p)[i * PAGE] = 1;
        end(RUSAGE_SELF, start, PAGES);
        munmap(p, PAGES * PAGE);
    }
}

/* Every other page by itself, so that no mapping has a neighbour to be mapped along. */
static void file_pages(int file, long pages)
{
    char *p[PAGES];
    long count = pages / 2 < PAGES ? pages / 2 : PAGES;
    for (int window = 0; window < WINDOWS; window++) {
        for (int i = 0; i < count; i++)
            p[i] = map(PAGE, MAP_SHARED, file, 2L * i * PAGE);
        double start = begin(RUSAGE_SELF);
        for (int i = 0; i < count; i++)
            *(volatile char *)p[i];
        end(RUSAGE_SELF, start, count);
        for (int i = 0; i < count; i++)
            munmap(p[i], PAGE);
    }
}

static void around(int file, long pages)
{
    for (int window = 0; window < WINDOWS; window++) {
        char *p = map(pages * PAGE, MAP_SHARED, file, 0);
        double start = begin(RUSAGE_SELF);
        for (int i = 0; i < pages; i++)
            ((volatile char *)p)[i * PAGE];
        end(RUSAGE_SELF, start, pages);
        munmap(p, pages * PAGE);
    }
}

/* The child writes to what it shares with its parent, and tells. */
static void copy_on_write(void)
{
    char *p = map(PAGES * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, PAGES * PAGE, MADV_NOHUGEPAGE);
    memset(p, 1, PAGES * PAGE);
    struct told { double least; long done, minor, major; } told;
    for (int window = 0; window < WINDOWS; window++) {
        int ends[2];
        if (pipe(ends))
            fail("pipe");
        pid_t child = fork();
        if (child < 0)
            fail("fork");
        if (child == 0) {
            least = 1e18;
            double start = begin(RUSAGE_SELF);
            for (int i = 0; i < PAGES; i++)
                ((volatile char *)p)[i * PAGE] = 2;
            done = minor = major = 0;
            end(RUSAGE_SELF, start, PAGES);
            told = (struct told){least, done, minor, major};
            _exit(write(ends[1], &told, sizeof told) != sizeof told);
        }
        if (read(ends[0], &told, sizeof told) != sizeof told)
            fail("read");
        waitpid(child, NULL, 0);
        close(ends[0]);
        close(ends[1]);
        least = told.least < least ? told.least : least;
        done += told.done;
        minor += told.minor;
        major += told.major;
    }
}

static void huge(void)
{
    char *p = map(2 * HUGE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *aligned = (char *)(((size_t)p + HUGE - 1) & ~((size_t)HUGE - 1));
    madvise(aligned, HUGE, MADV_HUGEPAGE);
    for (int window = 0; window < WINDOWS; window++) {
        madvise(aligned, HUGE, MADV_DONTNEED);
        double start = begin(RUSAGE_SELF);
        for (int i = 0; i < HUGE; i += HUGE / 4)
            ((volatile char *)aligned)[i] = 1;
        end(RUSAGE_SELF, start, 1);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* FILE is written anew, sent to the disk and out of memory, and removed. */
static void major_faults(const char *path)
{
    enum { COUNT = 1024 };
    static char page[PAGE];
    static double times[COUNT];
    int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0)
        fail(path);
    unlink(path);
    srand(1);
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < PAGE; j++)
            page[j] = rand();
        if (write(file, page, PAGE) != PAGE)
            fail("write");
    }
    if (fsync(file) || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED))
        fail("fsync");
    char *p = map((size_t)COUNT * PAGE, MAP_SHARED, file, 0);
    madvise(p, (size_t)COUNT * PAGE, MADV_RANDOM);
    for (int i = 0; i < COUNT; i++) {
        int place = (i * 389L + 17) % COUNT;
        double start = begin(RUSAGE_SELF);
        ((volatile char *)p)[(long)place * PAGE];
        least = 1e18;
        end(RUSAGE_SELF, start, 1);
        times[i] = least;
    }
    qsort(times, COUNT, sizeof *times, by_size);
    least = times[COUNT / 2];
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    clock_gettime(CLOCK_MONOTONIC, &began);
    static const char *const kinds[] = {"fork", "fork_exit", "vfork", "exec", "spawn", "thread"};
    for (int kind = FORK; kind <= THREAD; kind++)
        if (!strcmp(what, kinds[kind]))
            lives(kind, argc > 2 ? argv[2] : "/bin/true");
    if (done)
        ;
    else if (!strcmp(what, "anonymous"))
        anonymous();
    else if (!strcmp(what, "cow"))
        copy_on_write();
    else if (!strcmp(what, "huge"))
        huge();
    else if (argc > 2 && !strcmp(what, "major"))
        major_faults(argv[2]);
    else if (argc > 2) {
        struct stat status;
        int file = open(argv[2], O_RDONLY);
        if (file < 0 || fstat(file, &status))
            fail(argv[2]);
        if (!strcmp(what, "file"))
            file_pages(file, status.st_size / PAGE);
        else
            around(file, status.st_size / PAGE);
    } else
        return 2;
    printf("%.1f %ld %ld %ld\n", least, done, minor, major);
    return 0;
}
