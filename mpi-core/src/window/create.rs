//! How windows are made (MPI-5.0 section 12.2): every rank tells all others where its memory lies, and where its words.
//!
//! A rank that has no memory to tell of says that, too, so that all come out with an error.
#![allow(unsafe_code)]

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rwmpi_protocol::window::{Epochs, Pairs};
use rwmpi_transport::{ReadSpan, RemoteAddress, WriteSpan};

use super::control::{self, Control};
use super::dynamic::Attached;
use super::elsewhere::Elsewhere;
use super::survival::Survival;
use super::target::{Memory, Target};
use super::{Flavour, Shared, Window};
use crate::Buffer;
use crate::activity::Call;
use crate::attribute::Attributes;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorClass};
use crate::untyped::window_memory;
use crate::{Info, Result};

/// The keys that windows know, with their values unless others are given (MPI-5.0 section 12.2.1).
pub(super) const INFO: &[(&str, &str)] = &[
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("mpi_accumulate_granularity", "0"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
    ("alloc_shared_noncontig", "false"),
    ("mpi_minimum_memory_alignment", "64"),
    ("mpi_assert_memory_alloc_kinds", ""),
];

/// What is wrong with memory that others can't reach.
pub(super) const OUT_OF_REACH_OF_OTHERS: &str = "is not shared with other ranks, and the kernel refuses to copy to and from it \
    (process_vm_writev: kernel.yama.ptrace_scope, or the container's seccomp filter). Memory of MPI_Win_allocate and MPI_Alloc_mem \
    is shared";

/// What blocks of the shared heap are aligned to.
const ALIGNMENT: usize = 64;

/// What a rank tells the others, as words.
#[derive(Clone, Copy, Default)]
struct Told {
    /// [`WELL`], or what is wrong with its memory.
    state: u64,
    size: u64,
    unit: u64,
    memory: [u64; 3],
    words: [u64; 3],
}

const TOLD: usize = 9;

/// It has its memory.
const WELL: u64 = 0;
/// It has none for the window.
const NO_MEMORY: u64 = 1;
/// Others can't reach it.
const OUT_OF_REACH: u64 = 2;

impl Told {
    fn words(self) -> [u64; TOLD] {
        let ([a, b, c], [d, e, f]) = (self.memory, self.words);
        [self.state, self.size, self.unit, a, b, c, d, e, f]
    }

    fn of([state, size, unit, a, b, c, d, e, f]: [u64; TOLD]) -> Self {
        Told { state, size, unit, memory: [a, b, c], words: [d, e, f] }
    }
}

fn told(RemoteAddress { space, place, len }: RemoteAddress) -> [u64; 3] {
    [space, place, len]
}

fn address([space, place, len]: [u64; 3]) -> RemoteAddress {
    RemoteAddress { space, place, len }
}

/// What this rank brings along.
struct Brought {
    flavour: Flavour,
    base: usize,
    size: u64,
    unit: i64,
    /// Where its memory lies, if it is this rank's own.
    span: ReadSpan<'static>,
    memory: Option<Buffer<u8>>,
    is_well: bool,
}

impl Communicator {
    /// A window of the program's own memory (MPI_Win_create). Collective.
    ///
    /// # Errors
    /// This is an intercommunicator; its ranks have no memory in common, or can't reach each other's; there is no
    /// memory left.
    ///
    /// # Safety
    /// As of [`Elements::new`](crate::untyped::Elements::new), for all of the memory, until the window is freed.
    pub unsafe fn create_window(&self, base: *mut u8, size: u64, unit: i64, info: &Info) -> Result<Window> {
        // SAFETY: the caller's.
        let span = unsafe { window_memory(base, size) };
        let brought = Brought {
            flavour: Flavour::Create,
            base: base.addr(),
            size,
            unit,
            span: span.as_read(),
            memory: None,
            is_well: true,
        };
        self.make_window(brought, info)
    }

    /// A window of memory that the library allocates (MPI_Win_allocate). Collective.
    ///
    /// # Errors
    /// As [`Communicator::create_window`].
    pub fn allocate_window(&self, size: u64, unit: i64, info: &Info) -> Result<Window> {
        let brought = self.allocated(Flavour::Allocate, size, unit, info);
        self.make_window(brought, info)
    }

    /// As [`Communicator::allocate_window`], of zeros, and in the contexts of this communicator, which has to be the
    /// caller's alone: so that one exchange is enough. Collective.
    ///
    /// # Errors
    /// As [`Communicator::create_window`].
    #[doc(hidden)]
    pub fn allocate_private_window(&self, size: u64, unit: i64, info: &Info) -> Result<Window> {
        let mut brought = self.allocated(Flavour::Allocate, size, unit, info);
        if let Some(memory) = &mut brought.memory {
            memory.fill(0);
        }
        self.check_intra()?;
        self.make_together(|| self.make_window_in(self.clone(), brought, info, |_, _| Ok(())))
    }

    /// A window without memory, until some is [attached](Window::attach) (MPI_Win_create_dynamic). Collective.
    ///
    /// # Errors
    /// As [`Communicator::create_window`].
    pub fn create_dynamic_window(&self, info: &Info) -> Result<Window> {
        let brought = Brought {
            flavour: Flavour::Dynamic,
            base: 0,
            size: 0,
            unit: 1,
            span: ReadSpan::EMPTY,
            memory: None,
            is_well: true,
        };
        self.make_window(brought, info)
    }

    /// A window of memory that all ranks see, by rank one behind the other unless they say that it need not be
    /// (MPI_Win_allocate_shared). Collective.
    ///
    /// # Errors
    /// As [`Communicator::create_window`].
    pub fn allocate_shared_window(&self, size: u64, unit: i64, info: &Info) -> Result<Window> {
        let is_apart = info.get("alloc_shared_noncontig")? == Some("true");
        self.check_intra()?;
        self.check_shared()?;
        self.make_together(|| self.make_shared_window(size, unit, info, is_apart))
    }

    fn make_shared_window(&self, size: u64, unit: i64, info: &Info, is_apart: bool) -> Result<Window> {
        let mut apart = [u8::from(is_apart)];
        // All follow the first.
        self.as_part_of(Call::CreateWindow, |all| all.bcast(&mut apart, 0))?;
        if apart[0] == 1 {
            let brought = self.allocated(Flavour::Shared, size, unit, info);
            return self.make_window_in(self.twin_for_window()?, brought, info, |_, _| Ok(()));
        }
        let mut sizes = vec![0_u64; self.size()];
        self.as_part_of(Call::CreateWindow, |all| all.allgather(&[size], &mut sizes))?;
        let total = sizes.iter().try_fold(0_u64, |sum, &size| sum.checked_add(size)).unwrap_or(u64::MAX);
        // The first has all of it.
        let mut brought = self.allocated(Flavour::Shared, if self.rank() == 0 { total } else { 0 }, unit, info);
        brought.size = size;
        self.make_window_in(self.twin_for_window()?, brought, info, |told, rank| {
            let start: u64 = sizes[..rank].iter().sum();
            let [space, place, len] = told[0].memory;
            if total > 0 && start + sizes[rank] > len {
                return Err(Error::new(ErrorClass::NoMemory, format!("there is no memory for {total} bytes")));
            }
            told[rank].memory = [space, place + start, sizes[rank]];
            Ok(())
        })
    }

    /// Memory of the shared heap for a window.
    fn allocated(&self, flavour: Flavour, size: u64, unit: i64, info: &Info) -> Brought {
        let wanted = info.get("mpi_minimum_memory_alignment").ok().flatten().and_then(|text| text.parse().ok());
        let alignment = wanted.filter(|wanted: &usize| wanted.is_power_of_two()).unwrap_or(1).max(ALIGNMENT);
        let bytes = usize::try_from(size).ok().filter(|&bytes| Layout::array::<u8>(bytes).is_ok());
        let room = bytes.and_then(|bytes| bytes.checked_add(alignment - ALIGNMENT));
        let heap = self.process().engine().heap().clone();
        let memory = room.and_then(|room| Buffer::<u8>::shared(&heap, room));
        let is_well = room == Some(0) || memory.is_some();
        let start = memory.as_ref().filter(|_| is_well).map_or(std::ptr::null(), |memory| memory.as_ptr());
        let start = start.wrapping_add(if start.is_null() { 0 } else { start.align_offset(alignment) });
        let span = match &memory {
            Some(memory) if is_well => {
                let skipped = start.addr() - memory.as_ptr().addr();
                crate::untyped::lasting(ReadSpan::from(&memory[skipped..][..bytes.unwrap_or(0)]))
            }
            _ => ReadSpan::EMPTY,
        };
        let base = if size == 0 { 0 } else { start.addr() };
        Brought { flavour, base, size, unit, span, memory, is_well }
    }

    /// Whether the ranks can have a window of shared memory: the same at all of them.
    fn check_shared(&self) -> Result<()> {
        let engine = self.process().engine();
        let elsewhere = self.group().peers().iter().position(|&peer| !engine.shares_memory_with(peer));
        drop(engine);
        let Some(rank) = elsewhere else { return Ok(()) };
        let what = format!(
            "rank {rank} has no memory in common with this one. Make such windows of communicators within a node \
             (MPI_Comm_split_type with MPI_COMM_TYPE_SHARED)"
        );
        Err(Error::argument(ErrorClass::RmaShared, self, Call::CreateWindow, what))
    }

    /// Whether all ranks have memory for a window: the same at all of them.
    fn check_told(&self, heard: &[Told]) -> Result<()> {
        let first = |is_wrong: fn(&Told) -> bool| heard.iter().position(is_wrong);
        let (class, what) = if let Some(rank) = first(|told| told.state == NO_MEMORY) {
            (ErrorClass::NoMemory, format!("rank {rank} has no memory left for its part of the window"))
        } else if let Some(rank) = first(|told| told.state != WELL) {
            (ErrorClass::RmaShared, format!("the memory of rank {rank} {OUT_OF_REACH_OF_OTHERS}"))
        } else {
            return Ok(());
        };
        Err(Error::argument(class, self, Call::CreateWindow, what))
    }

    /// What this rank uses of another, or of itself; `None` if that can't be mapped here.
    fn window_rank(&self, rank: usize, told: &Told) -> Option<(Target, Option<Control>)> {
        let (process, peer) = (self.process(), self.group().peers()[rank]);
        let unit = told.unit.cast_signed();
        let mut target =
            Target { peer, size: told.size, unit, memory: None, mapped: WriteSpan::EMPTY, word_lock: None };
        let has_short_ways = !process.keeps_going();
        if !process.engine().shares_memory_with(peer) {
            return Some((target, None));
        }
        let memory = Memory::new(process, peer, address(told.memory))?;
        target.word_lock = Some(memory.lock().clone()).filter(|lock| has_short_ways && !lock.is_for_all());
        target.memory = Some(Rc::new(memory));
        if has_short_ways {
            target.mapped = target.direct();
        }
        let control = Control::new(&mut process.engine(), peer, &address(told.words), self.size())?;
        Some((target, Some(control)))
    }

    #[cold]
    fn no_room_to_map(&self) -> Error {
        let what = "this process has no room to map the others' memory".to_owned();
        Error::argument(ErrorClass::NoMemory, self, Call::CreateWindow, what)
    }

    /// A window where each rank brings its memory.
    fn make_window(&self, brought: Brought, info: &Info) -> Result<Window> {
        self.check_intra()?;
        self.make_together(|| self.make_window_in(self.twin_for_window()?, brought, info, |_, _| Ok(())))
    }

    /// The communicator of a new window.
    fn twin_for_window(&self) -> Result<Communicator> {
        self.begin(Call::CreateWindow, 0);
        self.private_twin()
    }

    /// Tells the others, and makes the window of what they have told, in the contexts of `communicator`, which is to be
    /// the window's. `arrange` may change where the memory of a rank lies.
    fn make_window_in(
        &self,
        communicator: Communicator,
        brought: Brought,
        info: &Info,
        mut arrange: impl FnMut(&mut [Told], usize) -> Result<()>,
    ) -> Result<Window> {
        let (process, ranks, rank) = (communicator.process().clone(), communicator.size(), communicator.rank());
        let heap = process.engine().heap().clone();
        let words = Buffer::<u64>::shared_zeros(&heap, control::words(ranks));
        let mine = {
            let mut engine = process.engine();
            let bytes = ReadSpan::from(words.as_deref().map_or(&[][..], bytemuck::cast_slice::<u64, u8>));
            let state = match words {
                Some(_) if !brought.is_well => NO_MEMORY,
                Some(_) if !engine.is_reachable(communicator.group().peers(), brought.span) => OUT_OF_REACH,
                Some(_) => WELL,
                None => NO_MEMORY,
            };
            Told {
                state,
                size: brought.size,
                unit: brought.unit.cast_unsigned(),
                memory: told(engine.address_of(brought.span)),
                words: told(engine.address_of(bytes)),
            }
        };
        let mut heard = vec![[0; TOLD]; ranks];
        communicator.allgather::<u64>(&mine.words(), bytemuck::cast_slice_mut(&mut heard))?;
        let mut heard: Vec<Told> = heard.into_iter().map(Told::of).collect();
        self.check_told(&heard)?;
        // The first one's memory may be everybody's: it comes last.
        (0..ranks).rev().try_for_each(|rank| arrange(&mut heard, rank))?;
        let (mut targets, mut controls) = (Vec::with_capacity(ranks), Vec::with_capacity(ranks));
        for (rank, told) in heard.iter().enumerate() {
            let (target, control) = communicator.window_rank(rank, told).ok_or_else(|| self.no_room_to_map())?;
            targets.push(target);
            controls.push(control);
        }
        let elsewhere = targets.iter().any(|target| target.memory.is_none()).then(|| Box::new(Elsewhere::new(ranks)));
        let survival = process.keeps_going().then(|| Box::new(Survival::new(ranks)));
        let base = match targets[rank].memory.as_ref().and_then(|memory| memory.direct()) {
            Some(span) if brought.flavour == Flavour::Shared && brought.size > 0 => span.start().addr(),
            _ => brought.base,
        };
        let window = Window {
            shared: Rc::new(Shared {
                flavour: brought.flavour,
                base,
                targets: targets.into(),
                controls: controls.into(),
                is_plain: elsewhere.is_none() && survival.is_none(),
                elsewhere,
                survival,
                epochs: Epochs::new(ranks).into(),
                pairs: Pairs::new(ranks).into(),
                started: RefCell::default(),
                posted: RefCell::default(),
                held: vec![Cell::default(); ranks].into(),
                is_oversubscribed: process.engine().is_oversubscribed(),
                overtaking: Cell::new(None),
                own_peer: communicator.group().peers()[rank],
                attached: RefCell::new(Attached::new(ranks)),
                attributes: Attributes::default(),
                name: RefCell::default(),
                info: RefCell::default(),
                mark: Cell::new(0),
                _words: words.ok_or_else(|| self.no_room_to_map())?,
                _memory: brought.memory,
                communicator,
            }),
        };
        window.count_own();
        window.begin_to_serve();
        process.has_window();
        window.set_info(info)?;
        Ok(window)
    }
}
