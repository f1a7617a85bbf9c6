//! Envelope and contents: how a datatype was made, as lists of numbers (MPI-5.0 section 5.1.13).

use super::distribution::{Distribute, Order};
use super::fortran::Parameters;
use super::{Constructor, Datatype};

/// Which call made a datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Combiner {
    Named,
    Dup,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Darray,
    FortranReal,
    FortranComplex,
    FortranInteger,
    Resized,
}

/// The numbers by which an interface knows orders, distributions and what is left out.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Codes {
    pub order_c: i64,
    pub order_fortran: i64,
    pub distribute_block: i64,
    pub distribute_cyclic: i64,
    pub distribute_none: i64,
    pub default_argument: i64,
    pub undefined: i64,
}

/// The arguments of the call that made a datatype, by their types.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The call.
    pub combiner: Combiner,
    /// Arguments of type `int`.
    pub integers: Vec<i64>,
    /// Arguments of type `MPI_Aint`.
    pub addresses: Vec<i64>,
    /// Arguments of type `MPI_Count`: none unless a call with large counts made it.
    pub counts: Vec<i64>,
    /// Datatypes.
    pub datatypes: Vec<Datatype>,
}

impl Contents {
    fn new(combiner: Combiner, datatypes: &[Datatype]) -> Self {
        let datatypes = datatypes.to_vec();
        Contents { combiner, integers: Vec::new(), addresses: Vec::new(), counts: Vec::new(), datatypes }
    }

    /// Appends arguments that are integers, or large counts in the other form of the call.
    fn lengths(&mut self, large: bool, values: &[i64]) {
        let list = if large { &mut self.counts } else { &mut self.integers };
        list.extend_from_slice(values);
    }

    /// Appends arguments that are addresses, or large counts in the other form of the call.
    fn bytes(&mut self, large: bool, values: &[i64]) {
        let list = if large { &mut self.counts } else { &mut self.addresses };
        list.extend_from_slice(values);
    }
}

impl Datatype {
    /// Which call made it.
    pub fn combiner(&self) -> Combiner {
        match self.constructor() {
            Constructor::Named(_) => Combiner::Named,
            Constructor::Fortran(Parameters::Real { .. }) => Combiner::FortranReal,
            Constructor::Fortran(Parameters::Complex { .. }) => Combiner::FortranComplex,
            Constructor::Fortran(Parameters::Integer { .. }) => Combiner::FortranInteger,
            Constructor::Dup { .. } => Combiner::Dup,
            Constructor::Contiguous { .. } => Combiner::Contiguous,
            Constructor::Vector { .. } => Combiner::Vector,
            Constructor::Hvector { .. } => Combiner::Hvector,
            Constructor::Indexed { .. } => Combiner::Indexed,
            Constructor::Hindexed { .. } => Combiner::Hindexed,
            Constructor::IndexedBlock { .. } => Combiner::IndexedBlock,
            Constructor::HindexedBlock { .. } => Combiner::HindexedBlock,
            Constructor::Struct { .. } => Combiner::Struct,
            Constructor::Subarray { .. } => Combiner::Subarray,
            Constructor::Darray { .. } => Combiner::Darray,
            Constructor::Resized { .. } => Combiner::Resized,
        }
    }

    /// The arguments of the call that made it, in the order that MPI gives them.
    pub fn contents(&self, codes: &Codes) -> Contents {
        let large = self.0.large.get();
        let constructor = self.constructor();
        let mut contents = Contents::new(self.combiner(), constructor.old());
        match constructor {
            Constructor::Named(_) | Constructor::Dup { .. } => {}
            Constructor::Fortran(parameters) => {
                let or_undefined = |value: Option<i32>| value.map_or(codes.undefined, i64::from);
                match *parameters {
                    Parameters::Integer { range } => contents.integers.push(i64::from(range)),
                    Parameters::Real { precision, range } | Parameters::Complex { precision, range } => {
                        contents.integers.extend([or_undefined(precision), or_undefined(range)]);
                    }
                }
            }
            Constructor::Contiguous { count, .. } => contents.lengths(large, &[*count]),
            Constructor::Vector { count, blocklength, stride, .. } => {
                contents.lengths(large, &[*count, *blocklength, *stride]);
            }
            Constructor::Hvector { count, blocklength, stride, .. } => {
                contents.lengths(large, &[*count, *blocklength]);
                contents.bytes(large, &[*stride]);
            }
            Constructor::Indexed { blocklengths, displacements, .. } => {
                contents.lengths(large, &[blocklengths.len() as i64]);
                contents.lengths(large, blocklengths);
                contents.lengths(large, displacements);
            }
            Constructor::Hindexed { blocklengths, displacements, .. }
            | Constructor::Struct { blocklengths, displacements, .. } => {
                contents.lengths(large, &[blocklengths.len() as i64]);
                contents.lengths(large, blocklengths);
                contents.bytes(large, displacements);
            }
            Constructor::IndexedBlock { blocklength, displacements, .. } => {
                contents.lengths(large, &[displacements.len() as i64, *blocklength]);
                contents.lengths(large, displacements);
            }
            Constructor::HindexedBlock { blocklength, displacements, .. } => {
                contents.lengths(large, &[displacements.len() as i64, *blocklength]);
                contents.bytes(large, displacements);
            }
            Constructor::Resized { lower_bound, extent, .. } => contents.bytes(large, &[*lower_bound, *extent]),
            Constructor::Subarray { .. } | Constructor::Darray { .. } => {
                self.array_contents(&mut contents, codes, large)
            }
        }
        contents
    }

    fn array_contents(&self, contents: &mut Contents, codes: &Codes, large: bool) {
        let order_code = |order: Order| match order {
            Order::C => codes.order_c,
            Order::Fortran => codes.order_fortran,
        };
        match self.constructor() {
            Constructor::Subarray { sizes, subsizes, starts, order, .. } => {
                contents.integers.push(sizes.len() as i64);
                for list in [sizes, subsizes, starts] {
                    contents.lengths(large, list);
                }
                contents.integers.push(order_code(*order));
            }
            Constructor::Darray { distribution, .. } => {
                let (kinds, arguments): (Vec<i64>, Vec<i64>) = distribution
                    .distribute
                    .iter()
                    .map(|distribute| match distribute {
                        Distribute::Block(block) => (codes.distribute_block, block.unwrap_or(codes.default_argument)),
                        Distribute::Cyclic(block) => (codes.distribute_cyclic, block.unwrap_or(codes.default_argument)),
                        Distribute::None(block) => (codes.distribute_none, block.unwrap_or(codes.default_argument)),
                    })
                    .unzip();
                let dimensions = distribution.sizes.len() as i64;
                contents.integers.extend([distribution.processes, distribution.rank, dimensions]);
                contents.lengths(large, &distribution.sizes);
                contents.integers.extend(kinds.iter().chain(&arguments).chain(&distribution.grid));
                contents.integers.push(order_code(distribution.order));
            }
            _ => {}
        }
    }
}
