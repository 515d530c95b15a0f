import type { Command } from 'commander';
import { ConfigError } from '../credentials/cluster-config.ts';
import type { Flag, Flags, FlagValues } from './flag.ts';

export interface Program {
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

/** What the command line asks for: to run with these values, or to print a text and end. */
export type Parsed<F extends Flags> =
  | { readonly kind: 'run'; readonly values: FlagValues<F>; readonly warnings: readonly string[] }
  | { readonly kind: 'print'; readonly text: string };

/** Go's flag sets take `--a_b` for `--a-b`. */
const dashed = (argument: string): string =>
  argument.startsWith('--') ? argument.replace(/^[^=]+/, (name) => name.replaceAll('_', '-')) : argument;

type Commander = typeof import('commander');

function addOption({ Option }: Commander, command: Command, name: string, flag: Flag<unknown>): void {
  const short = flag.short === undefined ? '' : `-${flag.short}, `;
  const shown = flag.shown === '' ? '' : ` (default ${flag.shown})`;
  command.addOption(new Option(`${short}--${name} ${flag.placeholder}`, flag.help + shown));
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
  for (const [name, flag] of Object.entries(flags)) addOption(commander, command, name, flag);
  return command;
}

/** The raw value of each flag that was given, by its own name. */
function givenValue(
  name: string,
  given: ReadonlyMap<string, string>,
  flag: Flag<unknown>,
  warnings: string[],
): string | undefined {
  for (const [old, why] of Object.entries(flag.deprecated ?? {})) {
    const value = given.get(old);
    if (value === undefined) continue;
    warnings.push(`--${old} is deprecated: ${why}`);
    if (!given.has(name)) return value;
  }
  return given.get(name);
}

function convert<F extends Flags>(
  flags: F,
  given: ReadonlyMap<string, string>,
): { values: FlagValues<F>; warnings: string[] } {
  const warnings: string[] = [];
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(flags)) {
    const text = givenValue(name, given, flag, warnings);
    values[name] = flag.fallback;
    if (text === undefined) continue;
    if (flag.ignored !== undefined) warnings.push(`--${name} has no effect: ${flag.ignored}`);
    try {
      values[name] = flag.parse(text);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      problems.push(`--${name} ${error.message}, not ${JSON.stringify(text)}`);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return { values: values as FlagValues<F>, warnings };
}

/**
 * Reads a command line. Throws `ConfigError` with one line for each flag that is wrong.
 * @param argv the arguments, without the interpreter and the script.
 */
export async function parseFlags<F extends Flags>(
  program: Program,
  flags: F,
  argv: readonly string[],
): Promise<Parsed<F>> {
  const commander = await import('commander'); // Only binaries need it.
  let printed = '';
  const command = createCommand(commander, program, flags, (text) => {
    printed += text;
  });
  try {
    command.parse(argv.map(dashed), { from: 'user' });
  } catch (error) {
    if (!(error instanceof commander.CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: 'print', text: printed };
    throw new ConfigError(`${error.message.replace(/^error: /, '')}; --help lists the flags`);
  }
  const given = new Map<string, string>();
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    if (value !== undefined) given.set((option.long ?? '').slice(2), value === true ? 'true' : String(value));
  }
  return { kind: 'run', ...convert(flags, given) };
}
