import type { Command } from 'commander';
import { nearest } from '../base/nearest.ts';

const UNKNOWN = /unknown option '(?<flag>--?[^'=]*)/;
const STRAY = /too many arguments.* Expected 0 arguments but got \d+: (?<words>.*)\.\s*$/;

const bare = (flag: string): string => flag.replace(/^--?/, '');

/**
 * Converts an error of the commander library to one line, with the most similar known flag. The error omits the value
 * of an unknown flag, which may be a secret.
 * @param flags Names of all flags, without dashes.
 */
export function refusalOf(text: string, flags: readonly string[]): string {
  const { words } = STRAY.exec(text)?.groups ?? {};
  if (words !== undefined) return `${words}: is not a flag; flags begin with --`;
  const { flag } = UNKNOWN.exec(text)?.groups ?? {};
  if (flag === undefined)
    return text
      .replace(/^error: /, '')
      .trim()
      .replaceAll('\n', ' ');
  if (flag.startsWith('--') && flags.includes(bare(flag))) return `${flag} takes no value`;
  const meant = nearest(bare(flag), flags);
  return `unknown flag ${flag}${meant === undefined ? '' : `; did you mean --${meant}?`}`;
}

/**
 * Configures a command so that it reports each command line error in one line.
 * @returns The command.
 */
export function reportRefusals(command: Command, program: string = command.name()): Command {
  return command.configureOutput({
    outputError: (text, write) => {
      const flags = command.options.flatMap(({ long }) => (long == null ? [] : [bare(long)]));
      write(`${program}: ${refusalOf(text, flags)}\n`);
    },
  });
}
