import type { Command } from 'commander';
import { nearest } from '../base/nearest.ts';

const UNKNOWN = /unknown option '(?<flag>--?[^'=]*)/;
const STRAY = /too many arguments.* Expected 0 arguments but got \d+: (?<words>.*)\.\s*$/;

const bare = (flag: string): string => flag.replace(/^--?/, '');

/**
 * A refusal of commander's in one line. An unknown flag is told without its value, that may be a secret, and with the nearest:
 * commander itself looks for one that is near to flag and value together.
 * @param flags Names of all there are, without dashes.
 */
export function refusalOf(text: string, flags: readonly string[]): string {
  const { words } = STRAY.exec(text)?.groups ?? {};
  if (words !== undefined) return `${words}: only flags are taken, which begin with --`;
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
 * Has a command tell what it refuses of its command line in one line, which begins with the name of its program.
 * @returns the command
 */
export function tellRefusals(command: Command, program: string = command.name()): Command {
  return command.configureOutput({
    outputError: (text, write) => {
      const flags = command.options.flatMap(({ long }) => (long == null ? [] : [bare(long)]));
      write(`${program}: ${refusalOf(text, flags)}\n`);
    },
  });
}
