/**
 * The shell blocks of the documentation, and what is said of each in comments that readers do not see, in the lines
 * right above its fence:
 *
 * - nothing: it is run as it stands, in the shell that the page's earlier blocks ran in.
 * - `run with NAME=$MACHINE`: so is it, after these commands; the placeholder NAME stands for its value.
 * - `run until /PATTERN/`: each of its commands is ended once it has printed a line of this pattern.
 * - `run by PATH`: another test runs it.
 * - `not run: REASON`, or `not run (COMMAND, COMMAND): REASON` of the lines that begin with one of them.
 */
export interface Block {
  /** `docs/install.md:9`, the line of the fence. */
  readonly at: string;
  readonly page: string;
  /** Its lines as they stand. */
  readonly text: string;
  readonly run: Run;
}

/** How a block is run, by whom, or why not. */
export type Run =
  | { readonly by: 'us'; readonly after: readonly string[]; readonly script: string; readonly until?: string }
  | { readonly by: 'test'; readonly path: string }
  | { readonly by: 'nobody'; readonly because: string };

const FENCE = /^(\s*)```(\w*)(.*)$/;
const COMMENT = /^\s*<!-- (.*) -->$/;

/** The shell blocks of a page. Throws for a comment above one that means nothing. */
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

/** The guide for provider authors is followed word by word by a test of its own. */
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
      if (because.split(' ').length < 3) throw new Error(`${at}: say in a sentence why it is not run: "${note}"`);
      if (lines === undefined) return { by: 'nobody', because };
      script = without(at, script, lines.split(', '));
    } else throw new Error(`${at}: "${note}" is nothing that can be said of a block`);
  }
  if (path !== undefined) return { by: 'test', path };
  const placeholders = after.flatMap((line) => [...line.matchAll(/(?:^|; )([A-Z]+)=/g)].map(([, name = '']) => name));
  for (const name of placeholders) script = script.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), `"$${name}"`);
  return { by: 'us', after, script, ...(until === undefined ? {} : { until }) };
}

function without(at: string, text: string, beginnings: readonly string[]): string {
  const lines = text.split('\n');
  for (const beginning of beginnings)
    if (!lines.some((line) => line.startsWith(beginning))) throw new Error(`${at}: no line begins with "${beginning}"`);
  return lines.filter((line) => !beginnings.some((beginning) => line.startsWith(beginning))).join('\n');
}

/** Lines that are commands, not comments and not empty. */
export const commandLines = (text: string): readonly string[] =>
  text.split('\n').filter((line) => line.trim() !== '' && !line.trimStart().startsWith('#'));
