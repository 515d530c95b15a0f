import { expect, test } from 'vitest';
import { LiveScreen } from './live-screen.ts';

class FakeTerminal {
  columns = 20;
  rows = 6;
  readonly modes = new Set(['?7', '?25', '?1007']);
  readonly normal = ['$ mcm up'];
  #cells: string[][] = [];
  #row = 0;
  #column = 0;

  write(text: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of a terminal start with ESC
    for (const [part, mode, letter] of text.matchAll(/\u001b\[(\??\d+)?([A-Za-z])|[\s\S]/g)) {
      if (letter === 'h') this.modes.add(mode ?? '');
      else if (letter === 'l') this.modes.delete(mode ?? '');
      else if (!this.modes.has('?1049')) this.#print(part);
      else if (letter === 'H') [this.#row, this.#column] = [0, 0];
      else if (letter === 'K') this.#line().length = mode === '2' ? 0 : this.#column;
      else if (letter === 'J') {
        this.#line().length = this.#column;
        this.#cells.length = this.#row + 1;
      } else if (part === '\n') this.#row += 1;
      else if (part === '\r') this.#column = 0;
      else this.#put(part);
    }
  }

  /** Wraps long lines as terminals do, and moves the cursor to another place. */
  resize(columns: number, rows: number): void {
    this.columns = columns;
    this.rows = rows;
    const wrapped = this.screen().flatMap((line) => line.match(new RegExp(`.{1,${columns}}`, 'g')) ?? ['']);
    this.#cells = wrapped.map((line) => [...line]);
    this.#row = this.#cells.length - 1;
    this.#column = 3;
  }

  /** Returns the visible lines, without the empty line of the cursor at the end. */
  screen(): string[] {
    const lines = this.#cells.map((cells) => cells.join(''));
    return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
  }

  #line(): string[] {
    while (this.#cells.length <= this.#row) this.#cells.push([]);
    return this.#cells[this.#row] ?? [];
  }

  #put(character: string): void {
    this.#line()[this.#column] = character;
    this.#column = Math.min(this.#column + 1, this.columns - 1);
  }

  #print(character: string): void {
    if (character === '\n') this.normal.push('');
    else this.normal[this.normal.length - 1] += character;
  }
}

test('after each resize, the screen contains only the lines of the new frame', () => {
  const terminal = new FakeTerminal();
  const screen = new LiveScreen(terminal);
  const draw = (...lines: string[]): string[] => {
    screen.draw(lines.join('\n'));
    return lines;
  };
  const wide = draw('mcm  up 1s', '', '3 machines 3 Running', 'workers 3/3');
  expect(terminal.screen()).toEqual(wide);
  terminal.resize(5, 12);
  screen.resized();
  const narrow = draw('mcm', '', '3 …');
  expect(terminal.screen()).toEqual(narrow);
  terminal.resize(40, 4);
  screen.resized();
  const larger = draw('mcm', '', '3 …', 'last');
  expect(terminal.screen()).toEqual(larger);
  expect(terminal.normal).toEqual(['$ mcm up']);
});

test('a line that is as wide as the terminal keeps its last character', () => {
  const terminal = new FakeTerminal();
  const screen = new LiveScreen(terminal);
  const wide = ['x'.repeat(19), `${'y'.repeat(19)}z`, `${'v'.repeat(19)}w`].map((line) => line.slice(-20));
  screen.draw(wide.join('\n'));
  expect(terminal.screen()).toEqual(wide);
});

test('a resize draws an unchanged frame again, and other unchanged frames write nothing', () => {
  const written: string[] = [];
  const screen = new LiveScreen({ write: (text) => written.push(text) });
  screen.draw('one');
  screen.draw('one');
  expect(written).toHaveLength(2);
  screen.resized();
  screen.draw('one');
  expect(written).toHaveLength(3);
});

test('the last frame stays below the earlier output, and the terminal has its modes again', () => {
  const terminal = new FakeTerminal();
  const modes = [...terminal.modes].sort();
  const screen = new LiveScreen(terminal);
  screen.draw('Stopping …');
  expect([...terminal.modes]).toContain('?1049');
  screen.close('stopped');
  expect([...terminal.modes].filter((mode) => mode !== '?2026').sort()).toEqual(modes);
  expect(terminal.normal.join('\n')).toBe('$ mcm upstopped\n');
});

test('a suspended screen restores the terminal, draws nothing, and later draws an unchanged frame again', () => {
  const terminal = new FakeTerminal();
  const modes = [...terminal.modes].sort();
  const screen = new LiveScreen(terminal);
  screen.draw('one');
  screen.suspend();
  screen.draw('two');
  expect([...terminal.modes].filter((mode) => mode !== '?2026').sort()).toEqual(modes);
  expect(terminal.normal).toEqual(['$ mcm up']);
  screen.resume();
  screen.draw('one');
  expect([...terminal.modes]).toContain('?1049');
  expect(terminal.screen()).toEqual(['one']);
});

test('the end of a suspended screen does not change the modes of the terminal', () => {
  const written: string[] = [];
  const screen = new LiveScreen({ write: (text) => written.push(text) });
  screen.suspend();
  screen.close('stopped');
  expect(written.at(-1)).toBe('stopped\n');
});

test.each([
  [{}, { columns: 80, rows: 24 }],
  [
    { columns: 0, rows: 0 },
    { columns: 80, rows: 24 },
  ],
  [
    { columns: 60, rows: 30 },
    { columns: 60, rows: 30 },
  ],
])('a terminal that reports %j has the size %j', (reported, size) => {
  expect(new LiveScreen({ ...reported, write: () => undefined }).size).toEqual(size);
});
