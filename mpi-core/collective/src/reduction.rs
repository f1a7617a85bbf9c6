//! What reductions do to bytes.

use rwmpi_transport::{LentSpan, WriteSpan};

use crate::engine::Failure;
use crate::told::Named;

/// An associative operation on runs of elements, given as bytes. Both runs are equally long and, unless empty, aligned
/// for the elements.
pub trait Reduction {
    /// `kept = kept ∘ later`.
    fn append(&self, kept: &mut [u8], later: &[u8]);
    /// `kept = earlier ∘ kept`.
    fn prepend(&self, earlier: &[u8], kept: &mut [u8]);
    /// The same on memory that others may write to meanwhile, if it can be done there.
    fn where_it_lies(&self) -> Option<&dyn WhereItLies> {
        None
    }
    /// Size of an element, bytes.
    fn element(&self) -> usize;
    /// Whether the order of operands makes no difference.
    fn commutes(&self) -> bool {
        false
    }
    /// Which operation it is, if that can be told.
    fn named(&self) -> Option<Named> {
        None
    }
    /// Why elements could not be combined, if some could not.
    fn failure(&self) -> Option<Failure> {
        None
    }
    /// At the end of the collective: whether all contributions could be combined. If the function has panicked, it does
    /// so now, after the other ranks have learned of it.
    #[inline]
    fn outcome(&self) -> Result<(), Failure> {
        Ok(())
    }
}

/// An operation on elements that lie where others may write to them meanwhile: it reads each once.
pub trait WhereItLies {
    /// `kept = earlier ∘ later`, of which either may be the same memory as `kept`, but must not overlap it otherwise.
    fn combine(&self, earlier: LentSpan<'_>, later: LentSpan<'_>, kept: WriteSpan<'_>);
}

impl<R: Reduction + ?Sized> Reduction for &R {
    fn append(&self, kept: &mut [u8], later: &[u8]) {
        (**self).append(kept, later);
    }

    fn prepend(&self, earlier: &[u8], kept: &mut [u8]) {
        (**self).prepend(earlier, kept);
    }

    fn where_it_lies(&self) -> Option<&dyn WhereItLies> {
        (**self).where_it_lies()
    }

    fn named(&self) -> Option<Named> {
        (**self).named()
    }

    fn element(&self) -> usize {
        (**self).element()
    }

    fn commutes(&self) -> bool {
        (**self).commutes()
    }

    fn failure(&self) -> Option<Failure> {
        (**self).failure()
    }
}
