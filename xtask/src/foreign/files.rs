//! Programs of others that keep their data in files: h5py on HDF5, as Debian compiled it for MPICH.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::cache::{Cache, output_with};
use super::mpi4py::{MPI4PY, WITHOUT_DEBUG_INFORMATION};
use super::one_sided::{library_path, machine_folder};

/// What of HDF5 is needed to compile for it, and to run.
const PACKAGES: [&str; 5] = ["libhdf5-mpich-dev", "libhdf5-mpich-103-1", "libhdf5-mpich-hl-100", "libsz2", "libaec0"];

/// All ranks write datasets together and by themselves, and each reads what another wrote.
const DATASETS: &str = r#"
import h5py, numpy as np, sys
from mpi4py import MPI
c = MPI.COMM_WORLD; r, n = c.rank, c.size
rows, cols = 64 * n, 1000
with h5py.File(sys.argv[1], "w", driver="mpio", comm=c) as f:
    d = f.create_dataset("all", (rows, cols), "f8")
    with d.collective:
        d[:, r::n] = np.arange(rows)[:, None] * 1000.0 + np.arange(r, cols, n)[None, :]
    e = f.create_dataset("parts", (n, 100000), "i4")
    e[r, :] = np.arange(100000) + r
    g = f.create_dataset("chunked", (rows, cols), "f4", chunks=(16, 100))
    with g.collective:
        g[r * 64:(r + 1) * 64, :] = r
    f.atomic = True
c.Barrier()
with h5py.File(sys.argv[1], "r", driver="mpio", comm=c) as f:
    with f["all"].collective:
        got = f["all"][r * 64:(r + 1) * 64, :]
    assert (got == np.arange(r * 64, (r + 1) * 64)[:, None] * 1000.0 + np.arange(cols)).all()
    assert (f["parts"][(r + 1) % n] == np.arange(100000) + (r + 1) % n).all()
    assert (f["chunked"][r * 64:(r + 1) * 64] == r).all()
if r == 0:
    print("datasets are right")
"#;

/// HDF5 in one folder, as h5py looks for it, and the folders of its libraries.
fn hdf5(cache: &Cache) -> Result<(PathBuf, Vec<PathBuf>)> {
    let packages = PACKAGES.iter().map(|package| cache.debian(package)).collect::<Result<Vec<_>>>()?;
    let folders: Vec<PathBuf> = packages.iter().map(|package| machine_folder(package)).collect();
    let folder = cache.scratch("hdf5")?;
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(folder.join("lib"))?;
    symlink(packages[0].join("usr/include/hdf5/mpich"), folder.join("include"))?;
    for (from, library) in [(1, "hdf5_mpich"), (2, "hdf5_mpich_hl")] {
        let library_file = fs::read_dir(&folders[from])?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.to_string_lossy().contains(&format!("lib{library}.so.")))
            .with_context(|| format!("there is no lib{library}.so"))?;
        symlink(library_file, folder.join("lib").join(format!("lib{}.so", library.replace("_mpich", ""))))?;
    }
    Ok((folder, folders))
}

/// Datasets of h5py, by so many ranks.
pub fn h5py(cache: &Cache, ranks: usize) -> Result<()> {
    let (hdf5, folders) = hdf5(cache)?;
    let libraries = library_path(cache, &folders.iter().map(|folder| folder.as_path()).collect::<Vec<_>>())?;
    let compiler = format!("{} -abi=mpich", cache.wrapper("mpicc").display());
    let python = cache.python("h5py", &["--no-binary", "h5py", "numpy", MPI4PY, "h5py"], |pip| {
        pip.env("HDF5_MPI", "ON").env("HDF5_DIR", &hdf5).env("CC", &compiler);
        pip.env("CFLAGS", WITHOUT_DEBUG_INFORMATION);
        pip.env("LD_LIBRARY_PATH", &libraries).env("LIBRARY_PATH", &libraries);
        pip.env("MPI4PY_MPIABI", "mpich").env("MPI4PY_LIBMPI", cache.prefix().join("lib/libmpi.so.12"));
    })?;
    let scratch = cache.scratch("h5py")?;
    let program = scratch.join("datasets.py");
    fs::write(&program, DATASETS)?;
    let mut command = cache.mpiexec(ranks);
    command.arg(python.join("bin/python")).arg(&program).arg(scratch.join("datasets.h5"));
    command.env("LD_LIBRARY_PATH", &libraries).env("MPI4PY_MPIABI", "mpich");
    command.env("MPI4PY_LIBMPI", cache.prefix().join("lib/libmpi.so.12"));
    output_with(&mut command, "datasets are right").map(drop)
}
