/** Splits at blanks outside of quotes: one entry of a config may hold several arguments. */
export function splitArguments(entries: readonly string[]): readonly string[] {
  return entries.flatMap((entry) => entry.match(/(?:[^\s"']|"[^"]*"|'[^']*'|["'])+/g) ?? []);
}

/** What brings a machine's kernel arguments from one config to another: first all old ones go, then all new ones come. */
export function kernelArgumentOperations(old: readonly string[], wanted: readonly string[]): readonly string[] {
  return [
    ...splitArguments(old).map((argument) => `--delete-if-present=${argument}`),
    ...splitArguments(wanted).map((argument) => `--append=${argument}`),
  ];
}

/** A kernel's command line after {@link kernelArgumentOperations}. Arguments of others keep their order. */
export function nextCommandLine(line: string, old: readonly string[], wanted: readonly string[]): string {
  const present = [...splitArguments([line])];
  for (const argument of splitArguments(old)) {
    const index = present.lastIndexOf(argument);
    if (index >= 0) present.splice(index, 1);
  }
  return [...present, ...splitArguments(wanted)].join(' ');
}
