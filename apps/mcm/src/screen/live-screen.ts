/** The parts of a terminal that the live screen uses. */
export interface Terminal {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

const control = (sequence: string): string => `\u001b[${sequence}`;
const HOME = control('H');
const CLEAR_LINE = control('2K');
const CLEAR_BELOW = control('J');
/** No cursor, no wrapping of long lines, and no scroll keys for the mouse wheel. */
const MODES = ['?25l', '?7l', '?1007l'].map(control).join('');
const ENTER = `${control('?1049h')}${MODES}`;
const LEAVE = ['?1007h', '?7h', '?25h', '?1049l'].map(control).join('');
/** A terminal that supports synchronized output shows a frame only when the frame is complete. */
const BEGIN_FRAME = control('?2026h');
const END_FRAME = control('?2026l');

/**
 * Draws frames on the alternate screen of a terminal. Each frame replaces the whole screen, because a resized terminal
 * wraps and moves the lines of the previous frame.
 */
export class LiveScreen {
  readonly #terminal: Terminal;
  #shown: string | undefined;
  #suspended = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    terminal.write(ENTER);
  }

  /** The size of the terminal. Some terminals report no size, or a size of zero. */
  get size(): { readonly columns: number; readonly rows: number } {
    return { columns: this.#terminal.columns || 80, rows: this.#terminal.rows || 24 };
  }

  /** Draws a frame. An unchanged frame writes nothing. */
  draw(frame: string): void {
    if (this.#suspended || frame === this.#shown) return;
    this.#shown = frame;
    // After a line that is as wide as the terminal, the cursor is on its last character. Each line is cleared first, so
    // that the last character stays.
    const lines = frame.split('\n').map((line) => `${CLEAR_LINE}${line}\r\n`);
    this.#terminal.write(`${BEGIN_FRAME}${HOME}${lines.join('')}${CLEAR_BELOW}${END_FRAME}`);
  }

  /** The terminal has a new size, so the next frame is drawn also if its text is unchanged. */
  resized(): void {
    this.#shown = undefined;
  }

  /** Restores the terminal for the shell. Until `resume`, the screen draws nothing. */
  suspend(): void {
    if (this.#suspended) return;
    this.#suspended = true;
    this.#terminal.write(LEAVE);
  }

  /** Uses the terminal again. The next frame is drawn even if its text is unchanged. */
  resume(): void {
    // On the alternate screen, the sequence for the alternate screen would replace the stored position of the cursor.
    this.#terminal.write(this.#suspended ? ENTER : MODES);
    this.#suspended = false;
    this.#shown = undefined;
  }

  /** Restores the terminal. The last frame, if any, stays below the earlier output of the terminal. */
  close(frame?: string): void {
    const leave = this.#suspended ? '' : LEAVE;
    this.#terminal.write(frame === undefined ? leave : `${leave}${frame}\n`);
  }
}
