//! Spawning (MPI-5.0 sections 11.8.2 and 11.8.3). What is to be started matters at the root only.

use rwmpi_core::{Command, Error, ErrorClass, RanksStarted, Result};

use crate::argument::{Array, Out, OutArray, Text, TextList, TextTable, c_int};
use crate::entry::CommunicatorEntry;
use crate::error::{Outcome, code_of};
use crate::info::hints;
use crate::interface::Abi;
use crate::number::count;
use crate::rank::{Rank, rank};

/// Where the results of a call go.
struct Results<A: Abi> {
    made: Out<A::Handle>,
    codes: OutArray<c_int>,
}

/// Spawns what `commands` says at the root, and gives each rank's error code.
fn spawn<A: Abi>(
    rank: &Rank,
    over: &CommunicatorEntry,
    root: c_int,
    commands: impl FnOnce() -> Result<Vec<Command>>,
    Results { made, codes }: Results<A>,
) -> Outcome {
    let no_root = || Error::new(ErrorClass::Root, format!("root {root} is out of range"));
    let root = usize::try_from(root).map_err(|_| no_root())?;
    let commands = if over.core.rank() == root { commands() } else { Ok(Vec::new()) };
    let mut ranks = Vec::new();
    let spawned = match &*rank.universe.borrow() {
        Some(universe) => universe.spawn(&over.core, root, commands, &mut ranks),
        None => Err(Error::new(ErrorClass::Other, "called after MPI_Finalize")),
    };
    if !codes.is_null() {
        let failed = code_of::<A>(ErrorClass::Spawn);
        let of_command = |RanksStarted { asked, started }: RanksStarted| {
            (0..asked).map(move |place| if place < started { A::SUCCESS } else { failed })
        };
        let all = ranks.into_iter().flat_map(of_command).enumerate();
        all.into_iter().try_for_each(|(index, code)| codes.set(index, code))?;
    }
    made.set(rank.add_communicator::<A>(spawned?, over)?)
}

fn command<A: Abi>(program: String, arguments: TextList, ranks: c_int, info: A::Handle) -> Result<Command> {
    let ranks = count("the number of ranks to spawn", ranks)?;
    Ok(Command::new(program).arguments(arguments.until_null()?).ranks(ranks).hints(hints::<A>(info)?))
}

/// MPI_Comm_spawn (MPI-5.0 section 11.8.2).
pub fn comm_spawn<A: Abi>(
    program: Text,
    arguments: TextList,
    ranks: c_int,
    info: A::Handle,
    root: c_int,
    communicator: A::Handle,
    made: Out<A::Handle>,
    codes: OutArray<c_int>,
) -> Outcome {
    let rank = rank()?;
    let over = rank.parent::<A>(communicator, made)?;
    let commands = || Ok(vec![command::<A>(program.get()?, arguments, ranks, info)?]);
    spawn::<A>(rank, &over, root, commands, Results { made, codes })
}

/// MPI_Comm_spawn_multiple (MPI-5.0 section 11.8.3).
#[allow(clippy::too_many_arguments)]
pub fn comm_spawn_multiple<A: Abi>(
    number: c_int,
    programs: TextList,
    arguments: TextTable,
    ranks: Array<c_int>,
    infos: Array<A::Handle>,
    root: c_int,
    communicator: A::Handle,
    made: Out<A::Handle>,
    codes: OutArray<c_int>,
) -> Outcome {
    let rank = rank()?;
    let over = rank.parent::<A>(communicator, made)?;
    let commands = || {
        let number = count("the number of commands", number)?;
        let (programs, ranks, infos) = (programs.counted(number)?, ranks.slice(number)?, infos.slice(number)?);
        let each = programs.into_iter().enumerate();
        each.map(|(place, program)| command::<A>(program, arguments.row(place), ranks[place], infos[place])).collect()
    };
    spawn::<A>(rank, &over, root, commands, Results { made, codes })
}
