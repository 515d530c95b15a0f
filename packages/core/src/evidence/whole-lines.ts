/**
 * Returns the last `max` characters of a console output, from the start of a line. An incomplete line could contain a
 * part of a secret that no pattern recognizes.
 * @param cut whether the cloud returned only the end of the output, so that the first line may be incomplete
 */
export function wholeLines(text: string, { max = 65_536, cut = false } = {}): string {
  if (text.length <= max && !cut) return text;
  const newest = text.length > max ? text.slice(-max) : text;
  return newest.slice(newest.indexOf('\n') + 1 || newest.length);
}
