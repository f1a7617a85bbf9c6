//! ADIOS, as Debian compiled it for MPICH, and examples of its own that write and read a file. Left out: its tool
//! `bp2bp`, which copies none of these files, with MPICH 5.0 neither: it reads the names of dimensions wrongly.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::cache::{Cache, output};
use super::one_sided::machine_folder;

/// So many values each rank writes: three blocks of a hundred.
const VALUES: usize = 300;

/// One program writes an array with so many ranks, and another reads it with as many.
pub fn adios(cache: &Cache, ranks: usize) -> Result<()> {
    let folder = cache.scratch("adios")?;
    output(cache.mpiexec(ranks).arg(compile(cache, "no_xml_write_byid")?).current_dir(&folder))?;
    let text = output(cache.mpiexec(ranks).arg(compile(cache, "read_no_xml_write_byid")?).current_dir(&folder))?;
    // Each line has the number of its first value, and ten of them, which are their numbers.
    let mut seen = vec![false; ranks * VALUES];
    for line in text.lines().filter_map(|line| line.strip_prefix('[')) {
        let (first, values) = line.split_once(']').context("a line has its number")?;
        let first: usize = first.parse()?;
        for (number, value) in (first..).zip(values.split_whitespace()) {
            ensure!(value.parse() == Ok(number), "the value {number} was read as {value}");
            *seen.get_mut(number).context("there are more values than were written")? = true;
        }
    }
    ensure!(seen.iter().all(|is_seen| *is_seen), "not all values were read:\n{text}");
    // Blocks by collective writes of fewer ranks than have them.
    output(cache.mpiexec(4).arg(compile(cache, "adios_global_aggregate_by_color")?).current_dir(&folder)).map(drop)
}

/// One of its examples.
fn compile(cache: &Cache, name: &str) -> Result<PathBuf> {
    let headers = cache.debian("libadios-dev")?.join("usr/include");
    let library = machine_folder(&cache.debian("libadios-mpich-dev")?).join("adios/mpich/libadios.a");
    let examples = cache.debian("libadios-examples")?.join("usr/share/doc/libadios-examples/examples/C/global-array");
    let folder = cache.scratch("adios")?;
    // Where its source has them.
    let public = folder.join("public");
    if !public.exists() {
        symlink(&headers, &public)?;
    }
    let program = folder.join(name);
    let _ = fs::remove_file(&program);
    let mut compiler = Command::new(cache.wrapper("mpicc"));
    compiler.args(["-abi=mpich", "-w", "-O1", "-no-pie"]).arg(examples.join(name).with_extension("c"));
    compiler.arg("-I").arg(&headers).arg("-I").arg(&folder).arg("-o").arg(&program).arg(library);
    // What it would need for file formats of others, none of which is used.
    output(compiler.args(["-Wl,--unresolved-symbols=ignore-all", "-lm", "-lpthread"]))?;
    Ok(program)
}
