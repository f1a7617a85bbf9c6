//! The programs, and what must come out of them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Case;
use super::abi_neutral::abi_neutral;
use super::adios::adios;
use super::cache::{Cache, output, output_with};
use super::failed_images::failed_images;
use super::files::h5py;
use super::hdf5::hdf5;
use super::hdf5_tools::ph5diff;
use super::lammps;
use super::mpi4py::{mpi4py, python};
use super::mpich_suite::{CHAPTERS, mpich_suite};
use super::one_sided::{global_arrays, nwchem, open_coarrays};
use super::pnetcdf::pnetcdf;
use super::rsmpi::rsmpi;

/// All of them.
pub fn all() -> Vec<Case> {
    let mut cases = vec![
        Case::new("CMake FindMPI", find_mpi),
        Case::new("pkg-config", package_config),
        Case::new("one program, two MPIs", abi_neutral),
    ];
    for program in ["IMB-P2P", "IMB-MPI1", "IMB-NBC", "IMB-RMA"] {
        for ranks in [2, 4] {
            cases.push(Case::new(format!("{program}, {ranks} ranks"), move |cache| {
                intel_benchmarks(cache, program, ranks)
            }));
        }
    }
    cases.push(Case::new("NetPIPE, 2 ranks", netpipe));
    for ranks in [1, 2, 4] {
        cases.push(Case::new(format!("LAMMPS, {ranks} ranks"), move |cache| melt(cache, ranks)));
    }
    for ranks in [1, 2, 3] {
        cases.push(Case::new(format!("NEURON, {ranks} ranks"), move |cache| neuron(cache, ranks)));
    }
    for chapter in CHAPTERS {
        cases.push(Case::new(format!("MPICH's programs, {chapter}"), move |cache| mpich_suite(cache, chapter)));
    }
    cases.push(Case::new("OpenCoarrays", open_coarrays));
    cases.push(Case::new("OpenCoarrays' failed images", failed_images));
    for ranks in [1, 2, 4] {
        cases.push(Case::new(format!("NWChem, {ranks} ranks"), move |cache| nwchem(cache, ranks)));
        cases.push(Case::new(format!("Global Arrays, {ranks} ranks"), move |cache| global_arrays(cache, ranks)));
    }
    for ranks in [1, 2, 4] {
        cases.push(Case::new(format!("h5py, {ranks} ranks"), move |cache| h5py(cache, ranks)));
    }
    for ranks in [2, 3, 4] {
        cases.push(Case::new(format!("HDF5's tests, {ranks} ranks"), move |cache| hdf5(cache, ranks)));
    }
    for ranks in [2, 3] {
        cases.push(Case::new(format!("ph5diff, {ranks} ranks"), move |cache| ph5diff(cache, ranks)));
    }
    for (target, ranks) in [("check", "1 rank"), ("ptests", "2 to 10 ranks")] {
        cases.push(Case::new(format!("PnetCDF's tests, {ranks}"), move |cache| pnetcdf(cache, target)));
    }
    for ranks in [1, 2, 4] {
        cases.push(Case::new(format!("ADIOS, {ranks} ranks"), move |cache| adios(cache, ranks)));
    }
    for ranks in [2, 3, 4] {
        cases.push(Case::new(format!("rsmpi, {ranks} ranks"), move |cache| rsmpi(cache, ranks)));
    }
    cases.push(Case::new("numpy in the shared heap, 2 ranks", numpy));
    for interface in ["MPICH ABI", "standard ABI"] {
        for ranks in [1, 2, 3, 5] {
            let name = format!("mpi4py, {interface}, {ranks} ranks");
            cases.push(Case::new(name, move |cache| mpi4py(cache, interface, ranks)));
        }
    }
    cases
}

/// A program that shows that compiling, linking and running works.
const HELLO: &str = "#include <mpi.h>\n#include <stdio.h>\nint main(int argc, char **argv)\n{\n    int rank, sum;\n    \
     MPI_Init(&argc, &argv);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    \
     MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n    printf(\"sum %d\\n\", sum);\n    \
     return MPI_Finalize();\n}\n";

const FORTRAN_HELLO: &str = "program hello\n  use mpi\n  integer :: rank, total, error\n  call MPI_Init(error)\n  \
     call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)\n  \
     call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)\n  print '(a, i0)', 'sum ', total\n  \
     call MPI_Finalize(error)\nend program\n";

const CMAKE_LISTS: &str = "cmake_minimum_required(VERSION 3.16)\nproject(hello C CXX Fortran)\nfind_package(MPI REQUIRED)\n\
     add_executable(hello hello.c)\ntarget_link_libraries(hello MPI::MPI_C)\n\
     add_executable(hello-cxx hello.cc)\ntarget_link_libraries(hello-cxx MPI::MPI_CXX)\n\
     add_executable(hello-fortran hello.f90)\ntarget_link_libraries(hello-fortran MPI::MPI_Fortran)\n";

/// CMake finds our wrappers on the path, and what it builds runs.
fn find_mpi(cache: &Cache) -> Result<()> {
    let cmake = cache.python("cmake", &["cmake"], |_| ())?.join("bin/cmake");
    let folder = cache.scratch("cmake")?;
    let build = folder.join("build");
    if build.exists() {
        fs::remove_dir_all(&build)?;
    }
    let files =
        [("hello.c", HELLO), ("hello.cc", HELLO), ("hello.f90", FORTRAN_HELLO), ("CMakeLists.txt", CMAKE_LISTS)];
    for (name, text) in files {
        fs::write(folder.join(name), text)?;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", cache.prefix().join("bin").display());
    output_with(Command::new(&cmake).arg("-S").arg(&folder).arg("-B").arg(&build).env("PATH", path), "Found MPI")?;
    output(Command::new(&cmake).arg("--build").arg(&build))?;
    for program in ["hello", "hello-cxx", "hello-fortran"] {
        output_with(cache.mpiexec(3).env_remove("LD_LIBRARY_PATH").arg(build.join(program)), "sum 3")?;
    }
    Ok(())
}

/// pkg-config finds both interfaces, and what is built with them runs.
fn package_config(cache: &Cache) -> Result<()> {
    let folder = cache.scratch("pkg-config")?;
    fs::write(folder.join("hello.c"), HELLO)?;
    for package in ["mpi", "mpich"] {
        let mut tool = Command::new("pkg-config");
        tool.args(["--cflags", "--libs", package]).env("PKG_CONFIG_PATH", cache.prefix().join("lib/pkgconfig"));
        let flags = output(&mut tool)?;
        let program = folder.join(package);
        let mut compiler = Command::new("cc");
        output(compiler.arg(folder.join("hello.c")).arg("-o").arg(&program).args(flags.split_whitespace()))?;
        output_with(cache.mpiexec(2).env_remove("LD_LIBRARY_PATH").arg(program), "sum 1")?;
    }
    Ok(())
}

/// Intel's benchmarks, every one of a program with few and small messages.
fn intel_benchmarks(cache: &Cache, program: &str, ranks: usize) -> Result<()> {
    let folder = cache.python("imb", &["--no-deps", "impi-rt"], |_| ())?;
    let mut command = cache.mpiexec(ranks);
    command.arg(folder.join("bin").join(program)).args(["-npmin", &ranks.to_string()]);
    if program == "IMB-P2P" {
        command.args(["-iter", "20", "-msglen"]).arg(lengths(cache)?);
    } else {
        command.args(["-iter", "10", "-msglog", "2:17", "-time", "0.2"]);
    }
    output_with(&mut command, "entering MPI_Finalize").map(drop)
}

/// A file with the lengths of messages that IMB-P2P is to try.
fn lengths(cache: &Cache) -> Result<PathBuf> {
    let file = cache.scratch("imb")?.join("lengths");
    fs::write(&file, "0\n1\n8\n100\n5000\n70000\n300000\n")?;
    Ok(file)
}

fn netpipe(cache: &Cache) -> Result<()> {
    let folder = cache.debian("netpipe-mpich2")?;
    let result = cache.scratch("netpipe")?.join("np.out");
    let mut command = cache.mpiexec(2);
    command.arg(folder.join("usr/bin/NPmpich2")).args(["-n", "20", "-u", "200000", "-I", "-o"]).arg(&result);
    output(&mut command)?;
    let lines = fs::read_to_string(&result).context("it wrote no result")?.lines().count();
    ensure!(lines > 20, "it measured only {lines} lengths");
    Ok(())
}

/// A melt of 4,000 atoms: the thermodynamic output is that of LAMMPS by itself, without launcher.
fn melt(cache: &Cache, ranks: usize) -> Result<()> {
    let program = lammps::install(cache)?;
    let scratch = cache.scratch("lammps")?;
    let input = scratch.join("melt.in");
    fs::write(&input, lammps::melt(10, 100))?;
    let arguments = |command: &mut Command| {
        output(command.arg(&program).arg("-in").arg(&input).args(lammps::OPTIONS).env("OMP_NUM_THREADS", "1"))
    };
    let reference = scratch.join("thermo");
    if ranks == 1 || !reference.exists() {
        let mut alone = Command::new("env");
        alone.env("LD_LIBRARY_PATH", cache.prefix().join("lib"));
        fs::write(&reference, thermo(&arguments(&mut alone)?)?)?;
    }
    let measured = thermo(&arguments(&mut cache.mpiexec(ranks))?)?;
    let expected = fs::read_to_string(&reference)?;
    ensure!(measured == expected, "another thermo output than alone:\n{measured}\ninstead of\n{expected}");
    Ok(())
}

/// The lines of numbers from `Step` to `Loop time`.
fn thermo(output: &str) -> Result<String> {
    let (_, from) = output.split_once("Step ").context("no thermo output")?;
    let (table, _) = from.split_once("Loop time").context("the run did not end")?;
    Ok(table.lines().skip(1).map(|line| line.trim().to_owned() + "\n").collect())
}

/// A ring of cells over all ranks, each exciting the next: prints its spikes, sorted.
const RING: &str = r#"
from neuron import h
h.load_file("stdrun.hoc")
h.nrnmpi_init()
context = h.ParallelContext()
rank, size, cells = int(context.id()), int(context.nhost()), 12
keep, times, names = [], h.Vector(), h.Vector()
for gid in range(rank, cells, size):
    soma = h.Section(name="soma%d" % gid)
    soma.L = soma.diam = 12.6157
    soma.insert("hh")
    synapse = h.ExpSyn(soma(0.5))
    context.set_gid2node(gid, rank)
    spikes = h.NetCon(soma(0.5)._ref_v, None, sec=soma)
    context.cell(gid, spikes)
    context.spike_record(gid, times, names)
    keep.append((gid, soma, synapse, spikes))
incoming = []
for gid, _, synapse, _ in keep:
    link = context.gid_connect((gid - 1) % cells, synapse)
    link.weight[0], link.delay = 0.04, 5
    incoming.append(link)
    if gid == 0:
        start = h.NetStim()
        start.number, start.start = 1, 1
        first = h.NetCon(start, synapse)
        first.weight[0], first.delay = 0.04, 1
        incoming += [start, first]
context.set_maxstep(10)
h.finitialize(-65)
context.psolve(200)
found = context.py_gather(sorted(zip(times.to_python(), names.to_python())), 0)
if rank == 0:
    for when, who in sorted(sum(found, [])):
        print("spike %.6f %d" % (when, who))
context.barrier()
h.quit()
"#;

fn neuron(cache: &Cache, ranks: usize) -> Result<()> {
    let folder = cache.python("neuron", &["neuron"], |_| ())?;
    let scratch = cache.scratch("neuron")?;
    let program = scratch.join("ring.py");
    fs::write(&program, RING)?;
    let library = cache.prefix().join("lib/libmpi.so.12");
    let spikes = |ranks: usize| -> Result<String> {
        let mut command = cache.mpiexec(ranks);
        command.arg(folder.join("bin/python")).arg(&program).env("MPI_LIB_NRN_PATH", &library);
        let text = output(&mut command)?;
        Ok(text.lines().filter(|line| line.starts_with("spike")).map(|line| line.to_owned() + "\n").collect())
    };
    let (one, many) = (spikes(1)?, spikes(ranks)?);
    ensure!(one.lines().count() > 12, "the ring fired only {} times", one.lines().count());
    ensure!(one == many, "other spikes than with one rank:\n{many}\ninstead of\n{one}");
    Ok(())
}

/// Arrays that were there before MPI was loaded, forked children that change their copies, and messages between the
/// arrays.
const ARRAYS: &str = r#"
import multiprocessing, os
import numpy as np
early = np.arange(1 << 20, dtype="f8")
sparse = np.zeros(1 << 32, dtype="i1")
def child(add):
    early[:] += add
    return float(early.sum())
expected = float(early.sum())
with multiprocessing.get_context("fork").Pool(2) as pool:
    sums = pool.map(child, [1, 1], chunksize=1)
assert all(total > expected for total in sums) and float(early.sum()) == expected
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
for turn in range(20):
    late = np.empty(early.size + turn * 1000)
    world.Sendrecv(early + rank + turn, (rank + 1) % size, recvbuf=late[: early.size], source=(rank - 1) % size)
    assert (late[: early.size] == np.arange(1 << 20) + (rank - 1) % size + turn).all()
if os.fork() == 0:
    late[:] = 0
    os._exit(0 if (early == np.arange(1 << 20)).all() else 1)
assert os.wait()[1] == 0 and late[1] == 1 + (rank - 1) % size + turn and not sparse[:: 1 << 28].any()
print("arrays are right")
"#;

fn numpy(cache: &Cache) -> Result<()> {
    let folder = python(cache)?;
    let program = cache.scratch("numpy")?.join("arrays.py");
    fs::write(&program, ARRAYS)?;
    let mut command = cache.mpiexec(2);
    command.arg("--explain").arg(folder.join("bin/python")).arg(program);
    command.env("MPI4PY_MPIABI", "mpich").env("MPI4PY_LIBMPI", cache.prefix().join("lib/libmpi.so.12"));
    let said = output_with(&mut command, " 0.0 MB by the kernel")?;
    ensure!(said.matches("arrays are right").count() == 2, "a rank did not come to its end:\n{said}");
    Ok(())
}
