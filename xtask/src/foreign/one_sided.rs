//! Programs of others that live on windows: coarrays of Fortran, Global Arrays, and quantum chemistry on these.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, ensure};

use super::cache::{Cache, output, output_with};

/// Images of most of OpenCoarrays' programs.
const IMAGES: usize = 4;
/// Those that want another number.
const OTHER_IMAGES: [(&str, usize); 4] =
    [("issue-515-mimic-mpi-gatherv", 2), ("issue-552-send_by_ref-singleton", 2), ("sync_team", 8), ("team_number", 8)];
/// Those that let an image fail, for which Debian built OpenCoarrays without support (`failed_images` builds it with
/// that), one that fails in the library of the
/// Fortran compiler before it calls MPI, and one that adds to memory of its neighbour, which may still have to
/// initialize it (the `sync all` before that came with a later version).
const CANNOT_RUN: [&str; 3] = ["image_fail_", "issue-488-multi-dim-cobounds", "increment_my_neighbor"];
/// So many programs are there and can run.
const COARRAY_PROGRAMS: usize = 82;

/// OpenCoarrays' own programs, as Debian compiled them for MPICH.
pub fn open_coarrays(cache: &Cache) -> Result<()> {
    let [programs, library] = ["libcoarrays-mpich-dev", "libcaf-mpich-3"].map(|package| cache.debian(package));
    let folder = machine_folder(&programs?).join("open-coarrays/mpich/bin/OpenCoarrays-2.10.1-tests");
    let libraries = library_path(cache, &[machine_folder(&library?).join("open-coarrays/mpich/lib").as_path()])?;
    let scratch = cache.scratch("coarrays")?;
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| !CANNOT_RUN.iter().any(|start| name.starts_with(start)));
    names.sort();
    ensure!(names.len() == COARRAY_PROGRAMS, "there are {} programs instead of {COARRAY_PROGRAMS}", names.len());
    for name in names {
        let images = OTHER_IMAGES.iter().find(|(other, _)| *other == name).map_or(IMAGES, |(_, images)| *images);
        let mut command = cache.mpiexec(images);
        command.arg(folder.join(&name)).current_dir(&scratch).env("LD_LIBRARY_PATH", &libraries);
        output(&mut command).with_context(|| name.clone())?;
    }
    Ok(())
}

/// Where Debian puts the libraries of this kind of machine.
pub fn machine_folder(package: &Path) -> PathBuf {
    package.join("usr/lib").join(format!("{}-linux-gnu", env::consts::ARCH))
}

/// Our library, and what is in these folders.
pub fn library_path(cache: &Cache, folders: &[&Path]) -> Result<String> {
    let own = cache.prefix().join("lib");
    let all = [&[own.as_path()], folders].concat();
    Ok(env::join_paths(all)?.to_string_lossy().into_owned())
}

/// The linear algebra that NWChem and Global Arrays are linked with.
const ALGEBRA: [(&str, &str); 3] = [("libscalapack-mpich2.2", ""), ("liblapack3", "lapack"), ("libblas3", "blas")];

/// Its folders.
fn algebra(cache: &Cache) -> Result<Vec<PathBuf>> {
    ALGEBRA.iter().map(|(package, folder)| Ok(machine_folder(&cache.debian(package)?).join(folder))).collect()
}

/// A molecule of water.
const WATER: &str = "start water\ngeometry units au\n O 0.0 0.0 0.0\n H 0.0 1.43042809 -1.10715266\n H 0.0 -1.43042809 -1.10715266\nend\n\
     basis\n * library 6-31G\nend\ntask scf energy\n";
/// Its energy: what one rank finds, and what any library must.
const ENERGY: &str = "Total SCF energy =    -75.983997570421";

/// NWChem on ARMCI-MPI, with windows of either kind.
pub fn nwchem(cache: &Cache, ranks: usize) -> Result<()> {
    let program = cache.debian("nwchem-mpich")?.join("usr/bin/nwchem.mpich");
    let basis = cache.debian("nwchem-data")?.join("usr/share/nwchem/libraries/");
    let folders = algebra(cache)?;
    let libraries = library_path(cache, &folders.iter().map(|folder| folder.as_path()).collect::<Vec<_>>())?;
    for is_allocated in ["0", "1"] {
        let folder = cache.scratch("nwchem")?;
        fs::write(folder.join("water.nw"), WATER)?;
        let mut command = cache.mpiexec(ranks);
        command.arg(&program).arg("water.nw").current_dir(&folder);
        command.env("LD_LIBRARY_PATH", &libraries).env("NWCHEM_BASIS_LIBRARY", format!("{}/", basis.display()));
        output_with(command.env("ARMCI_USE_WIN_ALLOCATE", is_allocated), ENERGY)?;
    }
    Ok(())
}

/// A product of matrices, an accumulate of all ranks on the whole of one, and a counter.
const ARRAYS: &str = r#"
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>
enum { N = 64, TURNS = 1000 };
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    GA_Initialize();
    MA_init(C_DBL, 1000000, 1000000);
    int extents[2] = {N, N}, low[2] = {0, 0}, high[2] = {N - 1, N - 1}, row[1] = {N}, first[1] = {0}, single[1] = {1};
    int a = NGA_Create(C_DBL, 2, extents, "a", NULL), b = GA_Duplicate(a, "b"), c = GA_Duplicate(a, "c");
    int counter = NGA_Create(C_LONG, 1, single, "counter", NULL);
    double two = 2, three = 3, one = 1, none = 0, least;
    static double mine[N * N];
    GA_Fill(a, &two);
    GA_Fill(b, &three);
    GA_Zero(counter);
    GA_Dgemm('n', 'n', N, N, N, one, a, b, none, c);
    for (int i = 0; i < N * N; i++) mine[i] = 1;
    GA_Sync();
    NGA_Acc(c, low, high, mine, row, &one);
    for (int i = 0; i < TURNS; i++) NGA_Read_inc(counter, first, 1);
    GA_Sync();
    NGA_Get(c, low, high, mine, row);
    least = mine[0];
    for (int i = 0; i < N * N; i++) if (mine[i] < least) least = mine[i];
    long count;
    NGA_Get(counter, first, first, &count, single);
    if (GA_Nodeid() == 0) printf("least %.1f, count %ld\n", least, count);
    GA_Terminate();
    MPI_Finalize();
}
"#;

/// A program on Global Arrays, linked with Debian's static libraries.
pub fn global_arrays(cache: &Cache, ranks: usize) -> Result<()> {
    let folder = cache.scratch("global-arrays")?;
    let (source, program) = (folder.join("arrays.c"), folder.join("arrays"));
    fs::write(&source, ARRAYS)?;
    let arrays = cache.debian("libglobalarrays-dev")?;
    let armci = cache.debian("libarmci-mpi-dev")?;
    let folders = algebra(cache)?;
    let mut compiler = Command::new(cache.wrapper("mpicc"));
    compiler.arg("-abi=mpich").arg(&source).arg("-o").arg(&program).arg("-I").arg(arrays.join("usr/include"));
    for package in [&arrays, &armci] {
        compiler.arg("-L").arg(machine_folder(package));
    }
    compiler.args(["-l:libga-mpich.a", "-l:libarmci-mpich.a"]);
    for (folder, library) in folders.iter().zip(["libscalapack-mpich.so.2.2", "liblapack.so.3", "libblas.so.3"]) {
        compiler.arg(folder.join(library));
    }
    output(compiler.args(["-lgfortran", "-lm"]))?;
    let libraries = library_path(cache, &folders.iter().map(|folder| folder.as_path()).collect::<Vec<_>>())?;
    let wanted = format!("least {}.0, count {}", 2 * 3 * 64 + ranks, 1000 * ranks);
    output_with(cache.mpiexec(ranks).arg(&program).env("LD_LIBRARY_PATH", libraries), &wanted).map(drop)
}
