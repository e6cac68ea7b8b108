/* Loaded into a process before its C library: records every call that writes, syncs, sends, renames or removes.
 *
 * A call is two records, before it begins and after it has ended, so that what began before something else ended is
 * seen. A record is one writev to a file opened for appending: records of several threads are whole and in order.
 * `cambist_syscalls::read` reads them; both sides know the layout of `struct head`.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 0, SYNC = 1, RENAME = 2, REMOVE = 3 };
enum { BEGUN = 0, ENDED = 1 };
#define DATA_MAX 65536u
#define PATH_MAX_BYTES 4096u

struct head {
    int64_t result;
    uint32_t thread;
    uint32_t data;
    uint16_t target;
    uint8_t call;
    uint8_t phase;
    uint32_t unused;
};
_Static_assert(sizeof(struct head) == 24, "the layout that the reader knows");

static int records = -1;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CAMBIST_SYSCALLS");
    if (path != NULL) {
        records = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
}

static void record(int call, int phase, const char *target, const struct iovec *parts, int count, int64_t result) {
    struct iovec all[66];
    struct head head = {.result = result, .call = (uint8_t)call, .phase = (uint8_t)phase};
    int saved = errno, used = 2;
    size_t left = DATA_MAX;
    if (records < 0) {
        return;
    }
    head.thread = (uint32_t)syscall(SYS_gettid);
    head.target = (uint16_t)strlen(target);
    for (int i = 0; i < count && used < 66 && left > 0; i++) {
        size_t length = parts[i].iov_len < left ? parts[i].iov_len : left;
        all[used].iov_base = parts[i].iov_base;
        all[used++].iov_len = length;
        left -= length;
    }
    head.data = DATA_MAX - (uint32_t)left;
    all[0] = (struct iovec){.iov_base = &head, .iov_len = sizeof head};
    all[1] = (struct iovec){.iov_base = (void *)(uintptr_t)target, .iov_len = head.target};
    /* A process that cannot record must not go on as if nothing had happened. */
    if (syscall(SYS_writev, records, all, used) < 0) {
        _exit(120);
    }
    errno = saved;
}

static void name(int fd, char target[static PATH_MAX_BYTES]) {
    char link[64];
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, target, PATH_MAX_BYTES - 1);
    target[length > 0 ? length : 0] = 0;
    errno = saved;
}

/* The function of the C library that stands behind this one. */
#define REAL(symbol)                                               \
    static __typeof__(&symbol) real;                               \
    if (real == NULL) {                                            \
        real = (__typeof__(real))(uintptr_t)dlsym(RTLD_NEXT, #symbol); \
    }

/* A call on a descriptor, with what it writes. */
#define RECORDED(call, parts, count, invocation)         \
    char target[PATH_MAX_BYTES] = "";                    \
    if (records < 0) {                                   \
        return invocation;                               \
    }                                                    \
    name(fd, target);                                    \
    record(call, BEGUN, target, parts, count, 0);        \
    __typeof__(invocation) result = invocation;          \
    record(call, ENDED, target, parts, count, (int64_t)result); \
    return result

/* One run of bytes as the parts of a call. */
#define BYTES(bytes, length) (&(struct iovec){.iov_base = (void *)(uintptr_t)(bytes), .iov_len = (length)})

ssize_t write(int fd, const void *bytes, size_t length) {
    REAL(write);
    RECORDED(WRITE, BYTES(bytes, length), 1, real(fd, bytes, length));
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
    REAL(pwrite);
    RECORDED(WRITE, BYTES(bytes, length), 1, real(fd, bytes, length, at));
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    REAL(pwrite64);
    RECORDED(WRITE, BYTES(bytes, length), 1, real(fd, bytes, length, at));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    RECORDED(WRITE, parts, count, real(fd, parts, count));
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
    REAL(pwritev);
    RECORDED(WRITE, parts, count, real(fd, parts, count, at));
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
    REAL(pwritev64);
    RECORDED(WRITE, parts, count, real(fd, parts, count, at));
}

ssize_t send(int fd, const void *bytes, size_t length, int flags) {
    REAL(send);
    RECORDED(WRITE, BYTES(bytes, length), 1, real(fd, bytes, length, flags));
}

ssize_t sendto(int fd, const void *bytes, size_t length, int flags, const struct sockaddr *to, socklen_t size) {
    REAL(sendto);
    RECORDED(WRITE, BYTES(bytes, length), 1, real(fd, bytes, length, flags, to, size));
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    REAL(sendmsg);
    RECORDED(WRITE, message->msg_iov, (int)message->msg_iovlen, real(fd, message, flags));
}

int fsync(int fd) {
    REAL(fsync);
    RECORDED(SYNC, NULL, 0, real(fd));
}

int fdatasync(int fd) {
    REAL(fdatasync);
    RECORDED(SYNC, NULL, 0, real(fd));
}

int rename(const char *from, const char *to) {
    REAL(rename);
    struct iovec part = {.iov_base = (void *)(uintptr_t)from, .iov_len = strlen(from)};
    record(RENAME, BEGUN, to, &part, 1, 0);
    int result = real(from, to);
    record(RENAME, ENDED, to, &part, 1, result);
    return result;
}

int unlink(const char *path) {
    REAL(unlink);
    record(REMOVE, BEGUN, path, NULL, 0, 0);
    int result = real(path);
    record(REMOVE, ENDED, path, NULL, 0, result);
    return result;
}
