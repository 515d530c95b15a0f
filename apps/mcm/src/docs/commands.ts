export interface DocumentedCommand {
  readonly at: string;
  readonly words: readonly string[];
  /** Whether the command is in a sentence. */
  readonly named?: true;
}

/** Yields the lines in the shell blocks of a page. */
function* shellLines(text: string): Generator<{ readonly number: number; readonly line: string }> {
  let inside = false;
  let begun: { number: number; line: string } | undefined;
  for (const [index, raw] of text.split('\n').entries()) {
    const fence = /^\s*```(\w*)/.exec(raw);
    if (fence) {
      inside = !inside && /^(sh|bash|shell|console)$/.test(fence[1] ?? '');
      continue;
    }
    if (!inside) continue;
    const whole: { number: number; line: string } = {
      number: begun?.number ?? index + 1,
      line: `${begun?.line ?? ''}${raw}`,
    };
    begun = raw.endsWith('\\') ? { ...whole, line: whole.line.slice(0, -1) } : undefined;
    if (!begun) yield whole;
  }
}

const SEPARATORS: readonly string[] = ['|', '||', '&&', ';', '&'];
/** Matches a separator, a comment, or a word, which may have quotes. */
const TOKEN = /\s*(?:(#.*)|(\|\||&&|[|;&])|((?:\d>&\d|'[^']*'|"[^"]*"|\$\([^)]*\)|<\([^)]*\)|\\.|[^\s'"|;&\\])+))/y;

const unquoted = (word: string): string => word.replaceAll(/'([^']*)'|"([^"]*)"|\\(.)/g, '$1$2$3');

/**
 * Returns the commands in a line. The line is split at pipes and `&&`, and assignments, redirections and comments are
 * removed.
 */
export function commandsOf(line: string): string[][] {
  const commands: string[][] = [[]];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(line); match; match = TOKEN.exec(line)) {
    const [, comment, separator, word] = match;
    if (comment !== undefined) break;
    if (separator !== undefined && SEPARATORS.includes(separator)) commands.push([]);
    else if (word !== undefined) commands.at(-1)?.push(word);
  }
  const inner = [...line.matchAll(/[<$]\(([^)]+)\)/g)].flatMap(([, text = '']) => commandsOf(text));
  return [...commands.map(plain).filter((words) => words.length > 0), ...inner];
}

/** Removes assignments and prompts at the start, and redirections. */
function plain(words: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? '';
    if (kept.length === 0 && (word === '$' || /^\w+=/.test(word))) continue;
    if (/^\d?[<>]{1,2}$/.test(word)) index++;
    else if (!/^\d?[<>](?!\()/.test(word)) kept.push(unquoted(word));
  }
  return kept;
}

/** Yields the `mcm` commands in sentences, which are formatted as code. */
const spoken = (text: string): { readonly number: number; readonly line: string }[] =>
  text
    .replaceAll(/```[\s\S]*?```/g, (block) => block.replaceAll(/[^\n]/g, ''))
    .split('\n')
    .flatMap((line, index) =>
      [...line.matchAll(/`((?:kubectl )?mcm [^`]+)`/g)].map(([, command = '']) => ({
        number: index + 1,
        line: command,
      })),
    );

/** Returns all commands in the shell blocks of a page, and all `mcm` commands in its sentences. */
export const documentedCommands = (path: string, text: string): DocumentedCommand[] => [
  ...[...shellLines(text)].flatMap(({ number, line }) =>
    commandsOf(line).map((words) => ({ at: `${path}:${number}`, words })),
  ),
  ...spoken(text).map(({ number, line }) => {
    // In `--provider aws|azure`, the text after the bar is an alternative for the last word, and not a command.
    const [words = []] = commandsOf(line);
    return { at: `${path}:${number}`, words, named: true as const };
  }),
];
