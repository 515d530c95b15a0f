export interface Terminal {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

const control = (sequence: string): string => `\u001b[${sequence}`;
const HOME = control('H');
const CLEAR_LINE = control('2K');
const CLEAR_BELOW = control('J');
const MODES = ['?25l', '?7l', '?1007l'].map(control).join('');
const ENTER = `${control('?1049h')}${MODES}`;
const LEAVE = ['?1007h', '?7h', '?25h', '?1049l'].map(control).join('');
/** The start of a frame. A terminal with synchronized output shows a frame only when the frame is complete. */
const BEGIN_FRAME = control('?2026h');
const END_FRAME = control('?2026l');

/**
 * Draws frames on the alternate screen of a terminal. A resized terminal wraps and moves the lines of the previous
 * frame, so each frame replaces the whole screen.
 */
export class LiveScreen {
  readonly #terminal: Terminal;
  #shown: string | undefined;
  #suspended = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    terminal.write(ENTER);
  }

  /** The size of the terminal. Some terminals report no size, or the size zero. */
  get size(): { readonly columns: number; readonly rows: number } {
    return { columns: this.#terminal.columns || 80, rows: this.#terminal.rows || 24 };
  }

  /** Draws a frame. If the frame equals the previous frame, nothing is written. */
  draw(frame: string): void {
    if (this.#suspended || frame === this.#shown) return;
    this.#shown = frame;
    // Each line is cleared before it is written. After a line as wide as the terminal, the cursor is still on the last
    // character, so a later clear would remove this character.
    const lines = frame.split('\n').map((line) => `${CLEAR_LINE}${line}\r\n`);
    this.#terminal.write(`${BEGIN_FRAME}${HOME}${lines.join('')}${CLEAR_BELOW}${END_FRAME}`);
  }

  /** Must be called after a change of the terminal size. The next frame is then drawn even if its text is unchanged. */
  resized(): void {
    this.#shown = undefined;
  }

  suspend(): void {
    if (this.#suspended) return;
    this.#suspended = true;
    this.#terminal.write(LEAVE);
  }

  resume(): void {
    // If the terminal already shows the alternate screen, `ENTER` would overwrite the cursor position that the terminal
    // restores at the end.
    this.#terminal.write(this.#suspended ? ENTER : MODES);
    this.#suspended = false;
    this.#shown = undefined;
  }

  close(frame?: string): void {
    const leave = this.#suspended ? '' : LEAVE;
    this.#terminal.write(frame === undefined ? leave : `${leave}${frame}\n`);
  }
}
