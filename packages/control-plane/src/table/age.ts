import { parseGoTime } from '../apimachinery/objects/go-time.ts';

const LONGEST_SECONDS = Math.trunc((2 ** 63 - 1) / 1e9);

/**
 * Formats a duration like an age in kubectl (`duration.HumanDuration`), such as `5m12s` or `3d4h`. The maximum is
 * `292y`.
 */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.min(Math.trunc(milliseconds / 1000), LONGEST_SECONDS);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 60 * 2) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's');
  if (minutes < 60 * 3) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 24 * 8) return pair(days, 'd', hours % 24, 'h');
  if (hours < 24 * 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  if (hours < 24 * 365 * 8) return pair(years, 'y', days % 365, 'd');
  return `${years}y`;
}

const pair = (big: number, bigUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${big}${bigUnit}` : `${big}${bigUnit}${small}${smallUnit}`;

/** Returns the age since a time: `<unknown>` for an absent time, and `<invalid>` for an invalid time. */
export function ageOf(time: unknown, now: Date): string {
  if (time === undefined || time === null || time === '') return '<unknown>';
  if (typeof time !== 'string') return '<invalid>';
  try {
    const { seconds, nanos } = parseGoTime(time, false);
    return humanDuration(now.getTime() - Date.parse(`${seconds}Z`) - nanos / 1e6);
  } catch (error) {
    if (error instanceof RangeError) return '<invalid>';
    throw error;
  }
}
