import type { Command, Option } from 'commander';

/** A flag: how it is written, and what may follow it. */
export interface Flag {
  readonly names: readonly string[];
  /** Undefined: nothing follows; empty: anything, such as the name of a file. */
  readonly values: readonly string[] | undefined;
}

/** What may follow a command: its subcommands, its flags and the values of its argument. */
export interface Place {
  /** `rollout status`; '' is the program itself. */
  readonly path: string;
  readonly commands: readonly string[];
  readonly values: readonly string[];
  readonly flags: readonly Flag[];
}

const flagOf = ({ long, short, argChoices, required, optional }: Option): Flag => ({
  names: [long, short].flatMap((name) => name ?? []),
  values: required || optional ? (argChoices ?? []) : undefined,
});

/** The program itself, and all its commands. */
export function placesOf(command: Command, path: readonly string[]): Place[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command).filter((child) => child.name() !== 'help');
  const place = {
    path: path.join(' '),
    commands: below.map((child) => child.name()),
    values: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    flags: help.visibleOptions(command).map(flagOf),
  };
  return [place, ...below.flatMap((child) => placesOf(child, [...path, child.name()]))];
}
