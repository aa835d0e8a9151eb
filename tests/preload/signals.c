/* Counts Rubato's threads in this process, by their names, and signals that they would take. */
#include <dirent.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char value[4096];

static void read_file(const char* thread, const char* name) {
    char path[600];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", thread, name);
    FILE* const file = fopen(path, "r");
    value[file != NULL ? fread(value, 1, sizeof value - 1, file) : 0] = '\0';
    if (file != NULL) fclose(file);
}

int main(int argc, char** argv) {
    const int program_s[] = {SIGALRM, SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGPROF, SIGCHLD, SIGIO};
    int level, me, threads = 0, taken = 0;
    static double data[8192];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 0; i < 3; ++i) MPI_Bcast(data, 8192, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    DIR* const list = opendir("/proc/self/task");
    for (struct dirent* each; (each = readdir(list)) != NULL;) {
        read_file(each->d_name, "comm");
        if (strncmp(value, "rubato", 6) != 0) continue;
        ++threads;
        read_file(each->d_name, "status");
        const char* const blocked = strstr(value, "SigBlk:");
        const unsigned long long mask = blocked != NULL ? strtoull(blocked + 7, NULL, 16) : 0;
        for (unsigned i = 0; i < sizeof program_s / sizeof *program_s; ++i)
            taken += (mask >> (program_s[i] - 1) & 1) == 0;
    }
    closedir(list);
    printf("%d threads take %d signals\n", threads, taken);
    MPI_Finalize();
    return 0;
}
