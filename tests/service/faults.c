/* SPDX-FileCopyrightText: The oplt developers
 * SPDX-License-Identifier: MIT
 *
 * Makes system calls fail for files whose name contains "journal.sqlite", while the file named by OPLT_FAULT exists.
 * It is loaded with LD_PRELOAD. The first letter of the file says what fails: f - flushing, w - writing (disk full).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char fault(int fd) {
    const char* name = getenv("OPLT_FAULT");
    if (!name) return 0;
    int file = open(name, O_RDONLY);
    if (file < 0) return 0;
    char kind = 0;
    if (read(file, &kind, 1) != 1) kind = 0;
    close(file);
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return strstr(path, "journal.sqlite") ? kind : 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int fd) {
    if (fault(fd) == 'f') return errno = EIO, -1;
    return REAL(fsync)(fd);
}

int fdatasync(int fd) {
    if (fault(fd) == 'f') return errno = EIO, -1;
    return REAL(fdatasync)(fd);
}

ssize_t pwrite64(int fd, const void* data, size_t n, off64_t at) {
    if (fault(fd) == 'w') return errno = ENOSPC, -1;
    return REAL(pwrite64)(fd, data, n, at);
}

ssize_t pwrite(int fd, const void* data, size_t n, off_t at) {
    if (fault(fd) == 'w') return errno = ENOSPC, -1;
    return REAL(pwrite)(fd, data, n, at);
}

ssize_t write(int fd, const void* data, size_t n) {
    if (fault(fd) == 'w') return errno = ENOSPC, -1;
    return REAL(write)(fd, data, n);
}
