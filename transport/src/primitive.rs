//! Atomics and cells that become loom's under `cfg(loom)`.
//!
//! Only the algorithms that are model-checked (the ring, the sleep/wake handshake) use this module. What is laid over mapped
//! memory elsewhere uses the standard atomics: loom's cannot be laid over a mapping.

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// `std`'s cell with the closure interface of loom's, so that one source serves both.
#[cfg(not(loom))]
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    /// Reads through a raw pointer.
    #[inline(always)]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Writes through a raw pointer.
    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

#[cfg(all(not(loom), test))]
impl<T> UnsafeCell<T> {
    /// For rings that tests build in ordinary memory.
    pub(crate) fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }
}
