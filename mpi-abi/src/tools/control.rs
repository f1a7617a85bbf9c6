//! Control variables (MPI-5.0 section 15.3.6): the settings, which are texts, and the values of the tuning table, which
//! are numbers. All are settled when the job begins, so none can be written.

use rwmpi_core::datatype::Basic;
use rwmpi_core::settings::{SETTINGS, Setting};
use rwmpi_core::tuning::{Row, Tuning};

use super::{Checked, give, handle, index_of, offer, offer_text, run};
use crate::argument::{Memory, Out, Text, TextOut, c_int, c_void};
use crate::call::in_turn;
use crate::datatype::handle_of_basic;
use crate::interface::Abi;
use crate::rank::peek;

/// Room for the text of a setting, its end included.
const TEXT: usize = 4096;

/// A variable.
pub(super) enum Variable {
    Setting(&'static Setting),
    Tuning(&'static Row),
}

impl Variable {
    /// The one with that index.
    fn at<A: Abi>(index: c_int) -> Checked<(usize, Variable)> {
        let index = usize::try_from(index).map_err(|_| A::T_ERR_INVALID_INDEX)?;
        let setting = SETTINGS.get(index).map(Variable::Setting);
        let row = || Tuning::ROWS.get(index - SETTINGS.len()).map(Variable::Tuning);
        setting.or_else(row).map(|found| (index, found)).ok_or(A::T_ERR_INVALID_INDEX)
    }

    fn name(&self) -> &'static str {
        match self {
            Variable::Setting(setting) => setting.name,
            Variable::Tuning(row) => row.name,
        }
    }

    fn description(&self) -> String {
        match self {
            Variable::Setting(Setting { values, default, doc, .. }) => format!("{doc}: {values}; {default} if unset"),
            Variable::Tuning(row) => format!("{} ({})", row.doc.trim(), row.unit.name()),
        }
    }
}

/// How many variables there are.
pub(super) fn number() -> usize {
    SETTINGS.len() + Tuning::ROWS.len()
}

/// MPI_T_cvar_get_num (MPI-5.0 section 15.3.6).
pub fn t_cvar_get_num<A: Abi>(number: Out<c_int>) -> c_int {
    give::<A, _>(number, self::number() as c_int)
}

/// MPI_T_cvar_get_info (MPI-5.0 section 15.3.6).
pub fn t_cvar_get_info<A: Abi>(
    index: c_int,
    name: TextOut,
    name_len: Out<c_int>,
    verbosity: Out<c_int>,
    datatype: Out<A::Handle>,
    enumeration: Out<*mut c_void>,
    description: TextOut,
    description_len: Out<c_int>,
    bind: Out<c_int>,
    scope: Out<c_int>,
) -> c_int {
    run::<A>(|| {
        let (_, variable) = Variable::at::<A>(index)?;
        let (level, basic) = match variable {
            Variable::Setting(_) => (A::T_VERBOSITY_USER_BASIC, Basic::Char),
            Variable::Tuning(_) => (A::T_VERBOSITY_TUNER_DETAIL, Basic::UnsignedLongLong),
        };
        offer_text(name, name_len, variable.name());
        offer_text(description, description_len, &variable.description());
        offer(verbosity, level);
        offer(datatype, handle_of_basic::<A>(basic));
        offer(enumeration, std::ptr::null_mut());
        offer(bind, A::T_BIND_NO_OBJECT);
        offer(scope, A::T_SCOPE_READONLY);
        Ok(())
    })
}

/// MPI_T_cvar_get_index (MPI-5.0 section 15.3.6).
pub fn t_cvar_get_index<A: Abi>(name: Text, index: Out<c_int>) -> c_int {
    run::<A>(|| {
        let name = name.get().map_err(|_| A::T_ERR_INVALID_NAME)?;
        let names = SETTINGS.iter().map(|setting| setting.name).chain(Tuning::ROWS.iter().map(|row| row.name));
        let found = names.enumerate().find(|known| known.1 == name).ok_or(A::T_ERR_INVALID_NAME)?;
        index.set(found.0 as c_int).map_err(|_| A::T_ERR_INVALID)
    })
}

/// MPI_T_cvar_handle_alloc (MPI-5.0 section 15.3.6).
pub fn t_cvar_handle_alloc<A: Abi>(index: c_int, _object: Memory, made: Out<*mut c_void>, count: Out<c_int>) -> c_int {
    run::<A>(|| {
        let (index, variable) = Variable::at::<A>(index)?;
        offer(count, if let Variable::Setting(_) = variable { TEXT as c_int } else { 1 });
        made.set(handle(index)).map_err(|_| A::T_ERR_INVALID)
    })
}

/// MPI_T_cvar_handle_free (MPI-5.0 section 15.3.6).
pub fn t_cvar_handle_free<A: Abi>(handle: Out<*mut c_void>) -> c_int {
    run::<A>(|| {
        let freed = handle.get().map_err(|_| A::T_ERR_INVALID_HANDLE)?;
        index_of::<A>(freed, number())?;
        handle.set(std::ptr::null_mut()).map_err(|_| A::T_ERR_INVALID)
    })
}

/// MPI_T_cvar_read (MPI-5.0 section 15.3.6): a setting as a text, empty if it is not set; a value of the tuning table
/// as it is in this job, or, before that has begun, as it is by default.
pub fn t_cvar_read<A: Abi>(handle: *mut c_void, into: Memory) -> c_int {
    run::<A>(|| {
        let index = index_of::<A>(handle, number())?;
        let written = match Variable::at::<A>(index as c_int)?.1 {
            Variable::Setting(setting) => {
                let text = std::env::var_os(setting.name).unwrap_or_default();
                let text = text.as_encoded_bytes();
                into.write(&[&text[..text.len().min(TEXT - 1)], &[0]].concat())
            }
            Variable::Tuning(row) => {
                let of_job = || Some(peek().ok()?.universe.borrow().as_ref()?.tuning().get(row));
                into.write(&(in_turn("MPI_T_cvar_read", of_job).unwrap_or(row.default) as u64).to_ne_bytes())
            }
        };
        written.map_err(|_| A::T_ERR_INVALID)
    })
}

/// MPI_T_cvar_write (MPI-5.0 section 15.3.6): none can be written.
pub fn t_cvar_write<A: Abi>(handle: *mut c_void, _from: Memory) -> c_int {
    run::<A>(|| index_of::<A>(handle, number()).and(Err(A::T_ERR_CVAR_SET_NEVER)))
}
