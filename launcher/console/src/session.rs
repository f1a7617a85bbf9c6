//! The table in the terminal, from the start of a job to its end: draws what `mpiexec` says on standard input, and
//! writes to standard output, a line each, what the user wants: `end`, `quit`, `leave`.
//!
//! The terminal is `/dev/tty`, whatever the standard streams are. It is given back as it was when this ends, also by a
//! panic.

use crate::snapshot::Reader;
use crate::table::{self, View};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{cursor, execute};
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

/// How often is looked whether there is something new.
const LOOK: Duration = Duration::from_millis(100);

/// What the user wants of the launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// End the job.
    End,
    /// Send the ranks SIGQUIT.
    Quit,
    /// Close the table; the job goes on.
    Leave,
}

impl Wish {
    fn word(self) -> &'static str {
        match self {
            Wish::End => "end",
            Wish::Quit => "quit",
            Wish::Leave => "leave",
        }
    }
}

/// The terminal while the table is in it.
struct Screen {
    terminal: Terminal<CrosstermBackend<File>>,
}

impl Screen {
    fn open() -> io::Result<Screen> {
        let mut tty = File::options().read(true).write(true).open("/dev/tty")?;
        enable_raw_mode()?;
        // From here on dropping it gives the terminal back.
        let screen = Screen { terminal: Terminal::new(CrosstermBackend::new(tty.try_clone()?))? };
        execute!(tty, EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // There is nowhere to complain if the terminal is gone.
        let _ = execute!(self.terminal.backend_mut(), LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }
}

/// Shows the job until there is nothing more to be heard of it, or the user has seen enough.
pub fn run(said: impl BufRead + Send + 'static, mut wishes: impl Write) -> io::Result<()> {
    let mut screen = Screen::open()?;
    let lines = lines_of(said);
    let (mut reader, mut view) = (Reader::default(), View::default());
    let mut is_open = true;
    loop {
        while is_open {
            match lines.try_recv() {
                Ok(line) => _ = reader.take(&line),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => is_open = false,
            }
        }
        if !is_open {
            return Ok(());
        }
        screen.terminal.draw(|frame| table::draw(frame, &reader.shown, &view))?;
        if !event::poll(LOOK)? {
            continue;
        }
        let Event::Key(key) = event::read()? else { continue };
        let wish = pressed(key, &mut view);
        if let Some(wish) = wish {
            writeln!(wishes, "{}", wish.word())?;
            wishes.flush()?;
        }
        if wish == Some(Wish::Leave) {
            return Ok(());
        }
    }
}

/// Reads lines in a thread of its own: the keys are to be heard meanwhile.
fn lines_of(said: impl BufRead + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in said.split(b'\n') {
            let Ok(line) = line else { break };
            // What ranks write may hold anything: nothing of it is to steer the terminal.
            let text: String =
                String::from_utf8_lossy(&line).chars().filter(|&c| c == '\t' || !c.is_control()).collect();
            if sender.send(text).is_err() {
                break;
            }
        }
    });
    receiver
}

/// What a key does to the view, and what is wanted by it.
fn pressed(key: KeyEvent, view: &mut View) -> Option<Wish> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let confirmed = std::mem::take(&mut view.confirms);
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('q') => return Some(Wish::End),
        KeyCode::Char('c') if control => return Some(Wish::End),
        KeyCode::Char('d') | KeyCode::Esc => return Some(Wish::Leave),
        // A terminal may take control and \ for control and 4.
        KeyCode::Char('\\' | '4') if control || key.code == KeyCode::Char('\\') => {
            view.confirms = !confirmed;
            return confirmed.then_some(Wish::Quit);
        }
        KeyCode::Char('w') => (view.graph, view.top) = (!view.graph, 0),
        KeyCode::Down => view.top = view.top.saturating_add(1),
        KeyCode::Up => view.top = view.top.saturating_sub(1),
        KeyCode::PageDown => view.top = view.top.saturating_add(10),
        KeyCode::PageUp => view.top = view.top.saturating_sub(10),
        KeyCode::Home => view.top = 0,
        _ => {}
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(code: KeyCode, view: &mut View) -> Option<Wish> {
        pressed(KeyEvent::new(code, KeyModifiers::NONE), view)
    }

    #[test]
    fn keys_do_what_the_last_line_says() {
        let mut view = View::default();
        assert_eq!(press(KeyCode::Char('w'), &mut view), None);
        assert!(view.graph);
        assert_eq!(press(KeyCode::Down, &mut view), None);
        assert_eq!(view.top, 1);
        assert_eq!(press(KeyCode::Char('q'), &mut view), Some(Wish::End));
        assert_eq!(press(KeyCode::Char('d'), &mut view), Some(Wish::Leave));
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(pressed(interrupt, &mut view), Some(Wish::End));
    }

    #[test]
    fn a_signal_that_ends_programs_takes_two_presses() {
        let mut view = View::default();
        assert_eq!(press(KeyCode::Char('\\'), &mut view), None);
        assert!(view.confirms);
        assert_eq!(press(KeyCode::Char('w'), &mut view), None);
        assert!(!view.confirms);
        assert_eq!(press(KeyCode::Char('\\'), &mut view), None);
        assert_eq!(press(KeyCode::Char('\\'), &mut view), Some(Wish::Quit));
        assert!(!view.confirms);
    }

    #[test]
    fn nothing_that_ranks_write_steers_the_terminal() {
        let lines = lines_of(io::Cursor::new(b"output\tred \x1b[31m\x07end\r\n\xff\n".to_vec()));
        assert_eq!(lines.recv().unwrap(), "output\tred [31mend");
        assert_eq!(lines.recv().unwrap(), "\u{fffd}");
        assert!(lines.recv().is_err());
    }
}
