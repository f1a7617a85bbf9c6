/* A process with two of the libraries: the second, whose file is the first argument, can't join the job that the first has joined. */
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    void *other = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*init)(int *, char ***) = other ? (int (*)(int *, char ***))dlsym(other, "MPI_Init") : NULL;
    if (!init) {
        fprintf(stderr, "%s\n", dlerror());
        return 9;
    }
    printf("the second answers %d\n", init(NULL, NULL) != MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
