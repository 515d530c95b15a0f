import { IgnitionError, type Issue } from '../ignition/index.ts';
import { RenderError } from './error.ts';

/** What stands before what a user can do, in conditions and events. */
export const CURE_MARK = '. To mend it: ';

/** By what Ignition says is wrong. */
const HINTS: Readonly<Record<string, string>> = {
  'illegal file mode': 'a mode is a decimal number from 0 to 511, which is 0777',
  'path not absolute': 'begin the path with /',
  'path not specified': 'give a path',
  'path is not fully simplified': 'write the path without . and .. and without doubled or trailing slashes',
  'duplicate entry defined': 'leave one of the two entries',
  'invalid url scheme': 'write the content itself, as a data: URL',
  'path conflicts with systemd unit or dropin': 'leave the file or the unit',
  'link target is required': 'give the target',
};

/** How many fields a cure names. */
const NAMED = 3;

/** What to do about the Ignition config of a MachineConfig, with its fields. */
export function ignitionCure(name: string, error: Error): string {
  const issues = error instanceof IgnitionError ? error.issues : [];
  const fields = issues.slice(0, NAMED).map(({ path }) => fieldOf(path));
  const more = issues.length > NAMED ? ` and ${issues.length - NAMED} more` : '';
  const where = fields.length === 0 ? 'its spec' : `${fields.join(', ')}${more}`;
  const hints = [...new Set(issues.slice(0, NAMED).flatMap(({ message }) => HINTS[message] ?? []))];
  const how = hints.length === 0 ? '' : ` (${hints.join('; ')})`;
  return `correct ${where}${how} of MachineConfig ${name}, or delete it`;
}

const fieldOf = (path: Issue['path']): string => path.replace(/^\$/, 'spec.config');

/** The longest text of a failure; what is beyond it is in `mcm config render`. */
const MAX_TEXT = 2_000;

/** A failure as one line, as lists of events and conditions show it, with the cure last. */
export function failureText(what: string, error: Error, standing: string | undefined): string {
  const text = error.message
    .trim()
    .replace(/\n+Report:\s*/g, ': ')
    .replace(/\s*\n\s*/g, '; ');
  const cut = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
  const cure = error instanceof RenderError ? error.cure : undefined;
  const until = standing ? `until then ${standing} stays in force` : '';
  const last = [cure ?? '', until].filter((part) => part !== '').join('; ');
  return `${what}: ${cut}${last === '' ? '' : `${CURE_MARK}${last}`}`;
}

/** The cure in the text of a condition; undefined if it has none. */
export function cureIn(text: string): string | undefined {
  const at = text.indexOf(CURE_MARK);
  return at < 0 ? undefined : text.slice(at + CURE_MARK.length);
}

/** The text of a condition without its cure. */
export function withoutCure(text: string): string {
  const at = text.indexOf(CURE_MARK);
  return at < 0 ? text : text.slice(0, at);
}
