//! `long double` of C on this processor: the 80 bits of the x87, in 16 bytes of memory.
#![allow(unsafe_code)]

use std::cmp::Ordering;

/// The number as it lies in memory; the last six bytes mean nothing.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct Extended(pub(super) [u8; 16]);

#[cfg(target_arch = "x86_64")]
macro_rules! arithmetic {
    ($self:ident, $other:ident, $instruction:literal) => {{
        let mut result = $self;
        // SAFETY: both pointers are to ten bytes and more; what the instructions do to the x87's stack is undone at the
        // end, and the compiler keeps nothing there.
        unsafe {
            std::arch::asm!(
                "fld tbyte ptr [{result}]",
                "fld tbyte ptr [{other}]",
                $instruction,
                "fstp tbyte ptr [{result}]",
                result = in(reg) result.0.as_mut_ptr(),
                other = in(reg) $other.0.as_ptr(),
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        result
    }};
}

#[cfg(target_arch = "x86_64")]
impl Extended {
    pub(super) fn plus(self, other: Self) -> Self {
        arithmetic!(self, other, "faddp st(1), st")
    }

    pub(super) fn minus(self, other: Self) -> Self {
        arithmetic!(self, other, "fsubp st(1), st")
    }

    pub(super) fn times(self, other: Self) -> Self {
        arithmetic!(self, other, "fmulp st(1), st")
    }

    fn less_than(self, other: Self) -> bool {
        let less: u8;
        // SAFETY: as in `arithmetic`. With the other on top, "above" says that it is larger, and that both are numbers.
        unsafe {
            std::arch::asm!(
                "fld tbyte ptr [{this}]",
                "fld tbyte ptr [{other}]",
                "fcomip st, st(1)",
                "fstp st(0)",
                "seta {less}",
                this = in(reg) self.0.as_ptr(),
                other = in(reg) other.0.as_ptr(),
                less = out(reg_byte) less,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack, readonly),
            );
        }
        less != 0
    }

    fn is_number(self) -> bool {
        let exponent = u16::from_le_bytes([self.0[8], self.0[9]]) & 0x7fff;
        let fraction = u64::from_le_bytes([
            self.0[0], self.0[1], self.0[2], self.0[3], self.0[4], self.0[5], self.0[6], self.0[7],
        ]) << 1;
        exponent != 0x7fff || fraction == 0
    }
}

/// Elsewhere `long double` is another type: `supports` refuses it.
#[cfg(not(target_arch = "x86_64"))]
impl Extended {
    pub(super) fn plus(self, _other: Self) -> Self {
        self
    }

    pub(super) fn minus(self, _other: Self) -> Self {
        self
    }

    pub(super) fn times(self, _other: Self) -> Self {
        self
    }

    fn less_than(self, _other: Self) -> bool {
        false
    }

    fn is_number(self) -> bool {
        false
    }
}

impl PartialEq for Extended {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Extended {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if self.less_than(*other) {
            Some(Ordering::Less)
        } else if other.less_than(*self) {
            Some(Ordering::Greater)
        } else {
            (self.is_number() && other.is_number()).then_some(Ordering::Equal)
        }
    }
}
