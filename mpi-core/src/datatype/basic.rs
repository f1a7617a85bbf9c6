//! The predefined datatypes (MPI-5.0 sections 3.2.2, 5.1 and 6.9.4), without the numbers that a C interface gives them.
//!
//! Several of them look alike in memory (`int`, `int32_t`, `INTEGER`) and are still different datatypes: contents,
//! names, sizes in external32 and legal reductions depend on which one it is. [`Basic`] is the datatype, [`Number`]
//! what lies in memory.

/// What an element is for reductions (MPI-5.0 section 6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Integers of C.
    CInteger,
    /// Integers of Fortran.
    FortranInteger,
    /// Floating point numbers of C and Fortran.
    Floating,
    /// Truth values of C, C++ and Fortran.
    Logical,
    /// Complex numbers of C, C++ and Fortran.
    Complex,
    /// Uninterpreted bytes.
    Byte,
    /// Addresses, counts and offsets.
    MultiLanguage,
    /// Characters for printing.
    Character,
    /// A value and an index.
    Pair,
    /// Packed data.
    Packed,
    /// The bound markers of MPI-1, which have no data.
    Marker,
}

/// How an element, or each part of a pair, lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// Nothing at all: the bound markers.
    Nothing,
    /// Signed integer of 8 bits.
    Int8,
    /// Signed integer of 16 bits.
    Int16,
    /// Signed integer of 32 bits.
    Int32,
    /// Signed integer of 64 bits.
    Int64,
    /// Signed integer of 128 bits.
    Int128,
    /// Unsigned integer of 8 bits.
    Uint8,
    /// Unsigned integer of 16 bits.
    Uint16,
    /// Unsigned integer of 32 bits.
    Uint32,
    /// Unsigned integer of 64 bits.
    Uint64,
    /// IEEE binary16.
    Half,
    /// The upper half of a binary32.
    BrainHalf,
    /// IEEE binary32.
    Single,
    /// IEEE binary64.
    Double,
    /// The x87's 80 bits in 16 bytes.
    Extended,
    /// IEEE binary128.
    Quadruple,
    /// Two of binary16.
    ComplexHalf,
    /// Two of binary32.
    ComplexSingle,
    /// Two of binary64.
    ComplexDouble,
    /// Two of the x87's.
    ComplexExtended,
    /// Two of binary128.
    ComplexQuadruple,
}

impl Number {
    /// Bytes in memory.
    pub const fn size(self) -> u64 {
        match self {
            Number::Nothing => 0,
            Number::Int8 | Number::Uint8 => 1,
            Number::Int16 | Number::Uint16 | Number::Half | Number::BrainHalf => 2,
            Number::Int32 | Number::Uint32 | Number::Single | Number::ComplexHalf => 4,
            Number::Int64 | Number::Uint64 | Number::Double | Number::ComplexSingle => 8,
            Number::Int128 | Number::Extended | Number::Quadruple | Number::ComplexDouble => 16,
            Number::ComplexExtended | Number::ComplexQuadruple => 32,
        }
    }

    /// For a complex number, what its two parts are.
    pub const fn part(self) -> Option<Number> {
        match self {
            Number::ComplexHalf => Some(Number::Half),
            Number::ComplexSingle => Some(Number::Single),
            Number::ComplexDouble => Some(Number::Double),
            Number::ComplexExtended => Some(Number::Extended),
            Number::ComplexQuadruple => Some(Number::Quadruple),
            _ => None,
        }
    }

    const fn alignment(self) -> u64 {
        match self.part() {
            Some(part) => part.size(),
            None => self.size(),
        }
    }
}

/// A value with an index, laid out as the C structure of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The value, compared by MINLOC and MAXLOC.
    pub value: Basic,
    /// The index.
    pub index: Basic,
}

impl Pair {
    const fn index_offset(self) -> u64 {
        self.value.size().next_multiple_of(self.index.size())
    }

    const fn extent(self) -> u64 {
        (self.index_offset() + self.index.size()).next_multiple_of(self.alignment())
    }

    const fn alignment(self) -> u64 {
        let (value, index) = (self.value.size(), self.index.size());
        if value > index { value } else { index }
    }
}

macro_rules! basics {
    ($($variant:ident $name:literal $group:ident $number:ident;)*) => {
        /// A predefined datatype. Each variant is the datatype of the like name in MPI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Basic { $($variant,)* }

        impl Basic {
            /// All of them.
            pub const ALL: &'static [Basic] = &[$(Basic::$variant,)*];

            /// Its name in MPI; of several, the first that the standard gives (MPI-5.0 section 3.2.2).
            pub const fn name(self) -> &'static str {
                match self { $(Basic::$variant => $name,)* }
            }

            /// What reductions take it for.
            pub const fn group(self) -> Group {
                match self { $(Basic::$variant => Group::$group,)* }
            }

            /// What an element is in memory; of a pair, what its value is.
            pub const fn number(self) -> Number {
                match self { $(Basic::$variant => Number::$number,)* }
            }
        }
    };
}

basics! {
    Char "MPI_CHAR" Character Int8;
    SignedChar "MPI_SIGNED_CHAR" CInteger Int8;
    UnsignedChar "MPI_UNSIGNED_CHAR" CInteger Uint8;
    Byte "MPI_BYTE" Byte Uint8;
    Wchar "MPI_WCHAR" Character Int32;
    Short "MPI_SHORT" CInteger Int16;
    UnsignedShort "MPI_UNSIGNED_SHORT" CInteger Uint16;
    Int "MPI_INT" CInteger Int32;
    Unsigned "MPI_UNSIGNED" CInteger Uint32;
    Long "MPI_LONG" CInteger Int64;
    UnsignedLong "MPI_UNSIGNED_LONG" CInteger Uint64;
    LongLong "MPI_LONG_LONG_INT" CInteger Int64;
    UnsignedLongLong "MPI_UNSIGNED_LONG_LONG" CInteger Uint64;
    Float "MPI_FLOAT" Floating Single;
    Double "MPI_DOUBLE" Floating Double;
    LongDouble "MPI_LONG_DOUBLE" Floating Extended;
    Int8 "MPI_INT8_T" CInteger Int8;
    Int16 "MPI_INT16_T" CInteger Int16;
    Int32 "MPI_INT32_T" CInteger Int32;
    Int64 "MPI_INT64_T" CInteger Int64;
    Uint8 "MPI_UINT8_T" CInteger Uint8;
    Uint16 "MPI_UINT16_T" CInteger Uint16;
    Uint32 "MPI_UINT32_T" CInteger Uint32;
    Uint64 "MPI_UINT64_T" CInteger Uint64;
    Float16 "MPIX_C_FLOAT16" Floating Half;
    BrainFloat16 "MPIX_BFLOAT16" Floating BrainHalf;
    CBool "MPI_C_BOOL" Logical Uint8;
    CFloatComplex "MPI_C_COMPLEX" Complex ComplexSingle;
    CDoubleComplex "MPI_C_DOUBLE_COMPLEX" Complex ComplexDouble;
    CLongDoubleComplex "MPI_C_LONG_DOUBLE_COMPLEX" Complex ComplexExtended;
    CxxBool "MPI_CXX_BOOL" Logical Uint8;
    CxxFloatComplex "MPI_CXX_FLOAT_COMPLEX" Complex ComplexSingle;
    CxxDoubleComplex "MPI_CXX_DOUBLE_COMPLEX" Complex ComplexDouble;
    CxxLongDoubleComplex "MPI_CXX_LONG_DOUBLE_COMPLEX" Complex ComplexExtended;
    Aint "MPI_AINT" MultiLanguage Int64;
    Count "MPI_COUNT" MultiLanguage Int64;
    Offset "MPI_OFFSET" MultiLanguage Int64;
    Packed "MPI_PACKED" Packed Uint8;
    Character "MPI_CHARACTER" Character Int8;
    Logical "MPI_LOGICAL" Logical Uint32;
    Integer "MPI_INTEGER" FortranInteger Int32;
    Real "MPI_REAL" Floating Single;
    DoublePrecision "MPI_DOUBLE_PRECISION" Floating Double;
    Complex "MPI_COMPLEX" Complex ComplexSingle;
    DoubleComplex "MPI_DOUBLE_COMPLEX" Complex ComplexDouble;
    Logical1 "MPI_LOGICAL1" Logical Uint8;
    Logical2 "MPI_LOGICAL2" Logical Uint16;
    Logical4 "MPI_LOGICAL4" Logical Uint32;
    Logical8 "MPI_LOGICAL8" Logical Uint64;
    Logical16 "MPI_LOGICAL16" Logical Int128;
    Integer1 "MPI_INTEGER1" FortranInteger Int8;
    Integer2 "MPI_INTEGER2" FortranInteger Int16;
    Integer4 "MPI_INTEGER4" FortranInteger Int32;
    Integer8 "MPI_INTEGER8" FortranInteger Int64;
    Integer16 "MPI_INTEGER16" FortranInteger Int128;
    Real2 "MPI_REAL2" Floating Half;
    Real4 "MPI_REAL4" Floating Single;
    Real8 "MPI_REAL8" Floating Double;
    Real16 "MPI_REAL16" Floating Quadruple;
    Complex4 "MPI_COMPLEX4" Complex ComplexHalf;
    Complex8 "MPI_COMPLEX8" Complex ComplexSingle;
    Complex16 "MPI_COMPLEX16" Complex ComplexDouble;
    Complex32 "MPI_COMPLEX32" Complex ComplexQuadruple;
    FloatInt "MPI_FLOAT_INT" Pair Single;
    DoubleInt "MPI_DOUBLE_INT" Pair Double;
    LongInt "MPI_LONG_INT" Pair Int64;
    TwoInt "MPI_2INT" Pair Int32;
    ShortInt "MPI_SHORT_INT" Pair Int16;
    LongDoubleInt "MPI_LONG_DOUBLE_INT" Pair Extended;
    TwoReal "MPI_2REAL" Pair Single;
    TwoDoublePrecision "MPI_2DOUBLE_PRECISION" Pair Double;
    TwoInteger "MPI_2INTEGER" Pair Int32;
    LowerBound "MPI_LB" Marker Nothing;
    UpperBound "MPI_UB" Marker Nothing;
}

impl Basic {
    /// Of a pair, its two parts.
    pub const fn pair(self) -> Option<Pair> {
        let (value, index) = match self {
            Basic::FloatInt => (Basic::Float, Basic::Int),
            Basic::DoubleInt => (Basic::Double, Basic::Int),
            Basic::LongInt => (Basic::Long, Basic::Int),
            Basic::TwoInt => (Basic::Int, Basic::Int),
            Basic::ShortInt => (Basic::Short, Basic::Int),
            Basic::LongDoubleInt => (Basic::LongDouble, Basic::Int),
            Basic::TwoReal => (Basic::Real, Basic::Real),
            Basic::TwoDoublePrecision => (Basic::DoublePrecision, Basic::DoublePrecision),
            Basic::TwoInteger => (Basic::Integer, Basic::Integer),
            _ => return None,
        };
        Some(Pair { value, index })
    }

    /// Bytes of data, without the padding of pairs.
    pub const fn size(self) -> u64 {
        match self.pair() {
            Some(pair) => pair.value.number().size() + pair.index.number().size(),
            None => self.number().size(),
        }
    }

    /// Bytes from one element of an array to the next.
    pub const fn extent(self) -> u64 {
        match self.pair() {
            Some(pair) => pair.extent(),
            None => self.number().size(),
        }
    }

    /// The alignment that C asks for.
    pub const fn alignment(self) -> u64 {
        match self.pair() {
            Some(pair) => pair.alignment(),
            None => self.number().alignment(),
        }
    }

    /// Where a pair's index begins.
    pub(super) const fn index_offset(self) -> Option<u64> {
        match self.pair() {
            Some(pair) => Some(pair.index_offset()),
            None => None,
        }
    }

    /// Bytes in external32 (MPI-5.0 section 14.5.2); of a pair, both parts'.
    pub const fn external_size(self) -> u64 {
        match self {
            // The representation dates from machines of 32 bits.
            Basic::Long | Basic::UnsignedLong => 4,
            Basic::Wchar => 2,
            _ => match self.pair() {
                Some(pair) => pair.value.external_size() + pair.index.external_size(),
                None => self.size(),
            },
        }
    }
}
