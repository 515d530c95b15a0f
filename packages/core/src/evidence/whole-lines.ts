/**
 * The newest `max` characters of a console, from the beginning of a line: half a line may be half a secret, which nobody
 * would recognize.
 * @param cut the cloud gave the newest part only, so that the first line may be half of one
 */
export function wholeLines(text: string, { max = 65_536, cut = false } = {}): string {
  if (text.length <= max && !cut) return text;
  const newest = text.length > max ? text.slice(-max) : text;
  return newest.slice(newest.indexOf('\n') + 1 || newest.length);
}
