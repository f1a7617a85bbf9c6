//! The constructors of datatypes (MPI-5.0 section 5.1) and what they refuse.

use super::basic::Basic;
use super::distribution::{Distribution, Order};
use super::fortran::Parameters;
use super::{Datatype, too_large};
use crate::{Error, ErrorClass, Result};

/// How a datatype was made, as given.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Constructor {
    /// It is predefined.
    Named(Basic),
    /// It is predefined by a precision and range of Fortran.
    Fortran(Parameters),
    Dup {
        old: Datatype,
    },
    Contiguous {
        count: i64,
        old: Datatype,
    },
    Vector {
        count: i64,
        blocklength: i64,
        stride: i64,
        old: Datatype,
    },
    Hvector {
        count: i64,
        blocklength: i64,
        stride: i64,
        old: Datatype,
    },
    Indexed {
        blocklengths: Box<[i64]>,
        displacements: Box<[i64]>,
        old: Datatype,
    },
    Hindexed {
        blocklengths: Box<[i64]>,
        displacements: Box<[i64]>,
        old: Datatype,
    },
    IndexedBlock {
        blocklength: i64,
        displacements: Box<[i64]>,
        old: Datatype,
    },
    HindexedBlock {
        blocklength: i64,
        displacements: Box<[i64]>,
        old: Datatype,
    },
    Struct {
        blocklengths: Box<[i64]>,
        displacements: Box<[i64]>,
        old: Box<[Datatype]>,
    },
    Subarray {
        sizes: Box<[i64]>,
        subsizes: Box<[i64]>,
        starts: Box<[i64]>,
        order: Order,
        old: Datatype,
    },
    Darray {
        distribution: Distribution,
        old: Datatype,
    },
    Resized {
        lower_bound: i64,
        extent: i64,
        old: Datatype,
    },
}

/// The pattern of what is made of one other datatype.
macro_rules! one_old {
    ($old:ident) => {
        Constructor::Dup { $old }
            | Constructor::Contiguous { $old, .. }
            | Constructor::Vector { $old, .. }
            | Constructor::Hvector { $old, .. }
            | Constructor::Indexed { $old, .. }
            | Constructor::Hindexed { $old, .. }
            | Constructor::IndexedBlock { $old, .. }
            | Constructor::HindexedBlock { $old, .. }
            | Constructor::Subarray { $old, .. }
            | Constructor::Darray { $old, .. }
            | Constructor::Resized { $old, .. }
    };
}

impl Constructor {
    /// The datatypes it is made of.
    pub fn old(&self) -> &[Datatype] {
        match self {
            Constructor::Named(_) | Constructor::Fortran(_) => &[],
            Constructor::Struct { old, .. } => old,
            one_old!(old) => std::slice::from_ref(old),
        }
    }

    /// The same of other datatypes, which `of` makes of those it is made of.
    pub(super) fn with(mut self, of: impl Fn(&Datatype) -> Datatype) -> Constructor {
        match &mut self {
            Constructor::Named(_) | Constructor::Fortran(_) => {}
            Constructor::Struct { old, .. } => old.iter_mut().for_each(|old| *old = of(old)),
            one_old!(old) => *old = of(old),
        }
        self
    }
}

fn count(what: &str, value: i64) -> Result<i64> {
    if value < 0 {
        return Err(Error::new(ErrorClass::Count, format!("{what} is {value}: it must not be negative")));
    }
    Ok(value)
}

fn counts(what: &str, values: &[i64]) -> Result<Box<[i64]>> {
    values.iter().try_for_each(|&value| count(what, value).map(drop))?;
    Ok(values.into())
}

fn displacements(values: &[i64], blocks: usize) -> Result<Box<[i64]>> {
    if values.len() != blocks {
        let text = format!("{blocks} block lengths come with {} displacements", values.len());
        return Err(Error::new(ErrorClass::Argument, text));
    }
    Ok(values.into())
}

/// The constructors of MPI. Lengths and strides count elements of `old`, displacements and strides of the `h` forms
/// bytes.
///
/// # Errors
/// Negative counts and lengths, lists of different lengths, bounds or sizes beyond 64 bits.
impl Datatype {
    /// The same datatype again, as committed as `old` (MPI-5.0 section 5.1.10).
    pub fn dup(old: &Datatype) -> Datatype {
        old.duplicate()
    }

    /// `count` elements side by side.
    pub fn contiguous(number: i64, old: &Datatype) -> Result<Datatype> {
        let number = count("the count", number)?;
        Datatype::construct(Constructor::Contiguous { count: number, old: old.clone() })
    }

    /// Equal blocks at equal distances.
    pub fn vector(number: i64, blocklength: i64, stride: i64, old: &Datatype) -> Result<Datatype> {
        let (number, blocklength) = (count("the count", number)?, count("the block length", blocklength)?);
        Datatype::construct(Constructor::Vector { count: number, blocklength, stride, old: old.clone() })
    }

    /// The same with a distance in bytes.
    pub fn hvector(number: i64, blocklength: i64, stride: i64, old: &Datatype) -> Result<Datatype> {
        let (number, blocklength) = (count("the count", number)?, count("the block length", blocklength)?);
        Datatype::construct(Constructor::Hvector { count: number, blocklength, stride, old: old.clone() })
    }

    /// Blocks at displacements.
    pub fn indexed(blocklengths: &[i64], places: &[i64], old: &Datatype) -> Result<Datatype> {
        let displacements = displacements(places, blocklengths.len())?;
        let blocklengths = counts("a block length", blocklengths)?;
        Datatype::construct(Constructor::Indexed { blocklengths, displacements, old: old.clone() })
    }

    /// Blocks at displacements in bytes.
    pub fn hindexed(blocklengths: &[i64], places: &[i64], old: &Datatype) -> Result<Datatype> {
        let displacements = displacements(places, blocklengths.len())?;
        let blocklengths = counts("a block length", blocklengths)?;
        Datatype::construct(Constructor::Hindexed { blocklengths, displacements, old: old.clone() })
    }

    /// Equal blocks at displacements.
    pub fn indexed_block(blocklength: i64, places: &[i64], old: &Datatype) -> Result<Datatype> {
        let blocklength = count("the block length", blocklength)?;
        Datatype::construct(Constructor::IndexedBlock { blocklength, displacements: places.into(), old: old.clone() })
    }

    /// Equal blocks at displacements in bytes.
    pub fn hindexed_block(blocklength: i64, places: &[i64], old: &Datatype) -> Result<Datatype> {
        let blocklength = count("the block length", blocklength)?;
        Datatype::construct(Constructor::HindexedBlock { blocklength, displacements: places.into(), old: old.clone() })
    }

    /// Blocks of different datatypes at displacements in bytes. The extent is rounded up to the largest alignment, as C
    /// compilers do, unless bound markers fix it.
    pub fn structure(blocklengths: &[i64], places: &[i64], old: &[Datatype]) -> Result<Datatype> {
        let displacements = displacements(places, blocklengths.len())?;
        if old.len() != blocklengths.len() {
            let text = format!("{} block lengths come with {} datatypes", blocklengths.len(), old.len());
            return Err(Error::new(ErrorClass::Argument, text));
        }
        let blocklengths = counts("a block length", blocklengths)?;
        Datatype::construct(Constructor::Struct { blocklengths, displacements, old: old.into() })
    }

    /// A part of an array; the datatype's extent is the whole array's.
    pub fn subarray(sizes: &[i64], subsizes: &[i64], starts: &[i64], order: Order, old: &Datatype) -> Result<Datatype> {
        let dimensions = sizes.len();
        if dimensions == 0 || subsizes.len() != dimensions || starts.len() != dimensions {
            let text = "a subarray needs one size, part's size and start for each of at least one dimension";
            return Err(Error::new(ErrorClass::Argument, text));
        }
        for (dimension, ((&size, &part), &start)) in sizes.iter().zip(subsizes).zip(starts).enumerate() {
            if size < 1 || part < 1 || start < 0 || part > size || start > size - part {
                let text = format!("dimension {dimension}: {part} indices from {start} on are not a part of {size}");
                return Err(Error::new(ErrorClass::Argument, text));
            }
        }
        let (sizes, subsizes, starts) = (sizes.into(), subsizes.into(), starts.into());
        Datatype::construct(Constructor::Subarray { sizes, subsizes, starts, order, old: old.clone() })
    }

    /// One process's part of a distributed array; the datatype's extent is the whole array's.
    pub fn darray(distribution: Distribution, old: &Datatype) -> Result<Datatype> {
        distribution.check()?;
        Datatype::construct(Constructor::Darray { distribution, old: old.clone() })
    }

    /// The same elements with other bounds, bytes.
    pub fn resized(old: &Datatype, lower_bound: i64, extent: i64) -> Result<Datatype> {
        if lower_bound.checked_add(extent).is_none() {
            return Err(too_large());
        }
        Datatype::construct(Constructor::Resized { lower_bound, extent, old: old.clone() })
    }
}
