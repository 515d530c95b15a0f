// The pattern of RFC 3339 times, with the rules of Go's time.RFC3339. `Date.parse` accepts many other formats of times.
const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})([.,]\d+)?(Z|[+-]\d{2}:\d{2})$/;

/**
 * Parses a time in RFC 3339.
 * @returns undefined if the text is absent or invalid, or if the date does not exist
 */
export function parseTime(text: string | undefined): Date | undefined {
  const parts = text === undefined ? null : RFC3339.exec(text);
  if (!parts) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', zone = 'Z'] = parts;
  const milliseconds = fraction.slice(1, 4).padEnd(3, '0');
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}Z`);
  // `Date` converts 31 February and 24:00 to another day, but both are invalid in RFC 3339.
  if (Number.isNaN(date.getTime()) || date.getUTCDate() !== Number(day) || date.getUTCHours() !== Number(hour)) {
    return undefined;
  }
  const offset = offsetMinutes(zone);
  return offset === undefined ? undefined : new Date(date.getTime() - offset * 60_000);
}

function offsetMinutes(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4, 6))];
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

/** Formats a time like Kubernetes: in UTC, rounded to seconds. */
export const formatTime = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;
