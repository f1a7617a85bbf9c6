! Ranks that are spawned, jobs that meet, and published names (MPI-5.0 chapter 11). ranks: 1 2
program spawn_children
    use mpi
    implicit none
    integer, parameter :: children = 2
    integer :: parents, inter, rank, size, others, got, total, ierror, codes(children)
    integer :: most(2), infos(2)
    character(len=256) :: program_name, argument
    character(len=32) :: arguments(3), programs(2), table(2, 2)

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
    call MPI_Comm_get_parent(parents, ierror)
    if (parents /= MPI_COMM_NULL) then
        call get_command_argument(1, argument)
        call check(argument == 'first word' .or. argument == 'alone', 'the argument')
        call talk(parents)
        call MPI_Comm_disconnect(parents, ierror)
        call check(parents == MPI_COMM_NULL, 'disconnect')
        call MPI_Finalize(ierror)
        stop
    end if

    call get_command_argument(0, program_name)
    arguments = [character(len=32) :: 'first word', 'second', ' ']
    codes = -1
    call MPI_Comm_spawn(program_name, arguments, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, codes, ierror)
    call check(ierror == MPI_SUCCESS .and. all(codes == MPI_SUCCESS), 'spawn')
    call talk(inter)
    call MPI_Comm_disconnect(inter, ierror)

    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
    call MPI_Comm_spawn('./no/such/program', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, &
                        MPI_ERRCODES_IGNORE, ierror)
    call check(ierror /= MPI_SUCCESS .and. inter == MPI_COMM_NULL, 'a program that is not there')
    call several()
    call meet()
    call MPI_Finalize(ierror)

contains

    subroutine check(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what
        if (.not. holds) then
            print *, what, ' does not hold'
            call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
        end if
    end subroutine

    ! Parents and children add up their ranks.
    subroutine talk(comm)
        integer, intent(in) :: comm
        integer :: everybody, both
        call MPI_Comm_remote_size(comm, others, ierror)
        call MPI_Allreduce(rank, got, 1, MPI_INTEGER, MPI_SUM, comm, ierror)
        call check(got == others * (others - 1) / 2, 'the sum of the others')
        call MPI_Intercomm_merge(comm, parents /= MPI_COMM_NULL, everybody, ierror)
        call MPI_Comm_size(everybody, both, ierror)
        call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, everybody, ierror)
        call check(both == size + others .and. total == both, 'the sum of all')
        call MPI_Comm_disconnect(everybody, ierror)
    end subroutine

    subroutine several()
        programs = program_name
        table = ' '
        table(:, 1) = 'alone'
        most = 1
        infos = MPI_INFO_NULL
        if (len_trim(program_name) > len(programs)) return
        call MPI_Comm_spawn_multiple(2, programs, table, most, infos, 0, MPI_COMM_WORLD, inter, codes, ierror)
        call check(ierror == MPI_SUCCESS .and. all(codes == MPI_SUCCESS), 'spawn of several')
        call talk(inter)
        call MPI_Comm_disconnect(inter, ierror)
    end subroutine

    ! The last rank connects to the first.
    subroutine meet()
        character(len=MPI_MAX_PORT_NAME) :: port, found
        character(len=40) :: service
        integer :: clock
        if (size < 2) return
        call system_clock(clock)
        write (service, '(a, i0)') 'rwmpi Fortran test ', clock
        if (rank == 0) then
            call MPI_Open_port(MPI_INFO_NULL, port, ierror)
            call MPI_Publish_name(service, MPI_INFO_NULL, port, ierror)
            call check(ierror == MPI_SUCCESS, 'publish')
        end if
        call MPI_Bcast(service, len(service), MPI_CHARACTER, 0, MPI_COMM_WORLD, ierror)
        if (rank == 0) call MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter, ierror)
        if (rank == size - 1) then
            call MPI_Lookup_name(service, MPI_INFO_NULL, found, ierror)
            call check(ierror == MPI_SUCCESS, 'look up')
            call MPI_Comm_connect(found, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter, ierror)
        end if
        if (rank == 0 .or. rank == size - 1) then
            call MPI_Comm_remote_size(inter, others, ierror)
            call check(others == 1, 'the other side')
            call MPI_Comm_disconnect(inter, ierror)
        end if
        if (rank == 0) then
            call MPI_Unpublish_name(service, MPI_INFO_NULL, port, ierror)
            call check(ierror == MPI_SUCCESS, 'unpublish')
            call MPI_Close_port(port, ierror)
            call check(ierror == MPI_SUCCESS, 'close')
        end if
    end subroutine
end program
