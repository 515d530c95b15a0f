import type { Command } from 'commander';
import { ConfigError } from '../credentials/cluster-config.ts';
import { readConfigFile } from './config-file.ts';
import type { Flag, Flags, FlagValues } from './flag.ts';
import { type Given, givenByEnvironment, unknownVariables } from './given.ts';
import { refusalOf } from './refusal.ts';

/** Name and description for `--help` and `--version`. */
export interface Program {
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

/** The result of a parsed command line. */
export type Parsed<F extends Flags> =
  | { readonly kind: 'run'; readonly values: FlagValues<F>; readonly warnings: readonly string[] }
  | { readonly kind: 'print'; readonly text: string };

/** Replaces `_` by `-` in the name of a flag. */
const dashed = (argument: string): string =>
  argument.startsWith('--') ? argument.replace(/^[^=]+/, (name) => name.replaceAll('_', '-')) : argument;

type Commander = typeof import('commander');

const groupOf = (flag: Flag<unknown>): string =>
  flag.ignored === undefined ? (flag.group ?? 'Flags of this binary') : 'Accepted for compatibility, without effect';

function addOption({ Option }: Commander, command: Command, name: string, flag: Flag<unknown>): void {
  const short = flag.short === undefined ? '' : `-${flag.short}, `;
  const shown = flag.shown === '' ? '' : ` (default ${flag.shown})`;
  const older = Object.keys(flag.deprecated ?? {}).map((old) => ` (older: --${old})`);
  const option = new Option(`${short}--${name} ${flag.placeholder}`, [flag.help, ...older, shown].join(''));
  if (flag.pairs) option.argParser((text, before) => (before === undefined ? text : `${before},${text}`));
  command.addOption(option.helpGroup(`${groupOf(flag)}:`));
  for (const [old, why] of Object.entries(flag.deprecated ?? {})) {
    command.addOption(new Option(`--${old} ${flag.placeholder}`, `deprecated: ${why}`).hideHelp());
  }
}

function createCommand(commander: Commander, program: Program, flags: Flags, out: (text: string) => void): Command {
  const command = new commander.Command(program.name)
    .description(program.description)
    .version(program.version, '--version', 'print the version')
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: () => undefined });
  const inEffect = ([, flag]: [string, Flag<unknown>]): boolean => flag.ignored === undefined;
  const [lasting, ignored] = [
    Object.entries(flags).filter(inEffect),
    Object.entries(flags).filter((f) => !inEffect(f)),
  ];
  for (const [name, flag] of [...lasting, ...ignored]) addOption(commander, command, name, flag);
  return command;
}

type Sources = readonly ReadonlyMap<string, Given>[];

/** Returns the value of a flag from the first source that has a value. */
function givenFor(name: string, sources: Sources, flag: Flag<unknown>, warnings: string[]): Given | undefined {
  for (const source of sources) {
    let found = source.get(name);
    for (const [old, why] of Object.entries(flag.deprecated ?? {})) {
      const older = source.get(old);
      if (older === undefined) continue;
      warnings.push(`${older.source} is deprecated: ${why}`);
      found ??= older;
    }
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Converted<F extends Flags> {
  readonly values: FlagValues<F>;
  readonly warnings: readonly string[];
  /** The parser uses the default instead of an invalid value. */
  readonly problems: readonly string[];
}

function convert<F extends Flags>(flags: F, sources: Sources): Converted<F> {
  const warnings: string[] = [];
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(flags)) {
    const given = givenFor(name, sources, flag, warnings);
    values[name] = flag.fallback;
    if (given === undefined) continue;
    if (flag.ignored !== undefined) warnings.push(`${given.source} has no effect: ${flag.ignored}`);
    try {
      values[name] = flag.parse(given.text);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      problems.push(`${given.source} ${error.message}, not ${JSON.stringify(given.text)}`);
    }
  }
  return { values: values as FlagValues<F>, warnings, problems };
}

function givenByArguments(command: Command): ReadonlyMap<string, Given> {
  const given = new Map<string, Given>();
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    if (value === undefined) continue;
    const source = option.long ?? '';
    given.set(source.slice(2), { text: value === true ? 'true' : String(value), source });
  }
  return given;
}

const namesOf = (flags: Flags): string[] =>
  Object.entries(flags).flatMap(([name, flag]) => [name, ...Object.keys(flag.deprecated ?? {})]);

/**
 * Reads the command line, the environment, and the file of `--config`.
 * @param argv The arguments, without the interpreter and the script.
 * @throws ConfigError with one line for each invalid value and its source
 */
export async function parseFlags<F extends Flags>(
  program: Program,
  flags: F,
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<Parsed<F>> {
  const commander = await import('commander'); // Only binaries that parse command lines need the library.
  let printed = '';
  const command = createCommand(commander, program, flags, (text) => {
    printed += text;
  });
  try {
    command.parse(argv.map(dashed), { from: 'user' });
  } catch (error) {
    if (!(error instanceof commander.CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: 'print', text: printed };
    throw new ConfigError(`${refusalOf(error.message, namesOf(flags))}; --help lists the flags`);
  }
  const direct = [givenByArguments(command), givenByEnvironment(flags, env)];
  const file = direct.map((source) => source.get('config')?.text).find((path) => path !== undefined);
  const written = file === undefined || file === '' ? undefined : await readConfigFile(file, flags);
  const { values, warnings, problems } = convert(flags, written === undefined ? direct : [...direct, written.given]);
  const wrong = [...(written?.problems ?? []), ...problems];
  if (wrong.length > 0) throw new ConfigError(wrong.join('\n'));
  return { kind: 'run', values, warnings: [...warnings, ...unknownVariables(flags, env)] };
}
