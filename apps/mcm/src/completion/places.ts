import type { Command, Option } from 'commander';

/** A flag, and the values that it accepts. */
export interface Flag {
  readonly names: readonly string[];
  /** Undefined: the flag has no value. Empty: any value, such as a file name. */
  readonly values: readonly string[] | undefined;
}

/** The words that may follow a command: subcommands, flags and argument values. */
export interface Place {
  /** The words of the command, such as `rollout status`; empty for the program. */
  readonly path: string;
  readonly commands: readonly string[];
  readonly values: readonly string[];
  readonly flags: readonly Flag[];
}

const flagOf = ({ long, short, argChoices, required, optional }: Option): Flag => ({
  names: [long, short].flatMap((name) => name ?? []),
  values: required || optional ? (argChoices ?? []) : undefined,
});

/** The program and all its commands. */
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
