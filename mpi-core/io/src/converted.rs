//! Accesses of files in which values look different than in memory: their bytes are fetched or made as a whole, and
//! converted beside.
//!
//! A function of the program may convert them, and may take as long as it likes and let other threads in. So nothing of
//! the file is borrowed or locked meanwhile.

use rwmpi_core::ErrorClass;
use rwmpi_core::untyped::Elements;

use crate::access::Access;
use crate::span::Span;
use crate::transfer::{read_to_span, write_from_span};
use crate::{Direction, File, Result};

impl File {
    /// This rank's access: whole elements. The bytes that it returns are those in memory.
    pub(crate) fn transfer_converted(&self, direction: Direction, access: &Access, elements: &Elements) -> Result<u64> {
        let mut bytes = self.room(direction, access.bytes)?;
        let each = access.bytes / elements.count().max(1);
        let failed = |error: rwmpi_core::Error| {
            let error = self.error(ErrorClass::Conversion, direction.words(), error.to_string());
            error.at(access.view.displacement())
        };
        let representation = access.view.representation();
        if direction == Direction::Write {
            representation.encode(elements, &mut bytes).map_err(failed)?;
        }
        let moved = self.exclusively(direction, |disk, scratch| {
            let span = Span::of_bytes(&mut bytes);
            match direction {
                Direction::Read => read_to_span(disk, &access.view, access.position, span, scratch),
                Direction::Write => write_from_span(disk, &access.view, access.position, span),
            }
        });
        let in_memory = |bytes: u64| bytes.checked_div(each).unwrap_or(0) * elements.datatype().size();
        let moved = moved.map_err(|error| {
            // What is read and not converted the program does not have.
            let bytes = if direction == Direction::Write { in_memory(error.transferred()) } else { 0 };
            error.after(bytes)
        })?;
        let whole = moved.checked_div(each).unwrap_or(0);
        if direction == Direction::Read {
            let there = (whole * each) as usize;
            representation.decode(&elements.first(whole), &mut bytes[..there]).map_err(failed)?;
        }
        Ok(in_memory(moved))
    }

    /// Memory for so many bytes.
    fn room(&self, direction: Direction, len: u64) -> Result<Vec<u8>> {
        let no_memory = || {
            let what = format!("there is no memory to convert {len} bytes");
            self.error(ErrorClass::NoMemory, direction.words(), what)
        };
        let len = usize::try_from(len).map_err(|_| no_memory())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| no_memory())?;
        bytes.resize(len, 0);
        Ok(bytes)
    }
}
