import type { Command, Option } from 'commander';
import { takesNames } from './objects.ts';

export interface Flag {
  readonly names: readonly string[];
  /** If the flag has no value, `values` is undefined. */
  readonly values: readonly string[] | undefined;
}

/** What can follow a command: subcommands, flags and values of arguments. */
export interface Place {
  /** For the program itself, the path is empty. */
  readonly path: string;
  readonly commands: readonly string[];
  readonly values: readonly string[];
  /** Whether the command accepts arguments such as files, which are neither names nor fixed values. */
  readonly files: boolean;
  readonly flags: readonly Flag[];
}

const flagOf = ({ long, short, argChoices, required, optional }: Option): Flag => ({
  names: [long, short].flatMap((name) => name ?? []),
  values: required || optional ? (argChoices ?? []) : undefined,
});

export function placesOf(command: Command, path: readonly string[]): Place[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command).filter((child) => child.name() !== 'help');
  const place = {
    path: path.join(' '),
    commands: below.map((child) => child.name()),
    values: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    files:
      !takesNames(path.join(' ')) && command.registeredArguments.some(({ argChoices }) => argChoices === undefined),
    flags: help.visibleOptions(command).map(flagOf),
  };
  return [place, ...below.flatMap((child) => placesOf(child, [...path, child.name()]))];
}
