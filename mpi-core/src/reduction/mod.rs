//! Reductions: what is done with elements that meet (MPI-5.0 section 6.9).
//!
//! An [`Operation`] is one of MPI's or a function of the program. [`Operation::on`] binds it to a datatype, which is
//! where it turns out whether the two fit; the result, [`Applied`], works on *packed* elements, so that whoever moves
//! elements about need not know their layout. Functions of the program see elements as they lie in memory: these are
//! unpacked for them if need be.

mod applied;
mod arithmetic;
mod extended;
mod location;
mod predefined;
#[cfg(test)]
mod tests;
mod user;

pub use applied::{Applied, reduce_local};
pub use arithmetic::Arithmetic;
pub use predefined::Predefined;
pub use user::UserOperation;

/// A reduction operation. Clones are the same operation.
#[derive(Clone, Debug)]
pub enum Operation {
    /// One of MPI's.
    Predefined(Predefined),
    /// A function of the program.
    User(UserOperation),
}

impl Operation {
    /// Whether the order of operands makes no difference (MPI-5.0 section 6.9.5).
    pub fn is_commutative(&self) -> bool {
        match self {
            Operation::Predefined(operation) => operation.is_commutative(),
            Operation::User(operation) => operation.is_commutative(),
        }
    }
}
