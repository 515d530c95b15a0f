/** Splits arguments at blanks outside of quotes, because one entry of a config may contain several arguments. */
export function splitArguments(entries: readonly string[]): readonly string[] {
  return entries.flatMap((entry) => entry.match(/(?:[^\s"']|"[^"]*"|'[^']*'|["'])+/g) ?? []);
}

/**
 * Returns the operations that replace old kernel arguments by new arguments. All old arguments are deleted before all
 * new arguments are added.
 */
export function kernelArgumentOperations(old: readonly string[], wanted: readonly string[]): readonly string[] {
  return [
    ...splitArguments(old).map((argument) => `--delete-if-present=${argument}`),
    ...splitArguments(wanted).map((argument) => `--append=${argument}`),
  ];
}

/**
 * Returns a kernel's command line after {@link kernelArgumentOperations}. Arguments that no operation changes keep
 * their order.
 */
export function nextCommandLine(line: string, old: readonly string[], wanted: readonly string[]): string {
  const present = [...splitArguments([line])];
  for (const argument of splitArguments(old)) {
    const index = present.lastIndexOf(argument);
    if (index >= 0) present.splice(index, 1);
  }
  return [...present, ...splitArguments(wanted)].join(' ');
}
