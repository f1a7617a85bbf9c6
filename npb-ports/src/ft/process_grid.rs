//! How the array is divided between the processes, and the exchanges that turn one division into another.
//!
//! In space, a process has whole lines along x. Two exchanges lead to whole lines along z: one within a group of
//! processes that together have whole planes of x and y, one within a group that together have whole planes of y and z.
//! As long as there are no more processes than planes across z, the first group is the process alone and a process has
//! whole planes.

use crate::all_to_all;
use num_complex::Complex64;
use rwmpi::{Communicator, Result};

/// How many processes share x with y, and y with z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessGrid {
    /// Processes of a group that exchanges x and y.
    pub xy: usize,
    /// Processes of a group that exchanges y and z.
    pub yz: usize,
    /// This process's rank in the first group.
    pub xy_rank: usize,
    /// This process's rank in the second group.
    pub yz_rank: usize,
}

/// The communicators of a process's two groups; none for a group of one.
pub struct Groups {
    xy: Option<Communicator>,
    yz: Option<Communicator>,
}

impl ProcessGrid {
    /// The place of `rank` among `processes` that divide an array of `extent`.
    pub fn new(extent: [usize; 3], processes: usize, rank: usize) -> Self {
        if processes <= extent[2] {
            ProcessGrid { xy: 1, yz: processes, xy_rank: 0, yz_rank: rank }
        } else {
            let xy = processes / extent[2];
            ProcessGrid { xy, yz: extent[2], xy_rank: rank % xy, yz_rank: rank / xy }
        }
    }

    /// Whether every process gets a part of every division.
    pub fn allows(extent: [usize; 3], processes: usize) -> bool {
        let [nx, ny, nz] = extent;
        let grid = Self::new(extent, processes, 0);
        processes.is_power_of_two() && grid.xy <= nx.min(ny) && grid.yz <= ny.min(nz)
    }
}

impl Groups {
    /// Splits `world`. Collective.
    pub fn new(world: &Communicator, grid: &ProcessGrid) -> Result<Self> {
        let part = |colour: usize, key: usize| world.split(Some(colour as u32), key as i32);
        let xy = part(grid.yz_rank, grid.xy_rank)?;
        let yz = part(grid.xy_rank, grid.yz_rank)?;
        let several = |group: Option<Communicator>| group.filter(|group| group.size() > 1);
        Ok(Groups { xy: several(xy), yz: several(yz) })
    }

    /// The groups of a process that has everything.
    #[cfg(test)]
    pub fn alone() -> Self {
        Groups { xy: None, yz: None }
    }

    /// Calls `fill` to compute `here` and exchanges its parts between the processes that share x and y; the result is
    /// in `here`.
    pub fn exchange_xy<B: AsArray>(
        &self,
        here: &mut B,
        there: &mut B,
        fill: impl FnOnce(&mut [Complex64]),
    ) -> Result<()> {
        exchange(self.xy.as_ref(), here, there, fill)
    }

    /// Calls `fill` to compute `here` and exchanges its parts between the processes that share y and z; the result is
    /// in `here`.
    pub fn exchange_yz<B: AsArray>(
        &self,
        here: &mut B,
        there: &mut B,
        fill: impl FnOnce(&mut [Complex64]),
    ) -> Result<()> {
        exchange(self.yz.as_ref(), here, there, fill)
    }
}

/// Memory for an array.
pub trait AsArray: std::ops::DerefMut<Target = [Complex64]> {}

impl<B: std::ops::DerefMut<Target = [Complex64]>> AsArray for B {}

fn exchange<B: AsArray>(
    group: Option<&Communicator>,
    here: &mut B,
    there: &mut B,
    fill: impl FnOnce(&mut [Complex64]),
) -> Result<()> {
    let Some(group) = group else {
        fill(here);
        return Ok(());
    };
    let length = here.len() / group.size();
    let parts: Vec<_> = (0..group.size()).map(|rank| rank * length..(rank + 1) * length).collect();
    all_to_all::exchange(group, there.chunks_exact_mut(length).collect(), (here, &parts), fill)?;
    std::mem::swap(here, there);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::ProcessGrid;

    #[test]
    fn planes_are_divided_only_when_there_are_too_few() {
        let extent = [128, 128, 32];
        assert_eq!(ProcessGrid::new(extent, 32, 31), ProcessGrid { xy: 1, yz: 32, xy_rank: 0, yz_rank: 31 });
        assert_eq!(ProcessGrid::new(extent, 128, 7), ProcessGrid { xy: 4, yz: 32, xy_rank: 3, yz_rank: 1 });
        assert!(ProcessGrid::allows(extent, 32 * 128));
        assert!(!ProcessGrid::allows(extent, 64 * 128));
        assert!(!ProcessGrid::allows(extent, 3));
    }
}
