//! Which bytes of a file a rank sees, and in which order (MPI-5.0 section 14.3).
//!
//! A view is a displacement and a filetype that is laid out behind it again and again. Bytes that it shows are
//! numbered: the number of a byte is its *position*. Where a position lies in the file is computed from the filetype's
//! layout alone ([`Datatype::run_at`]), so that a view costs nothing to make, and an access begins anywhere in it at
//! once.

use rwmpi_core::ErrorClass;
use rwmpi_core::datatype::{Basic, Datatype, RunOrder};

use crate::Representation;

/// So many ranges of a view are looked at to say how long its blocks are.
const LOOKED_AT: usize = 8;

/// What a rank sees of a file.
#[derive(Clone, Debug)]
pub struct View {
    displacement: u64,
    etype: Datatype,
    filetype: Datatype,
    representation: Representation,
    /// What the filetype is in the file: the same, unless values look different there.
    layout: Datatype,
    /// Bytes of an etype in the file.
    unit: u64,
    /// Whether each byte that is shown lies behind those before it.
    is_in_order: bool,
}

/// Bytes side by side in the file, and the position of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) at: u64,
    pub(crate) len: u64,
    pub(crate) position: u64,
}

impl Range {
    pub(crate) fn end(self) -> u64 {
        self.at + self.len
    }
}

/// What is wrong with a view.
pub(crate) type Fault = (ErrorClass, String);

impl View {
    /// All bytes: the view of a file that has just been opened.
    pub(crate) fn bytes(displacement: u64) -> View {
        let byte = Datatype::basic(Basic::Byte);
        View {
            displacement,
            etype: byte.clone(),
            filetype: byte.clone(),
            representation: Representation::Native,
            layout: byte,
            unit: 1,
            is_in_order: true,
        }
    }

    pub(crate) fn new(
        displacement: u64,
        etype: &Datatype,
        filetype: &Datatype,
        representation: Representation,
        is_written: bool,
    ) -> Result<View, Fault> {
        let argument = |what: &str| Err((ErrorClass::Argument, what.to_owned()));
        if etype.size() == 0 {
            return argument("the etype has no bytes");
        }
        if !filetype.size().is_multiple_of(etype.size()) {
            return argument("the filetype does not consist of whole etypes");
        }
        check_order("etype", etype, is_written)?;
        check_order("filetype", filetype, is_written)?;
        let in_file = |datatype| representation.in_file(datatype).map_err(|error| (error.class(), error.to_string()));
        let (unit, layout) = (in_file(etype)?.size(), in_file(filetype)?);
        if unit == 0 {
            return argument("the etype has no bytes in the file");
        }
        let is_in_order = layout.run_order() == RunOrder::Apart && layout.true_extent() <= layout.extent().max(0);
        let (etype, filetype) = (etype.clone(), filetype.clone());
        Ok(View { displacement, etype, filetype, representation, layout, unit, is_in_order })
    }

    /// The same for another thread: it has no part of anything in common with this one. Values look as in memory.
    pub(crate) fn detached(&self) -> View {
        View {
            etype: self.etype.detached(),
            filetype: self.filetype.detached(),
            layout: self.layout.detached(),
            representation: Representation::Native,
            ..*self
        }
    }

    /// From where on.
    pub fn displacement(&self) -> u64 {
        self.displacement
    }

    /// What offsets count.
    pub fn etype(&self) -> &Datatype {
        &self.etype
    }

    /// What is laid out in the file again and again.
    pub fn filetype(&self) -> &Datatype {
        &self.filetype
    }

    /// How values look.
    pub fn representation(&self) -> &Representation {
        &self.representation
    }

    /// Bytes of an etype in the file.
    pub(crate) fn unit(&self) -> u64 {
        self.unit
    }

    /// Where a position lies in the file, and how many bytes from it on lie side by side; `None` if nowhere.
    pub(crate) fn place(&self, position: u64) -> Option<(u64, u64)> {
        let (offset, len) = self.layout.run_at(position)?;
        let at = self.displacement.checked_add(u64::try_from(offset).ok()?)?;
        // No byte of a file has a number beyond this.
        let room = i64::MAX.cast_unsigned().checked_sub(at)?;
        Some((at, len.min(room))).filter(|place| place.1 > 0)
    }

    /// Whether it shows values as they are in memory, each byte behind those before it: so that some of the file can be
    /// taken for memory that holds elements of the filetype.
    pub(crate) fn is_plain(&self) -> bool {
        self.representation.is_as_in_memory() && self.is_in_order
    }

    /// Of a view in order: the first position from `low` on, and before `high`, whose byte does not lie before the byte
    /// `at` of the file; `high` if there is none.
    pub(crate) fn position_of(&self, at: u64, mut low: u64, mut high: u64) -> u64 {
        if let Some((place, _)) = self.place(low) {
            // Each position lies at least a byte behind the one before.
            high = high.min(low.saturating_add(at.saturating_sub(place)));
        }
        let mut middle = low;
        while low < high {
            match self.place(middle) {
                // What lies side by side with it lies before, too.
                Some((place, len)) if place < at => low = middle + len.min(at - place),
                _ => high = middle,
            }
            middle = low.saturating_add(high.saturating_sub(low) / 2);
        }
        low.min(high)
    }

    /// Calls `visit` with the first byte and the end of what lies side by side of the positions from `low` to `high`.
    pub(crate) fn for_each_run(&self, low: u64, high: u64, mut visit: impl FnMut(u64, u64)) {
        self.layout.for_each_run_between(low, high, &mut |offset, len| {
            let begin = self.displacement.wrapping_add_signed(offset);
            visit(begin, begin.wrapping_add(len));
        });
    }

    /// In how many ranges so many bytes from a position on lie, by what the first few look like.
    pub(crate) fn blocks(&self, position: u64, bytes: u64) -> u64 {
        let (mut blocks, mut seen) = (0_u64, 0);
        for range in self.ranges(position, bytes).take(LOOKED_AT) {
            (blocks, seen) = (blocks + 1, seen + range.len);
        }
        (u128::from(blocks) * u128::from(bytes) / u128::from(seen.max(1))) as u64
    }

    /// The ranges that hold `len` bytes from a position on, as far as there are any.
    pub(crate) fn ranges(&self, position: u64, len: u64) -> Ranges<'_> {
        Ranges { view: self, position, end: position.saturating_add(len), next: None }
    }

    /// How many etypes it shows of a file with so many bytes, the last perhaps in part.
    pub(crate) fn etypes_within(&self, size: u64) -> u64 {
        // The byte at a position lies at least so far behind the displacement.
        let (mut low, mut high) = (0, size.saturating_sub(self.displacement));
        while low < high {
            let middle = low + (high - low) / 2;
            match self.place(middle) {
                Some((at, _)) if at < size => low = middle + 1,
                _ => high = middle,
            }
        }
        low.div_ceil(self.unit.max(1))
    }
}

/// Whether the bytes of a datatype come in the order in which they lie in the file, and, if they are written, once.
fn check_order(name: &str, datatype: &Datatype, is_written: bool) -> Result<(), Fault> {
    let order = datatype.run_order();
    let what = match order {
        _ if datatype.size() == 0 => return Ok(()),
        _ if datatype.true_lower_bound() < 0 || datatype.extent() < 0 => "has negative displacements",
        RunOrder::Backwards => "has displacements that decrease",
        RunOrder::Overlapping if is_written => "has blocks that overlap, and the file may be written",
        RunOrder::Overlapping | RunOrder::Apart => return Ok(()),
    };
    Err((ErrorClass::InputOutput, format!("the {name} {what}")))
}

/// The ranges of a view, one after the other; neighbours are one.
#[derive(Clone)]
pub(crate) struct Ranges<'a> {
    view: &'a View,
    position: u64,
    end: u64,
    /// Found already.
    next: Option<Range>,
}

impl Ranges<'_> {
    /// The run of the filetype at the present position, which is passed.
    fn run(&mut self) -> Option<Range> {
        let left = self.end.checked_sub(self.position).filter(|&left| left > 0)?;
        let (at, len) = self.view.place(self.position)?;
        let range = Range { at, len: len.min(left), position: self.position };
        self.position += range.len;
        Some(range)
    }
}

impl Iterator for Ranges<'_> {
    type Item = Range;

    fn next(&mut self) -> Option<Range> {
        let mut range = match self.next.take() {
            Some(range) => range,
            None => self.run()?,
        };
        while let Some(next) = self.run() {
            if next.at != range.end() {
                self.next = Some(next);
                break;
            }
            range.len += next.len;
        }
        Some(range)
    }
}
