/* The names for datatypes that MPI-3.0 removed, and the bound markers of MPI-1.
 * ranks: 1 */
#include "check.h"

static void has(MPI_Datatype *type, MPI_Aint lb, MPI_Aint ub)
{
    MPI_Aint got;
    CHECK(MPI_Type_lb(*type, &got) == MPI_SUCCESS && got == lb);
    CHECK(MPI_Type_ub(*type, &got) == MPI_SUCCESS && got == ub);
    CHECK(MPI_Type_extent(*type, &got) == MPI_SUCCESS && got == ub - lb);
    MPI_Type_free(type);
}

int main(int argc, char **argv)
{
    int numbers[4] = {0}, lengths[] = {1, 2};
    MPI_Aint places[] = {4, 16}, address, other;
    MPI_Datatype type, members[] = {MPI_INT, MPI_SHORT};
    MPI_Init(&argc, &argv);
    CHECK(MPI_Address(&numbers[2], &address) == MPI_SUCCESS && MPI_Get_address(&numbers[2], &other) == MPI_SUCCESS);
    CHECK(address == other);
    MPI_Type_hvector(3, 1, 10, MPI_INT, &type);
    has(&type, 0, 24);
    MPI_Type_hindexed(2, lengths, places, MPI_INT, &type);
    has(&type, 4, 24);
    MPI_Type_struct(2, lengths, places, members, &type);
    has(&type, 4, 20);
#ifdef MPI_UB
    {
        int three[] = {1, 1, 1};
        MPI_Aint marks[] = {-8, 4, 30};
        MPI_Datatype marked[] = {MPI_LB, MPI_INT, MPI_UB}, twice, got[3];
        MPI_Aint addresses[3];
        int integers[4], size;
        MPI_Type_struct(3, three, marks, marked, &type);
        MPI_Type_contiguous(2, type, &twice);
        CHECK(MPI_Type_size(twice, &size) == MPI_SUCCESS && size == 8);
        CHECK(MPI_Type_get_contents(type, 4, 3, 3, integers, addresses, got) == MPI_SUCCESS);
        CHECK(got[0] == MPI_LB && got[1] == MPI_INT && got[2] == MPI_UB && addresses[2] == 30);
        has(&twice, -8, 68);
        has(&type, -8, 30);
    }
#endif
    MPI_Finalize();
    return 0;
}
