/**
 * The newest `max` characters of a console, from the start of a line. A part of a line may be a part of a secret, which
 * no pattern recognizes.
 * @param cut The cloud returned only the newest part, so the first line may be incomplete
 */
export function wholeLines(text: string, { max = 65_536, cut = false } = {}): string {
  if (text.length <= max && !cut) return text;
  const newest = text.length > max ? text.slice(-max) : text;
  return newest.slice(newest.indexOf('\n') + 1 || newest.length);
}
