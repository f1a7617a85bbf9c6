/* Goes on where the folder of the first argument is empty, and starts "env" there by the function that the second names: with this process's own
   environment. */
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
    char *arguments[] = {"env", NULL}, line[4096];
    const char *how = argv[2];
    pid_t child = 0;
    FILE *pipe;
    if (argc < 3 || mount("none", argv[1], "tmpfs", 0, NULL) != 0) {
        perror("mount");
        return 1;
    }
    if (strcmp(how, "system") == 0)
        return system("env");
    if (strcmp(how, "popen") == 0) {
        pipe = popen("env", "r");
        while (fgets(line, sizeof line, pipe))
            fputs(line, stdout);
        return pclose(pipe);
    }
    if (strcmp(how, "posix_spawn") == 0 && posix_spawn(&child, "/usr/bin/env", NULL, NULL, arguments, environ) != 0)
        return 2;
    if (strcmp(how, "posix_spawnp") == 0 && posix_spawnp(&child, "env", NULL, NULL, arguments, environ) != 0)
        return 2;
    if (child != 0)
        return waitpid(child, NULL, 0) != child;
    if (strcmp(how, "execl") == 0)
        execl("/usr/bin/env", "env", "-u", "NOTHING", "-u", "AT", "-u", "ALL", "-u", "BUT", "env", (char *)NULL);
    if (strcmp(how, "execlp") == 0)
        execlp("env", "env", "-u", "NOTHING", "-u", "AT", "-u", "ALL", "-u", "BUT", "env", (char *)NULL);
    return 3;
}
