//! Keyvals of attributes (MPI-5.0 section 7.7), as their handles find them.

use rwmpi_core::window::Window;
use rwmpi_core::{Communicator, Keyval, WeakKeyval};

use crate::interface::Abi;

/// A datatype, as its attributes' functions know it: the code of its handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coded(pub(crate) u32);

/// A keyval of objects of the type `O`, as its handle finds it.
pub(crate) enum Held<O> {
    /// The program has it.
    InUse(Keyval<O>),
    /// The program has freed it: its handle goes on naming the attributes that are left.
    Freed(WeakKeyval<O>),
}

impl<O> Clone for Held<O> {
    fn clone(&self) -> Self {
        match self {
            Held::InUse(keyval) => Held::InUse(keyval.clone()),
            Held::Freed(keyval) => Held::Freed(keyval.clone()),
        }
    }
}

/// A keyval of any kind.
#[derive(Clone)]
pub(crate) enum AnyKeyval {
    /// For communicators.
    Communicator(Held<Communicator>),
    /// For datatypes.
    Datatype(Held<Coded>),
    /// For windows.
    Window(Held<Window>),
}

/// What has attributes.
pub(crate) trait Attributed: Sized + 'static {
    /// The code of its handle.
    fn code<A: Abi>(&self) -> u32;
    /// A keyval for it, among others.
    fn any(held: Held<Self>) -> AnyKeyval;
    /// The keyval, if it is for such objects.
    fn held(keyval: AnyKeyval) -> Option<Held<Self>>;
}

macro_rules! attributed {
    ($object:ty, $kind:ident, $abi:ident, $code:expr) => {
        impl Attributed for $object {
            fn code<$abi: Abi>(&self) -> u32 {
                let code: fn(&Self) -> u32 = $code;
                code(self)
            }
            fn any(held: Held<Self>) -> AnyKeyval {
                AnyKeyval::$kind(held)
            }
            fn held(keyval: AnyKeyval) -> Option<Held<Self>> {
                if let AnyKeyval::$kind(held) = keyval { Some(held) } else { None }
            }
        }
    };
}

attributed!(Communicator, Communicator, A, |communicator| match communicator.mark() {
    // A duplicate has no handle yet while attributes are copied to it.
    0 => A::COMM_NULL,
    code => code as u32,
});
attributed!(Coded, Datatype, A, |datatype| datatype.0);
attributed!(Window, Window, A, |window| window.mark() as u32);
