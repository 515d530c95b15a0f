/** Splits kernel arguments at blanks outside of quotes. */
export function splitArguments(entries: readonly string[]): readonly string[] {
  return entries.flatMap((entry) => entry.match(/(?:[^\s"']|"[^"]*"|'[^']*'|["'])+/g) ?? []);
}

/**
 * Returns the operations that replace old kernel arguments by new arguments. The operations first delete all old kernel
 * arguments, and then add all new arguments.
 */
export function kernelArgumentOperations(old: readonly string[], wanted: readonly string[]): readonly string[] {
  return [
    ...splitArguments(old).map((argument) => `--delete-if-present=${argument}`),
    ...splitArguments(wanted).map((argument) => `--append=${argument}`),
  ];
}

/** Returns the command line of the kernel after {@link kernelArgumentOperations}. */
export function nextCommandLine(line: string, old: readonly string[], wanted: readonly string[]): string {
  const present = [...splitArguments([line])];
  for (const argument of splitArguments(old)) {
    const index = present.lastIndexOf(argument);
    if (index >= 0) present.splice(index, 1);
  }
  return [...present, ...splitArguments(wanted)].join(' ');
}
