//! Functions that MPICH and Intel MPI have beyond the standard (`MPIX_…`). Those that mean something here do what they
//! say; the others are there so that programs which import them can be loaded, and say that they are not supported.
//!
//! There are no streams of MPICH's here: the null stream stands for the whole process.
#![allow(unsafe_code)]

use std::ffi::CStr;

use rwmpi_abi::argument::{Out, OutArray, c_char, c_int, c_void};
use rwmpi_abi::datatype::query::type_pieces;
use rwmpi_abi::rank::rank;
use rwmpi_abi::{Abi, Constants, Outcome, Subject, conclude, in_turn, settle, unsupported};

use crate::A;
use crate::exported::{MPI_Info_set, MPI_Iprobe, MPI_Request_get_status};

/// MPIX_STREAM_NULL.
const NO_STREAM: c_int = 0x3c00_0000;

/// A function under both names.
macro_rules! both {
    ($($name:ident $p_name:ident($($argument:ident: $type:ty),*) -> $result:ty $body:block)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result $body
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $p_name($($argument: $type),*) -> $result $body
    )* };
}

/// A piece of memory, as MPIX_Iov.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Piece {
    start: *mut c_void,
    len: i64,
}

/// How many whole pieces an element has of which the first ones have at most `most` bytes together, or all of them if
/// that is negative; and how many bytes they have.
fn count_pieces(datatype: c_int, most: i64, number: Out<i64>, bytes: Out<i64>) -> Outcome {
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    let (mut found, mut sum) = (0, 0);
    for (_, len) in type_pieces::<A>(datatype)? {
        if sum + len > most {
            break;
        }
        (found, sum) = (found + 1, sum + len);
    }
    number.set(found)?;
    if bytes.is_null() { Ok(()) } else { bytes.set(sum as i64) }
}

/// The pieces from number `first` on, at most so many, and how many these are.
fn list_pieces(datatype: c_int, first: i64, places: OutArray<Piece>, room: i64, number: Out<i64>) -> Outcome {
    let (first, room) = (usize::try_from(first).unwrap_or(0), usize::try_from(room).unwrap_or(0));
    let all = type_pieces::<A>(datatype)?;
    let mut given = 0;
    for (place, (at, len)) in all.into_iter().skip(first).take(room).enumerate() {
        places.set(place, Piece { start: std::ptr::without_provenance_mut(at as usize), len: len as i64 })?;
        given += 1;
    }
    number.set(given)
}

/// The bytes of a value in hexadecimal digits, with a zero byte.
///
/// # Safety
/// The value has so many bytes.
unsafe fn digits(value: *const u8, size: c_int) -> Vec<u8> {
    let bytes = usize::try_from(size).unwrap_or(0);
    // SAFETY: passed on.
    let text: String = (0..bytes).map(|at| format!("{:02x}", unsafe { value.add(at).read() })).collect();
    [text.into_bytes(), vec![0]].concat()
}

both! {
    MPIX_Type_iov_len PMPIX_Type_iov_len(datatype: c_int, most: i64, number: *mut i64, bytes: *mut i64) -> c_int {
        // SAFETY: the program passes places for the results.
        let (number, bytes) = unsafe { (Out::new(number), Out::new(bytes)) };
        conclude::<A>(in_turn("MPIX_Type_iov_len", || settle::<A>("MPIX_Type_iov_len", count_pieces(datatype, most, number, bytes))))
    }
    MPIX_Type_iov PMPIX_Type_iov(datatype: c_int, first: i64, pieces: *mut Piece, room: i64, number: *mut i64) -> c_int {
        // SAFETY: the program passes room for so many pieces, and a place for their number.
        let (pieces, number) = unsafe { (OutArray::new(pieces), Out::new(number)) };
        conclude::<A>(in_turn("MPIX_Type_iov", || settle::<A>("MPIX_Type_iov", list_pieces(datatype, first, pieces, room, number))))
    }
    MPIX_Request_is_complete PMPIX_Request_is_complete(request: c_int) -> c_int {
        let mut flag = 0;
        let status = <A as Constants>::STATUS_IGNORE as *mut <A as Abi>::Status;
        // SAFETY: the flag has a place, and no status is asked for.
        let code = unsafe { MPI_Request_get_status(request, &raw mut flag, status) };
        c_int::from(code == <A as Constants>::SUCCESS && flag != 0)
    }
    MPIX_Info_set_hex PMPIX_Info_set_hex(info: c_int, key: *const c_char, value: *const c_void, size: c_int) -> c_int {
        if key.is_null() || value.is_null() {
            return <A as Constants>::ERR_ARG;
        }
        // SAFETY: the program passes a value of so many bytes, and a text as key.
        unsafe {
            let mut digits = digits(value.cast(), size);
            MPI_Info_set(info, CStr::from_ptr(key).as_ptr().cast_mut(), digits.as_mut_ptr().cast())
        }
    }
    MPIX_Stream_progress PMPIX_Stream_progress(_stream: c_int) -> c_int {
        let mut flag = 0;
        let status = <A as Constants>::STATUS_IGNORE as *mut <A as Abi>::Status;
        let (source, tag) = (<A as Constants>::ANY_SOURCE, <A as Constants>::ANY_TAG);
        // SAFETY: as in MPIX_Request_is_complete. A look for a message makes progress with all.
        unsafe { MPI_Iprobe(source, tag, A::handle(<A as Constants>::COMM_SELF), &raw mut flag, status) }
    }
    MPIX_Comm_test_threadcomm PMPIX_Comm_test_threadcomm(comm: c_int, flag: *mut c_int) -> c_int {
        // SAFETY: the program passes a place for the answer.
        let flag = unsafe { Out::new(flag) };
        let answer = || rank()?.communicator::<A>(comm).and_then(|_| flag.set(0));
        conclude::<A>(in_turn("MPIX_Comm_test_threadcomm", || settle::<A>("MPIX_Comm_test_threadcomm", answer())))
    }
    MPIX_Comm_get_stream PMPIX_Comm_get_stream(comm: c_int, _index: c_int, stream: *mut c_int) -> c_int {
        // SAFETY: as above.
        let stream = unsafe { Out::new(stream) };
        let answer = || rank()?.communicator::<A>(comm).and_then(|_| stream.set(NO_STREAM));
        conclude::<A>(in_turn("MPIX_Comm_get_stream", || settle::<A>("MPIX_Comm_get_stream", answer())))
    }
    MPIX_Async_get_state PMPIX_Async_get_state(_thing: *mut c_void) -> *mut c_void {
        std::ptr::null_mut()
    }
}

/// Functions that are not supported, whatever they get.
macro_rules! absent {
    ($($name:ident $p_name:ident)*) => { both! { $(
        $name $p_name() -> c_int {
            conclude::<A>(in_turn(stringify!($name), || unsupported::<A>(stringify!($name), Subject::Nothing)))
        }
    )* } };
}

absent! {
    MPIX_Allreduce_enqueue PMPIX_Allreduce_enqueue
    MPIX_Allreduce_enqueue_c PMPIX_Allreduce_enqueue_c
    MPIX_Async_spawn PMPIX_Async_spawn
    MPIX_Async_start PMPIX_Async_start
    MPIX_Comm_create_errhandler_x PMPIX_Comm_create_errhandler_x
    MPIX_File_create_errhandler_x PMPIX_File_create_errhandler_x
    MPIX_Get_notify PMPIX_Get_notify
    MPIX_Get_notify_c PMPIX_Get_notify_c
    MPIX_Grequest_class_allocate PMPIX_Grequest_class_allocate
    MPIX_Grequest_class_create PMPIX_Grequest_class_create
    MPIX_Grequest_start PMPIX_Grequest_start
    MPIX_Irecv_enqueue PMPIX_Irecv_enqueue
    MPIX_Irecv_enqueue_c PMPIX_Irecv_enqueue_c
    MPIX_Isend_enqueue PMPIX_Isend_enqueue
    MPIX_Isend_enqueue_c PMPIX_Isend_enqueue_c
    MPIX_Op_create_x PMPIX_Op_create_x
    MPIX_Put_notify PMPIX_Put_notify
    MPIX_Put_notify_c PMPIX_Put_notify_c
    MPIX_Recv_enqueue PMPIX_Recv_enqueue
    MPIX_Recv_enqueue_c PMPIX_Recv_enqueue_c
    MPIX_Send_enqueue PMPIX_Send_enqueue
    MPIX_Send_enqueue_c PMPIX_Send_enqueue_c
    MPIX_Session_create_errhandler_x PMPIX_Session_create_errhandler_x
    MPIX_Start_progress_thread PMPIX_Start_progress_thread
    MPIX_Stop_progress_thread PMPIX_Stop_progress_thread
    MPIX_Stream_comm_create PMPIX_Stream_comm_create
    MPIX_Stream_comm_create_multiplex PMPIX_Stream_comm_create_multiplex
    MPIX_Stream_create PMPIX_Stream_create
    MPIX_Stream_free PMPIX_Stream_free
    MPIX_Stream_irecv PMPIX_Stream_irecv
    MPIX_Stream_irecv_c PMPIX_Stream_irecv_c
    MPIX_Stream_isend PMPIX_Stream_isend
    MPIX_Stream_isend_c PMPIX_Stream_isend_c
    MPIX_Stream_recv PMPIX_Stream_recv
    MPIX_Stream_recv_c PMPIX_Stream_recv_c
    MPIX_Stream_send PMPIX_Stream_send
    MPIX_Stream_send_c PMPIX_Stream_send_c
    MPIX_Threadcomm_finish PMPIX_Threadcomm_finish
    MPIX_Threadcomm_free PMPIX_Threadcomm_free
    MPIX_Threadcomm_init PMPIX_Threadcomm_init
    MPIX_Threadcomm_start PMPIX_Threadcomm_start
    MPIX_Wait_enqueue PMPIX_Wait_enqueue
    MPIX_Waitall_enqueue PMPIX_Waitall_enqueue
    MPIX_Win_create_errhandler_x PMPIX_Win_create_errhandler_x
    MPIX_Win_create_notify PMPIX_Win_create_notify
    MPIX_Win_free_notify PMPIX_Win_free_notify
    MPIX_Win_get_notify PMPIX_Win_get_notify
    MPIX_Win_get_notify_request PMPIX_Win_get_notify_request
    MPIX_Win_set_notify PMPIX_Win_set_notify
}
