/**
 * A hidden comment above the fence defines how a test runs the block:
 *
 * - no comment: the test runs the block in the shell of the page's earlier blocks.
 * - `run with NAME=$MACHINE`: the test runs the block after these commands, and replaces the placeholder NAME with its
 *   value.
 * - `run until /PATTERN/`: the test stops each command that has printed a line with this pattern.
 * - `run by PATH`: another test runs the block.
 * - `not run: REASON`, or `not run (COMMAND, COMMAND): REASON` for the lines that begin with one of these commands.
 */
export interface Block {
  readonly at: string;
  readonly page: string;
  /** The lines of the block without changes. */
  readonly text: string;
  readonly run: Run;
}

type Run =
  | {
      readonly by: 'us';
      readonly after: readonly string[];
      readonly script: string;
      readonly until?: string | undefined;
    }
  | { readonly by: 'test'; readonly path: string }
  | { readonly by: 'nobody'; readonly because: string };

const FENCE = /^(\s*)```(\w*)(.*)$/;
const COMMENT = /^\s*<!-- (.*) -->$/;

/** Returns the shell blocks of a page. */
export function blocksOf(page: string, markdown: string): Block[] {
  const blocks: Block[] = [];
  let notes: string[] = [];
  let open: { at: string; shell: boolean; info: string; lines: string[]; notes: string[] } | undefined;
  for (const [index, line] of markdown.split('\n').entries()) {
    const fence = FENCE.exec(line);
    if (open && fence) {
      const { at, shell, info, lines } = open;
      const text = lines.join('\n');
      if (shell) blocks.push({ at, page, text, run: runOf(at, text, info, open.notes) });
      open = undefined;
    } else if (open) open.lines.push(line.trimStart());
    else if (fence) {
      const [, , language = '', info = ''] = fence;
      const shell = /^(sh|bash|shell|console)$/.test(language);
      open = { at: `${page}:${index + 1}`, shell, info: info.trim(), lines: [], notes };
    }
    const note = COMMENT.exec(line)?.[1];
    notes = note === undefined ? [] : [...notes, note];
  }
  return blocks;
}

/** Another test runs all steps in the guide for authors of providers. */
const BY_INFO: Readonly<Record<string, string>> = { guide: 'tools/src/packages/packages.test.ts' };

function runOf(at: string, text: string, info: string, notes: readonly string[]): Run {
  const after: string[] = [];
  let script = text;
  let until: string | undefined;
  let path = BY_INFO[info];
  for (const note of notes) {
    const [, word = '', rest = ''] = /^(run with|run until|run by|not run)(.*)$/.exec(note) ?? [];
    if (word === 'run with') after.push(rest.trim());
    else if (word === 'run until') until = rest.trim().replace(/^\/(.*)\/$/, '$1');
    else if (word === 'run by') path = rest.trim();
    else if (word === 'not run') {
      const [, lines, because = ''] = /^(?: \(([^)]*)\))?: (.*)$/.exec(rest) ?? [];
      if (because.split(' ').length < 3)
        throw new Error(`${at}: the note must be a sentence with the reason why the block does not run: "${note}"`);
      if (lines === undefined) return { by: 'nobody', because };
      script = without(at, script, lines.split(', '));
    } else throw new Error(`${at}: "${note}" is not a valid note for a block`);
  }
  if (path !== undefined) return { by: 'test', path };
  const placeholders = after.flatMap((line) => [...line.matchAll(/(?:^|; )([A-Z]+)=/g)].map(([, name = '']) => name));
  for (const name of placeholders) script = script.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), `"$${name}"`);
  return { by: 'us', after, script, until };
}

function without(at: string, text: string, beginnings: readonly string[]): string {
  const lines = text.split('\n');
  for (const beginning of beginnings)
    if (!lines.some((line) => line.startsWith(beginning)))
      throw new Error(`${at}: no line of the block starts with "${beginning}"`);
  return lines.filter((line) => !beginnings.some((beginning) => line.startsWith(beginning))).join('\n');
}

export const commandLines = (text: string): readonly string[] =>
  text.split('\n').filter((line) => line.trim() !== '' && !line.trimStart().startsWith('#'));
