//! Datatypes whose predefined constituents have other sizes: what lies in a file whose representation is not memory's
//! (MPI-5.0 section 14.5).

use std::cell::Cell;

use super::basic::Basic;
use super::{Constructor, Datatype, too_large};
use crate::Result;

impl Datatype {
    /// The same datatype where each predefined one takes `size` bytes, without gaps of its own. What counts elements
    /// counts these; what counts bytes stays as it is: whoever gave them has asked for the sizes.
    ///
    /// # Errors
    /// Those of `size`; a size or bound beyond 64 bits.
    pub fn with_sizes(&self, size: &dyn Fn(Basic) -> Result<u64>) -> Result<Datatype> {
        let basic = match self.constructor() {
            Constructor::Named(basic) => Some(*basic),
            Constructor::Fortran(_) => self.element(),
            _ => None,
        };
        match basic {
            Some(basic) if basic.size() > 0 => {
                let bytes = i64::try_from(size(basic)?).map_err(|_| too_large())?;
                Datatype::contiguous(bytes, &Datatype::basic(Basic::Byte))
            }
            Some(_) => Ok(self.clone()),
            None => {
                let failure = Cell::new(None);
                let constructor = self.constructor().clone().with(|old| {
                    old.with_sizes(size).unwrap_or_else(|error| {
                        failure.set(Some(error));
                        old.clone()
                    })
                });
                failure.take().map_or_else(|| Datatype::construct(constructor), Err)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, ErrorClass};

    fn external(datatype: &Datatype) -> Datatype {
        datatype.with_sizes(&|basic| Ok(basic.external_size())).unwrap()
    }

    #[test]
    fn gaps_of_elements_shrink_with_them_and_gaps_of_bytes_do_not() {
        let long = Datatype::basic(Basic::Long);
        let vector = Datatype::vector(3, 1, 2, &long).unwrap();
        assert_eq!((vector.size(), vector.extent()), (24, 40));
        let in_file = external(&vector);
        assert_eq!((in_file.size(), in_file.extent(), in_file.run_at(4)), (12, 20, Some((8, 4))));
        let in_file = external(&Datatype::hvector(3, 1, 10, &long).unwrap());
        assert_eq!((in_file.size(), in_file.extent(), in_file.run_at(4)), (12, 24, Some((10, 4))));
        let resized = Datatype::resized(&long, 0, 20).unwrap();
        assert_eq!((external(&resized).size(), external(&resized).extent()), (4, 20));
    }

    #[test]
    fn what_has_no_size_has_no_layout() {
        let structure =
            Datatype::structure(&[1, 1], &[0, 8], &[Datatype::basic(Basic::Int), Datatype::basic(Basic::Long)]);
        let refuse = |basic| match basic {
            Basic::Long => Err(Error::new(ErrorClass::Conversion, "no long numbers")),
            _ => Ok(4),
        };
        assert_eq!(structure.unwrap().with_sizes(&refuse).unwrap_err().class(), ErrorClass::Conversion);
    }
}
