//! Functions of the program as operations (MPI-5.0 section 6.9.5).
#![allow(unsafe_code)]

use std::sync::Arc;

use crate::Result;
use crate::datatype::{Datatype, pack, unpack};

/// What a program's function is: `inout[i] = in[i] ∘ inout[i]` for so many elements of that datatype, as they lie in
/// memory. An error: it has not come to its end.
pub type UserFunction = dyn Fn(*const u8, *mut u8, u64, &Datatype) -> Result<()> + Send + Sync;

/// Elements that have to be unpacked are given to the function in portions of about so many bytes.
const PORTION: u64 = 64 << 10;

/// A function of the program, as an operation.
#[derive(Clone)]
pub struct UserOperation {
    /// Counted for threads: whoever has the turn of one lane of a rank may drop an operation that another lane has too.
    function: Arc<UserFunction>,
    commutative: bool,
}

impl std::fmt::Debug for UserOperation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("UserOperation").field("commutative", &self.commutative).finish_non_exhaustive()
    }
}

/// Memory in which elements lie as the datatype says.
struct Elements {
    memory: Vec<u128>,
    /// Where the address that displacements count from lies in it; may be outside.
    origin: isize,
}

impl Elements {
    /// Room for `count` elements, of which the bytes from `low` to `high` may be used.
    fn new(low: i64, high: i64) -> Elements {
        // Displacements are aligned as the program wants them, relative to the buffer: so the buffer is aligned.
        let low = low.div_euclid(16) * 16;
        let bytes = (high - low).max(0) as usize;
        Elements { memory: vec![0; bytes.div_ceil(16)], origin: -low as isize }
    }

    fn buffer(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast::<u8>().wrapping_offset(self.origin)
    }
}

/// The bytes that `count` elements reach over.
fn reach(datatype: &Datatype, count: u64) -> (i64, i64) {
    let (low, last) = (datatype.true_lower_bound(), (count as i64 - 1) * datatype.extent());
    (low + last.min(0), low + datatype.true_extent() + last.max(0))
}

impl UserOperation {
    /// An operation of the program's function: associative, and commutative if it says so.
    ///
    /// # Safety
    /// The function must accept pointers to as many elements of the datatype as it is told, and must neither read nor
    /// write anything else through them.
    pub unsafe fn new(
        function: impl Fn(*const u8, *mut u8, u64, &Datatype) -> Result<()> + Send + Sync + 'static,
        commutative: bool,
    ) -> Self {
        UserOperation { function: Arc::new(function), commutative }
    }

    /// Whether the order of operands makes no difference.
    pub fn is_commutative(&self) -> bool {
        self.commutative
    }

    /// Calls the function on elements in memory.
    ///
    /// # Safety
    /// Both must be valid for `count` elements, one for reads and the other for reads and writes, and must not overlap.
    pub(super) unsafe fn call(&self, from: *const u8, inout: *mut u8, count: u64, datatype: &Datatype) -> Result<()> {
        (self.function)(from, inout, count, datatype)
    }

    /// `kept = earlier ∘ kept` of packed elements.
    pub(super) fn prepend(&self, datatype: &Datatype, earlier: &[u8], kept: &mut [u8]) -> Result<()> {
        let size = datatype.size();
        let Some(count) = (kept.len() as u64).checked_div(size).filter(|&count| count > 0) else {
            return Ok(());
        };
        assert_eq!(earlier.len(), kept.len(), "the operands of a reduction have the same length");
        if let Some((offset, _)) = datatype.run(count) {
            let from = earlier.as_ptr().wrapping_offset(-offset as isize);
            let inout = kept.as_mut_ptr().wrapping_offset(-offset as isize);
            return (self.function)(from, inout, count, datatype);
        }
        let portion = (PORTION / datatype.extent().unsigned_abs().max(size)).clamp(1, count);
        let (low, high) = reach(datatype, portion);
        let (mut from, mut inout) = (Elements::new(low, high), Elements::new(low, high));
        let bytes = (portion * size) as usize;
        for (earlier, kept) in earlier.chunks(bytes).zip(kept.chunks_mut(bytes)) {
            let count = kept.len() as u64 / size;
            // SAFETY: there is room for a portion of elements, which are not more than that.
            unsafe {
                unpack(from.buffer(), count, datatype, 0, earlier);
                unpack(inout.buffer(), count, datatype, 0, kept);
                (self.function)(from.buffer(), inout.buffer(), count, datatype)?;
                pack(inout.buffer(), count, datatype, 0, kept);
            }
        }
        Ok(())
    }

    /// `kept = kept ∘ later` of packed elements.
    pub(super) fn append(&self, datatype: &Datatype, kept: &mut [u8], later: &[u8]) -> Result<()> {
        if self.commutative {
            return self.prepend(datatype, later, kept);
        }
        // The function leaves its result in the second operand, which here is not the one to keep.
        let mut result = vec![0u128; later.len().div_ceil(size_of::<u128>())];
        let result = &mut bytemuck::cast_slice_mut(&mut result)[..later.len()];
        result.copy_from_slice(later);
        self.prepend(datatype, kept, result)?;
        kept.copy_from_slice(result);
        Ok(())
    }
}
