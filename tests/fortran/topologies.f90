! Cartesian grids and graphs through the module mpi.
! options: -fsecond-underscore
program topologies
  use mpi
  implicit none
  integer :: rank, ranks, error, i

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call grids()
  call rows()
  call graphs()
  call distributed_graphs()
  call neighbors()
  call MPI_Finalize(error)

contains

  include 'check.inc'

  subroutine grids()
    integer :: dims(2), grid, count, place(2), found(2), one, source, target, kind, mapped
    logical :: periods(2)
    dims = 0
    call MPI_Dims_create(ranks, 2, dims, error)
    call check(product(dims) == ranks .and. dims(1) >= dims(2), 'dimensions')
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., grid, error)
    call MPI_Topo_test(grid, kind, error)
    call check(kind == MPI_CART, 'a grid')
    call MPI_Topo_test(MPI_COMM_WORLD, kind, error)
    call check(kind == MPI_UNDEFINED, 'no topology')
    call MPI_Cartdim_get(grid, count, error)
    call check(count == 2, 'number of dimensions')
    call MPI_Cart_get(grid, 2, found, periods, place, error)
    call check(all(found == dims) .and. periods(1) .and. .not. periods(2), 'LOGICALs come back')
    call check(place(1) * dims(2) + place(2) == rank, 'place')
    call MPI_Cart_rank(grid, place, one, error)
    call check(one == rank, 'rank of a place')
    call MPI_Cart_coords(grid, ranks - 1, 2, found, error)
    call check(all(found == dims - 1), 'place of a rank')
    call MPI_Cart_shift(grid, 0, 1, source, target, error)
    call check(target == mod(rank + dims(2), ranks), 'the first dimension is number 0, and closed')
    call MPI_Cart_shift(grid, 1, 1, source, target, error)
    call check((source == MPI_PROC_NULL) .eqv. place(2) == 0, 'the second is open')
    call MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, mapped, error)
    call check(mapped >= 0 .and. mapped < ranks, 'mapped')
    call MPI_Comm_free(grid, error)
  end subroutine grids

  subroutine rows()
    integer :: grid, row, size, sum, dims(2)
    dims = [ranks, 1]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.false., .false.], .true., grid, error)
    call MPI_Cart_sub(grid, [.false., .true.], row, error)
    call MPI_Comm_size(row, size, error)
    call check(size == 1, 'a row')
    call MPI_Comm_free(row, error)
    call MPI_Cart_sub(grid, [.true., .false.], row, error)
    call MPI_Allreduce(1, sum, 1, MPI_INTEGER, MPI_SUM, row, error)
    call check(sum == ranks, 'a column')
    call MPI_Comm_free(row, error)
    call MPI_Comm_free(grid, error)
  end subroutine rows

  subroutine graphs()
    integer :: graph, ends(ranks), edges(2 * ranks), nodes, count, neighbors(2), kind, found(ranks), links(2 * ranks), mapped
    ends = [(2 * i, i = 1, ranks)]
    edges = [(mod(i + ranks - 1, ranks), mod(i + 1, ranks), i = 0, ranks - 1)]
    call MPI_Graph_create(MPI_COMM_WORLD, ranks, ends, edges, .false., graph, error)
    call MPI_Topo_test(graph, kind, error)
    call check(kind == MPI_GRAPH, 'a graph')
    call MPI_Graphdims_get(graph, nodes, count, error)
    call check(nodes == ranks .and. count == 2 * ranks, 'its size')
    call MPI_Graph_get(graph, ranks, 2 * ranks, found, links, error)
    call check(all(found == ends) .and. all(links == edges), 'itself')
    call MPI_Graph_neighbors_count(graph, rank, count, error)
    call MPI_Graph_neighbors(graph, rank, 2, neighbors, error)
    call check(count == 2 .and. neighbors(2) == mod(rank + 1, ranks), 'neighbors')
    call MPI_Graph_map(MPI_COMM_WORLD, ranks, ends, edges, mapped, error)
    call check(mapped >= 0 .and. mapped < ranks, 'mapped')
    call MPI_Comm_free(graph, error)
  end subroutine graphs

  subroutine distributed_graphs()
    integer :: graph, incoming, outgoing, left(1), right(1), weights(1), others(1)
    logical :: weighted
    left = mod(rank + ranks - 1, ranks)
    right = mod(rank + 1, ranks)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, left, MPI_UNWEIGHTED, 1, right, MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                        .false., graph, error)
    call MPI_Dist_graph_neighbors_count(graph, incoming, outgoing, weighted, error)
    call check(incoming == 1 .and. outgoing == 1 .and. .not. weighted, 'no weights')
    call MPI_Comm_free(graph, error)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, left, [7], 1, right, [8], MPI_INFO_NULL, .false., graph, error)
    call MPI_Dist_graph_neighbors_count(graph, incoming, outgoing, weighted, error)
    call check(weighted, 'weights')
    call MPI_Dist_graph_neighbors(graph, 1, left, weights, 1, right, others, error)
    call check(weights(1) == 7 .and. others(1) == 8 .and. right(1) == mod(rank + 1, ranks), 'the weights')
    call MPI_Comm_free(graph, error)
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], right, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, error)
    call MPI_Dist_graph_neighbors_count(graph, incoming, outgoing, weighted, error)
    call check(incoming == 1 .and. outgoing == 1, 'edges by their ends')
    call MPI_Comm_free(graph, error)
  end subroutine distributed_graphs

  ! Rank r sends to the next rank and receives from the one before, through each kind of topology.
  subroutine neighbors()
    integer :: ring, left(1), right(1), got(2), request
    integer(kind=MPI_ADDRESS_KIND) :: places(2)
    left = mod(rank + ranks - 1, ranks)
    right = mod(rank + 1, ranks)
    places = [0, 4]
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, left, MPI_UNWEIGHTED, 1, right, MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                        .false., ring, error)
    got = -1
    call MPI_Neighbor_alltoallw([rank], [1], places, [MPI_INTEGER], got, [1], places, [MPI_INTEGER], ring, error)
    call check(got(1) == left(1) .and. got(2) == -1, 'from one neighbor')
    call MPI_Neighbor_allgather(rank + 5, 1, MPI_INTEGER, got, 1, MPI_INTEGER, ring, error)
    call check(got(1) == left(1) + 5, 'gathered from one neighbor')
    call MPI_Comm_free(ring, error)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, error)
    call MPI_Neighbor_alltoallw([-rank, rank], [1, 1], places, [MPI_INTEGER, MPI_INTEGER], got, [1, 1], places, &
                                [MPI_INTEGER, MPI_INTEGER], ring, error)
    call check(got(1) == left(1) .and. got(2) == -right(1), 'from both neighbors')
    call MPI_Comm_idup(ring, left(1), request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call MPI_Barrier(left(1), error)
    call MPI_Comm_free(left(1), error)
    call MPI_Comm_free(ring, error)
  end subroutine neighbors
end program topologies
