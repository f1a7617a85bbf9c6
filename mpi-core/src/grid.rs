//! Grids whose number of dimensions the compiler knows: places are arrays, and neighbours have directions.

use std::ops::Deref;

use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::topology::{Cartesian, balanced_dimensions};
use crate::{Communicator, Message, Result};

/// A step to a neighbour on a grid, along an axis.
#[doc = example!(1
    "use rwmpi::Direction;"
    "assert_eq!(Direction::Up(1).opposite(), Direction::Down(1));"
    "assert_eq!(Direction::Up(1).axis(), 1);"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// To the neighbour whose coordinate on that axis is smaller by 1.
    Down(usize),
    /// To the one whose coordinate is larger by 1.
    Up(usize),
}

impl Direction {
    /// Along which axis.
    pub fn axis(self) -> usize {
        match self {
            Direction::Down(axis) | Direction::Up(axis) => axis,
        }
    }

    /// The way back.
    pub fn opposite(self) -> Self {
        match self {
            Direction::Down(axis) => Direction::Up(axis),
            Direction::Up(axis) => Direction::Down(axis),
        }
    }
}

/// A communicator whose ranks form a grid of `N` dimensions.
///
/// ```
/// # extern crate rwmpi_core as rwmpi;
/// # fn main() -> rwmpi::Result<()> {
/// use rwmpi::Direction;
///
/// # rwmpi::run_threads(4, rwmpi::Protocol::Auto, |universe| {
/// # let world = universe.world();
/// // A torus; what is 0 is chosen so that all ranks have a place.
/// let torus = world.grid([0, 2], [true, true])?.expect("all ranks have a place");
/// let [row, column] = torus.place();
/// for (direction, heard) in torus.exchange(|direction| (direction.axis(), [row, column]))? {
///     assert_eq!(heard.0, direction.axis());
///     assert_eq!(Some(torus.rank_at(heard.1)?), torus.neighbour(direction)?);
/// }
/// assert_eq!(torus.neighbour(Direction::Up(0))?, Some(torus.rank_at([1 - row, column])?));
/// # Ok(())
/// # })?.into_iter().collect()
/// # }
/// ```
#[derive(Clone)]
pub struct Grid<const N: usize> {
    communicator: Communicator,
    place: [usize; N],
}

impl Communicator {
    /// The first ranks as a grid; `None` for those left over. Extents that are 0 are chosen, as near to each other as
    /// they can be, so that all ranks have a place; `periodic` says which axes close to a ring.
    ///
    /// # Errors
    /// As [`Communicator::create_cartesian`], or if the extents that are not 0 do not divide the number of ranks where
    /// others are.
    #[doc = example!(4
        "let grid = world.grid([2, 2], [false, true])?.expect(\"there are four\");"
        "let [x, y] = grid.place();"
        "assert_eq!((grid.dimensions()?, grid.rank_at([x, y])?), ([2, 2], rank));"
        "let below = grid.neighbour(rwmpi::Direction::Up(0))?;"
        "assert_eq!(below, (x == 0).then_some(rank + 2));"
        "let heard = grid.exchange(|_| format!(\"from {rank}\"))?;"
        "assert_eq!(heard.len(), 3);"
    )]
    pub fn grid<const N: usize>(&self, mut dimensions: [usize; N], periodic: [bool; N]) -> Result<Option<Grid<N>>> {
        if dimensions.contains(&0) {
            balanced_dimensions(self.size(), &mut dimensions)?;
        }
        let Some(communicator) = self.create_cartesian(&Cartesian::new(&dimensions, &periodic)?)? else {
            return Ok(None);
        };
        let place = as_array(communicator.cartesian()?.coordinates(communicator.rank())?);
        Ok(Some(Grid { communicator, place }))
    }
}

impl<const N: usize> Deref for Grid<N> {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        &self.communicator
    }
}

impl<const N: usize> Grid<N> {
    /// How many ranks there are along each axis.
    pub fn dimensions(&self) -> Result<[usize; N]> {
        Ok(as_array(self.cartesian()?.dimensions().to_vec()))
    }

    /// Where this rank is.
    pub fn place(&self) -> [usize; N] {
        self.place
    }

    /// Which rank is there.
    ///
    /// # Errors
    /// If that is outside the grid.
    pub fn rank_at(&self, place: [usize; N]) -> Result<usize> {
        self.cartesian()?.rank_at(&place.map(|coordinate| i64::try_from(coordinate).unwrap_or(i64::MAX)))
    }

    /// The rank next to this one; `None` at the edge of the grid.
    ///
    /// # Errors
    /// If there is no such axis.
    pub fn neighbour(&self, direction: Direction) -> Result<Option<usize>> {
        let step = if direction == Direction::Up(direction.axis()) { 1 } else { -1 };
        Ok(self.shift(direction.axis(), step)?.1.rank())
    }

    /// To every neighbour what `to` gives for its direction; what the neighbours have sent, each with the direction in
    /// which it is.
    ///
    /// # Errors
    /// As [`Communicator::alltoall_values`].
    pub fn exchange<T: Message>(&self, to: impl FnMut(Direction) -> T) -> Result<Vec<(Direction, T)>> {
        let directions: Vec<Direction> = (0..N).flat_map(|axis| [Direction::Down(axis), Direction::Up(axis)]).collect();
        let values: Vec<T> = directions.iter().copied().map(to).collect();
        let heard = self.neighbour_alltoall_values(&values)?;
        Ok(directions.into_iter().zip(heard).filter_map(|(direction, value)| Some((direction, value?))).collect())
    }
}

impl Communicator {
    /// Value `i` of `values` to the neighbour in place `i` of [`Neighbours::destinations`](crate::Neighbours), whatever
    /// it is if there is nobody; at place `j` of the result the one from whoever is in place `j` of the sources. Of any
    /// topology.
    ///
    /// # Errors
    /// As [`Communicator::alltoall_values`], or if there is no topology.
    #[doc = example!(3
        "let line = world.create_cartesian(&rwmpi::Cartesian::new(&[3], &[false])?)?.expect(\"there is room\");"
        "let heard = line.neighbour_alltoall_values(&[\"down\", \"up\"].map(|way| format!(\"{way} from {rank}\")))?;"
        "assert_eq!(heard[0], (rank > 0).then(|| format!(\"up from {}\", rank - 1)));"
    )]
    pub fn neighbour_alltoall_values<T: Message>(&self, values: &[T]) -> Result<Vec<Option<T>>> {
        let neighbours = self.neighbours()?;
        if values.len() != neighbours.destinations.len() {
            let (values, needed) = (values.len(), neighbours.destinations.len());
            let what =
                format!("the list of values has {values} elements where {needed} are needed, one for each neighbour");
            return Err(Error::argument(ErrorClass::Count, self, Call::Alltoall, what));
        }
        self.exchange_values(values, &neighbours)
    }
}

fn as_array<const N: usize>(list: Vec<usize>) -> [usize; N] {
    std::array::from_fn(|axis| list.get(axis).copied().unwrap_or_default())
}
