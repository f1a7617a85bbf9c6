//! The predefined datatypes that short operations take, by the codes of their handles.

use rwmpi_core::datatype::Datatype;
use rwmpi_core::window::PackedBasic;

use crate::interface::{Abi, DATATYPE_PLACES};

/// A row for each place that a code may have ([`Abi::datatype_place`]).
pub(crate) struct PackedDatatypes(Box<[Row; DATATYPE_PLACES]>);

/// The code of the datatype there, and what short operations ask of it, if its elements have no gaps.
// A power of two is quickly multiplied with.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Row {
    code: u32,
    packed: Option<PackedBasic>,
}

const _: () = assert!(size_of::<Row>() == 32);

impl PackedDatatypes {
    /// Of these datatypes, each at its place.
    pub(crate) fn of(datatypes: &[Option<(u32, Datatype)>]) -> Self {
        let mut rows = Box::new([Row::default(); DATATYPE_PLACES]);
        for (row, datatype) in rows.iter_mut().zip(datatypes) {
            let found =
                datatype.as_ref().map(|(code, datatype)| Row { code: *code, packed: PackedBasic::of(datatype) });
            *row = found.unwrap_or_default();
        }
        PackedDatatypes(rows)
    }

    /// The datatype with that handle, if it is such a one.
    #[inline(always)]
    pub(crate) fn get<A: Abi>(&self, handle: A::Handle) -> Option<&PackedBasic> {
        let code = A::code(handle);
        let row = &self.0[A::datatype_place(code) % DATATYPE_PLACES];
        if row.code == code { row.packed.as_ref() } else { None }
    }
}
